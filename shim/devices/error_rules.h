// The rules that classify an error, as error_rules.py makes them of parsers/diagnosis/rules.json
// when the library is built. Not for callers: they use classify.h.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "devices/classify.h"

namespace compat::devices {

struct ErrorRule {
    std::string_view id;
    std::optional<ErrorClass> error_class;  // empty: an error that is none of a device
    bool short_line;                        // the first line has kShortLineBytes at most
    const char* pattern;                    // std::regex, ECMAScript
};

// In the order in which they decide.
[[nodiscard]] std::span<const ErrorRule> error_rules();

}  // namespace compat::devices
