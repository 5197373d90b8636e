#include "reports/overview/past_runs.h"

#include <algorithm>

#include "runner/store/compared_runs.h"

namespace compat::reports {

Expected<PastRuns> past_runs_of(const store::Store& store, const store::RunInfo& run) {
    auto found = TRY(series_before(store, run, kRunsOfHistory - 1));
    std::reverse(found.begin(), found.end());
    PastRuns past;
    for (const store::SeriesRun& before : found)
        past.runs.push_back({before.id, before.started, before.complete, before.states});
    const std::size_t asked = std::min<std::size_t>(found.size(), kRunsOfTestHistory - 1);
    found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(asked));
    if (found.empty()) return past;
    past.states = [&store, runs = std::move(found)](const std::string& test) {
        std::vector<StateInRun> states;
        // A history that cannot be read is left out: the report's reading of the run shows why.
        for (const auto& [at, state] :
             states_in_series(store, runs, test).value_or(std::vector<store::StateInSeries>{}))
            states.push_back({runs[at].id, runs[at].started, state});
        return states;
    };
    return past;
}

}  // namespace compat::reports
