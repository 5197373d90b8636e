// The kinds of attempt at a module: the words that the planner, the store and the reports share.
// Not here: which attempt comes next (runner/plan/next.h).
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace compat {

enum class AttemptKind {
    whole,  // all that was asked of the module
    rest,   // what is left after its process died
    alone,  // one test in a process of its own
    again,  // what failed, together
};

inline constexpr std::array<std::string_view, 4> kAttemptKindNames{"whole", "rest", "alone",
                                                                   "again"};

[[nodiscard]] constexpr std::string_view name_of(AttemptKind kind) {
    return kAttemptKindNames[static_cast<size_t>(kind)];
}

// Whether it runs tests again that an attempt before it has run, without those around them.
[[nodiscard]] constexpr bool is_of_some(AttemptKind kind) {
    return kind == AttemptKind::alone || kind == AttemptKind::again;
}

[[nodiscard]] constexpr std::optional<AttemptKind> attempt_kind_of(std::string_view name) {
    for (size_t i = 0; i < kAttemptKindNames.size(); ++i)
        if (kAttemptKindNames[i] == name) return static_cast<AttemptKind>(i);
    return std::nullopt;
}

}  // namespace compat
