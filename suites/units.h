// Parses durations and sizes. Not for their display (runner/base/clock.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace compat::suites {

// "500ms", "5s", "30m", "1h30m": whole numbers with h, m, s and ms, each at most once, in this
// order. Nothing: other text, or a sum of zero.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// "4096B", "64KiB", "64MiB", "6GiB": bytes. Nothing: other text, or zero.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

}  // namespace compat::suites
