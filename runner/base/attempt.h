// The kind and the cost of an attempt at a module, for the planner, the store and the reports.
// Not here: which attempt comes next (runner/plan/retry_policy.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace compat {

enum class AttemptKind {
    whole,       // every selected test of the module
    rest,        // the remaining tests after its process died
    alone,       // one test by itself in a process
    again,       // the failed tests together
    diagnostic,  // one failed test, changed by a step of `--diagnose`; decides no verdict
};

inline constexpr std::array<std::string_view, 5> kAttemptKindNames{"whole", "rest", "alone",
                                                                   "again", "diagnostic"};

[[nodiscard]] constexpr std::string_view name_of(AttemptKind kind) {
    return kAttemptKindNames[static_cast<size_t>(kind)];
}

// Whether the attempt repeats some tests of an earlier attempt, without the others.
[[nodiscard]] constexpr bool repeats_some_tests(AttemptKind kind) {
    return kind == AttemptKind::alone || kind == AttemptKind::again ||
           kind == AttemptKind::diagnostic;
}

[[nodiscard]] constexpr std::optional<AttemptKind> attempt_kind_of(std::string_view name) {
    for (size_t i = 0; i < kAttemptKindNames.size(); ++i)
        if (kAttemptKindNames[i] == name) return static_cast<AttemptKind>(i);
    return std::nullopt;
}

// The cost of one attempt, or of all attempts at a module.
struct AttemptCost {
    double duration_s = 0;  // wall
    double user_s = 0;      // CPU, children included
    double system_s = 0;
    std::int64_t max_rss_bytes = 0;  // of the largest process
    // Maximum of the sum over its processes, sampled a few times a second; shared pages count once
    // for each process. At least max_rss_bytes.
    std::int64_t peak_rss_bytes = 0;
    std::int64_t read_bytes = 0;  // from and to storage, without the page cache
    std::int64_t written_bytes = 0;
    std::int64_t dropped_log_bytes = 0;  // from the middle of the log

    friend bool operator==(const AttemptCost&, const AttemptCost&) = default;
};

// How the values of several attempts combine.
enum class Aggregate { sum, largest };

// Each field with its name in the database, in record.jsonl and in report.json.
template <class Field>
void each_cost(Field field) {
    field("duration_s", &AttemptCost::duration_s, Aggregate::sum);
    field("user_s", &AttemptCost::user_s, Aggregate::sum);
    field("system_s", &AttemptCost::system_s, Aggregate::sum);
    field("max_rss_bytes", &AttemptCost::max_rss_bytes, Aggregate::largest);
    field("peak_rss_bytes", &AttemptCost::peak_rss_bytes, Aggregate::largest);
    field("read_bytes", &AttemptCost::read_bytes, Aggregate::sum);
    field("written_bytes", &AttemptCost::written_bytes, Aggregate::sum);
    field("dropped_log_bytes", &AttemptCost::dropped_log_bytes, Aggregate::sum);
}

inline void add_cost(AttemptCost& total, const AttemptCost& one) {
    each_cost([&](const char*, auto member, Aggregate how) {
        total.*member = how == Aggregate::sum ? total.*member + one.*member
                                              : std::max(total.*member, one.*member);
    });
}

}  // namespace compat
