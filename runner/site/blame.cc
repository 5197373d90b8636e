#include "runner/site/blame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "runner/analysis/comparison.h"
#include "runner/base/secrets.h"
#include "runner/store/compared_runs.h"

namespace compat::site {

namespace {

BlameRun described(const store::RunSummary& run) {
    return {run.id, run.started, run.torch,
            run.commit.empty() || !run.dirty ? run.commit : run.commit + " and changes of its own"};
}

// The failure of the newest run in which the test is broken.
Expected<void> add_error(const store::Store& store, const Series& series, const TestInSeries& test,
                         BlameColumn& column) {
    for (std::size_t i = test.entries.size(); i-- > 0;) {
        if (analysis::kind_of(test.entries[i].state) != analysis::StateKind::broken) continue;
        const auto detail = TRY(store::result_details(store, std::span(&test.results[i], 1)));
        const store::ResultDetail& found = detail.front();
        column.error = mask_secrets(found.key_line.empty() ? found.reason : found.key_line,
                                    own_secret_values());
        column.error_run = series.runs[test.entries[i].run].id;
        break;
    }
    return {};
}

Expected<BlameColumn> column_of(const store::Store& store, const Series& series,
                                const TestInSeries& test) {
    BlameColumn column;
    column.column = series.column;
    column.series = series.newest().series;
    column.torch = series.torch;
    column.way = series.way;
    for (const auto& entry : test.entries) column.states.push_back(entry.state);
    column.ledger = analysis::ledger_of(test.entries, series.versions);
    column.newest = described(series.runs[test.entries.back().run]);
    if (const auto run = column.ledger.last_good) column.last_good = described(series.runs[*run]);
    if (const auto run = column.ledger.first_bad) column.first_bad = described(series.runs[*run]);
    if (column.last_good && column.first_bad)
        column.changed = TRY(changed_between(store, column.last_good->id, column.first_bad->id));
    TRY(add_error(store, series, test, column));
    return column;
}

}  // namespace

Expected<std::optional<BlameColumn>> blame_in(const store::Store& store, const Series& series,
                                              const std::string& test) {
    const auto results = TRY(store::results_of_test(store, test));
    const TestInSeries found = test_in_series(series, results);
    if (found.entries.empty()) return std::nullopt;
    return column_of(store, series, found).map([](BlameColumn column) {
        return std::optional(std::move(column));
    });
}

Expected<std::vector<BlameView>> blame(const store::Store& store, const BlameRequest& request) {
    const auto results = TRY(store::results_of_test(store, request.test));
    auto runs = TRY(store.runs());
    const std::vector<Series> all = series_of(std::move(runs));
    std::vector<BlameView> views;
    std::set<std::string> others;  // series and columns that the request leaves out
    for (const Series& series : all) {
        const TestInSeries test = test_in_series(series, results);
        if (test.entries.empty()) continue;
        const bool asked = (request.series.empty() || series.newest().series == request.series) &&
                           (request.column.empty() || series.column == request.column);
        if (!asked) {
            others.insert(fmt::format("{} ({})", series.column, series.newest().series));
            continue;
        }
        if (views.empty() || views.back().suite != series.suite)
            views.push_back({request.test, series.suite, {}});
        auto column = TRY(column_of(store, series, test));
        views.back().columns.push_back(std::move(column));
    }
    if (!views.empty()) return views;
    if (!others.empty())
        return fail(ErrorKind::usage,
                    fmt::format("{} is in no such series or column", request.test),
                    fmt::format("it is in {}", fmt::join(others, ", ")));
    // Runs that are not complete, or ran a part and stand alone, have none.
    std::string without_history;
    if (!results.empty())
        without_history = fmt::format(
            "; {} has it{}", results.back().run,
            results.size() == 1 ? "" : fmt::format(", and {} more", results.size() - 1));
    return fail(
        ErrorKind::usage,
        fmt::format("no run with a history has the test {}{}", request.test, without_history),
        "`runner show RUN` prints what did not pass");
}

}  // namespace compat::site
