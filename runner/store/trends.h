// Reads over many runs of a series: the results of a module, of one test, and counts by module. The
// rows are small, so that a site of ten million tests needs the memory of one module. Not for two
// runs side by side (compared_runs.h) nor for what the rows mean (analysis/ledger.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runner/store/store.h"

namespace compat::store {

// A verdict in one of several runs.
struct ModuleResult {
    std::uint32_t run = 0;    // index in the runs that were asked for
    std::int64_t test = 0;    // names the test in this database
    std::int64_t result = 0;  // names its result in the run
    parsers::State state = parsers::State::not_run;
    float duration_s = 0;
};

struct ModuleCounts {
    std::string path;
    StateCounts states{};
    std::int64_t exercised_good = 0, exercised_broken = 0;  // as in RunSummary
    double seconds = 0;                                     // of its attempts together
    std::int64_t rowless = 0;  // tests of `states` that have no row of their own
};

// A test's verdict in a run.
struct TestResult {
    std::string run;
    std::int64_t result = 0;
    parsers::State state = parsers::State::not_run;
    bool flaky = false;  // it passed only when retried
};

// Errors as Store's.

// Run by run, in the order of `runs`, which are ids. A run without the module has no results.
[[nodiscard]] Expected<void> each_module_result(
    const Store& store, std::span<const std::string> runs, std::string_view module,
    const std::function<void(const ModuleResult&)>& see);
// Sorted by path. Without diagnostic attempts.
[[nodiscard]] Expected<std::vector<ModuleCounts>> module_counts(const Store& store,
                                                                std::string_view run);
// In every run that has the test, oldest first. Empty for an unknown test.
[[nodiscard]] Expected<std::vector<TestResult>> results_of_test(const Store& store,
                                                                std::string_view test);
// Ids of the tests of these results, in their order.
[[nodiscard]] Expected<std::vector<std::string>> tests_of_results(
    const Store& store, std::span<const std::int64_t> results);

}  // namespace compat::store
