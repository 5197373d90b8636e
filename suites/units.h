// Durations and sizes as people write them in suite files and on the command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace compat::suites {

// "500ms", "5s", "30m", "1h30m": whole numbers with h, m, s, ms, each at most once and in this
// order. Nothing for other text and for a sum of zero.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// "4096B", "64KiB", "64MiB", "6GiB": bytes, above zero.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

}  // namespace compat::suites
