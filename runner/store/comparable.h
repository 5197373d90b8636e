// Which runs are compared with each other: the one definition for comparisons, histories, `serve`,
// GitHub and `prune`. Not for finding such runs (compared_runs.h).
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "runner/store/store.h"

namespace compat::store {

// Comparable runs agree in all of these, and the earlier one `covers` the other. The values of
// kComparableColumns, in their order.
using ComparableKey =
    std::tuple<std::string, std::string, std::string, std::string, std::optional<std::string>, bool,
               std::string, bool, bool, bool, bool, std::string, std::string, bool>;

// SQL expressions over `run` joined with `suite`.
inline constexpr std::array<std::string_view, 14> kComparableColumns{
    "run.series",    "suite.name", "run.framework",  "run.device",   "run.simulated",
    "run.shim",      "run.policy", "run.masquerade", "run.fallback", "run.keep_going",
    "run.seeds > 0", "run.shard",  "run.isolation",  "run.network"};
static_assert(kComparableColumns.size() == std::tuple_size_v<ComparableKey>);

// Of a RunInfo or a RunSummary.
template <class Run>
[[nodiscard]] ComparableKey comparable_key(const Run& run) {
    return {run.series,    run.suite,  run.framework,  run.device,   run.simulated,
            run.shim,      run.policy, run.masquerade, run.fallback, run.keep_going,
            run.seeds > 0, run.shard,  run.isolation,  run.network};
}

// Whether `past` ran what `run` did: the same part of the suite, or all of it, with the same
// options for pytest or none.
template <class Past, class Run>
[[nodiscard]] bool covers(const Past& past, const Run& run) {
    return past.subset.empty() || past.subset == run.subset ||
           past.subset == options_in(run.subset);
}
// As an SQL condition; where `run`'s subset and the options in it are bound.
inline constexpr std::string_view kCovers = "run.subset IN ('[]', ?{}, ?{})";

// Whether the run's results say something about the tests as they are: with --keep-going and
// --seeds they do not.
template <class Run>
[[nodiscard]] bool gives_verdicts(const Run& run) {
    return !run.keep_going && run.seeds == 0;
}
inline constexpr std::string_view kGivesVerdicts = "(NOT run.keep_going AND run.seeds = 0)";

// The one of `before`, complete runs with the key of `run` from the newest on, that `run` is
// compared with: one that repeats it (--repeat, A/A) only if there is no other. The end if there is
// none.
template <class Runs, class Run>
[[nodiscard]] auto baseline_among(const Runs& before, const Run& run) {
    const auto first_of = [](const auto& repeat) {
        return repeat.repeat_of.empty() ? repeat.id : repeat.repeat_of;
    };
    auto repeat = before.end();
    for (auto each = before.begin(); each != before.end(); ++each) {
        if (!covers(*each, run)) continue;
        if (first_of(*each) != first_of(run)) return each;
        if (repeat == before.end()) repeat = each;
    }
    return repeat;
}

}  // namespace compat::store
