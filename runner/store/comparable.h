// Which runs are compared with each other: the one definition for comparisons, histories, `serve`,
// GitHub and `prune`. Not for finding such runs (compared_runs.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/base/run/run_fields.h"

namespace compat::store {

// The values of the fields that separate runs, in their order (base/run/run_fields.h). Comparable
// runs have equal keys, and the earlier one `covers` the other.
using ComparableKey = std::vector<std::string>;

// Calls `see(column, value)` for each of them. `column`: an SQL expression over `run` joined with
// `suite`.
template <class See>
void each_separating(const RunInfo& run, See see) {
    run_fields(run, [&](const RunField& field, const auto& value) {
        using T = std::remove_cvref_t<decltype(value)>;
        if (!field.separates) return;
        const std::string column =
            field.key == "suite" ? "suite.name" : fmt::format("run.{}", field.column);
        if constexpr (std::is_same_v<T, int>)
            see(column + " > 0", value > 0);
        else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, bool> ||
                           std::is_same_v<T, std::optional<std::string>>)
            see(column, value);
    });
}

[[nodiscard]] inline ComparableKey comparable_key(const RunInfo& run) {
    ComparableKey key;
    each_separating(
        run, [&](const std::string&, const auto& value) { key.push_back(field_text(value)); });
    return key;
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
