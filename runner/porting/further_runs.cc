#include "runner/porting/further_runs.h"

#include <algorithm>
#include <set>

#include "runner/base/text.h"
#include "runner/display/output.h"

namespace compat::porting {

using config::Setting;
using display::print;
using reports::Column;
using reports::ColumnRow;
using reports::PortingView;

namespace {

bool breaks_by(const reports::PortedTest& test, Column column, size_t cause) {
    return std::any_of(test.differences.begin(), test.differences.end(), [&](const auto& other) {
        return other.column == column && other.cause == cause;
    });
}

// The tests that break on the column's device for a reason that a port can fix. A run without
// refusals must get past it, so requests for an absent device are left out: they end the test
// again. If a bare Mac and CUDA code on it meet the same cause, only the bare Mac runs the test.
std::vector<std::string> broken_tests(const PortingView& view, const ColumnRow& column) {
    std::set<std::string> ids;
    for (const reports::PortedTest& test : view.tests)
        for (const reports::Difference& difference : test.differences) {
            const ColumnRow& at = reports::row_of(difference.column);
            const reports::CauseOfDifferences& cause = view.causes[difference.cause];
            if (difference.id.empty() || at.simulated != column.simulated ||
                at.policy != column.policy || !is_to_fix(cause) || asks_for_absent_device(cause))
                continue;
            if (column.redirects() && breaks_by(test, strict_of(column.column), difference.cause))
                continue;
            // A module that cannot be loaded runs whole.
            ids.insert(test.pseudo ? test.module : difference.id);
        }
    return {ids.begin(), ids.end()};
}

// The tests of plain CPU that break on a device by what other random numbers may explain.
std::vector<std::string> perhaps_random_tests(const PortingView& view) {
    std::set<std::string> ids;
    for (const reports::PortedTest& test : view.tests)
        for (const reports::Difference& difference : test.differences)
            if (!test.pseudo && !test.id_on_cpu.empty() &&
                difference.change == analysis::Change::lost && difference.perhaps_random)
                ids.insert(test.id_on_cpu);
    return {ids.begin(), ids.end()};
}

// Runs tests on plain CPU with other random numbers, which a device has for the same seed.
Expected<void> run_random(const run::RunRequest& request, const ColumnSettings& settings,
                          const PortingView& view, const std::shared_ptr<run::SharedByRuns>& shared,
                          Columns& columns) {
    run::RunRequest own = request_of(request, shared);
    own.targets = perhaps_random_tests(view);
    if (own.targets.empty() || settings.seeds == 0) return {};
    own.keyword.clear();
    own.options_checked = true;
    if (request.verbosity >= 0)
        print("\nplain CPU, {} again with {}: whether random numbers decide\n",
              counted(static_cast<std::int64_t>(own.targets.size()), "broken test"),
              counted(settings.seeds, "random stream"));
    config::Invocation flags = invocation_of(settings.invocation, row_of(kBaseline));
    flags.flags[Setting::seeds] = std::to_string(settings.seeds);
    flags.flags[Setting::retries] = "0";
    const auto result = TRY(run::run_once(own, flags));
    columns.random = result.id;
    columns.interrupted = result.code == ExitCode::interrupted;
    return {};
}

// Runs the broken tests again where the device refuses nothing, to see what is behind.
Expected<void> run_past_refusals(const run::RunRequest& request, const ColumnSettings& settings,
                                 const PortingView& view,
                                 const std::shared_ptr<run::SharedByRuns>& shared,
                                 Columns& columns) {
    for (const ColumnRow& column : reports::kColumns) {
        if (column.column == kBaseline || column.falls_back()) continue;
        run::RunRequest own = request_of(request, shared);
        own.targets = broken_tests(view, column);
        if (own.targets.empty()) continue;
        own.keyword.clear();
        own.options_checked = true;
        if (request.verbosity >= 0)
            print("\n{}: {} again, to see what is behind the first refusal\n",
                  reports::format_column(column),
                  counted(static_cast<std::int64_t>(own.targets.size()), "broken test"));
        config::Invocation flags = invocation_of(settings.invocation, column);
        flags.flags[Setting::keep_going] = "on";
        flags.flags[Setting::retries] = "0";
        const auto result = TRY(run::run_once(own, flags));
        if (!result.id.empty()) columns.kept_going.push_back(result.id);
        columns.interrupted = result.code == ExitCode::interrupted;
        if (columns.interrupted) break;
    }
    return {};
}

}  // namespace

std::array<FurtherRuns, 2> further_runs() { return {run_random, run_past_refusals}; }

}  // namespace compat::porting
