// What the planner, the store and the reports share of an attempt at a module: its kind and its
// cost. Not here: which attempt comes next (runner/plan/retry_policy.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
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

// What an attempt cost, or all attempts at a module together.
struct AttemptCost {
    double duration_s = 0;  // wall
    double user_s = 0;      // CPU, children included
    double system_s = 0;
    std::int64_t max_rss_bytes = 0;   // of its largest process
    std::int64_t peak_rss_bytes = 0;  // the largest sum over its processes
    std::int64_t read_bytes = 0;      // from and to storage
    std::int64_t written_bytes = 0;
    std::int64_t dropped_log_bytes = 0;  // cut from the middle of the log

    friend bool operator==(const AttemptCost&, const AttemptCost&) = default;
};

// What becomes of a figure where attempts are taken together.
enum class Together { sum, largest };

// Its fields by the name that they have in the database, in record.jsonl and in report.json.
template <class Field>
void each_cost(Field field) {
    field("duration_s", &AttemptCost::duration_s, Together::sum);
    field("user_s", &AttemptCost::user_s, Together::sum);
    field("system_s", &AttemptCost::system_s, Together::sum);
    field("max_rss_bytes", &AttemptCost::max_rss_bytes, Together::largest);
    field("peak_rss_bytes", &AttemptCost::peak_rss_bytes, Together::largest);
    field("read_bytes", &AttemptCost::read_bytes, Together::sum);
    field("written_bytes", &AttemptCost::written_bytes, Together::sum);
    field("dropped_log_bytes", &AttemptCost::dropped_log_bytes, Together::sum);
}

inline void add_cost(AttemptCost& total, const AttemptCost& one) {
    each_cost([&](const char*, auto member, Together how) {
        total.*member = how == Together::sum ? total.*member + one.*member
                                             : std::max(total.*member, one.*member);
    });
}

}  // namespace compat
