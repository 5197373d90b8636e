// Prints one test: its result in a run, or its history and last failure. For `runner show`, whose
// options are in show.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reports/model.h"
#include "runner/base/exit_code.h"
#include "runner/cli/results.h"

namespace compat::cli {

struct TestInRun {
    std::optional<reports::CaseView> view;  // empty: the run has no such test
    reports::RunView run;
    fs::path folder, root;  // of the run's files; of the suite's sources, empty: of elsewhere
};

// The test as the run's reports show it. `module`: the only one to read; empty: all, as other
// modules may tell what a failure of this one is attributed to. `portable`: with commands for
// another machine (reports::portable_info).
[[nodiscard]] Expected<TestInRun> read_test(const Results& results, const std::string& id,
                                            const std::string& test, const std::string& module,
                                            bool portable = false);

// Prints each attempt at a test that had several.
void print_attempts(const reports::CaseView& test, std::string_view indent);
// Prints the results of other ways to run a failed test.
void print_ways(const reports::CaseView& test, std::string_view indent);
void print_expectation(const reports::CaseView& test, std::string_view indent);

// The id of the only test that contains `part`: of a run, or of all where `run` is empty. Errors:
// `unknown` if none does; usage, with the first candidates, if several do.
[[nodiscard]] Expected<std::string> only_test_with(const Results& results, const std::string& part,
                                                   const std::string& run, const Error& unknown);

// The test in the run as text for an issue: of PyTorch if an older torch gave another result, else
// of the suite's project. `run` empty: the newest run in which it broke. Errors: usage, if it did
// not break.
[[nodiscard]] Expected<ExitCode> show_issue(const Results& results, const std::string& run,
                                            const std::string& test);

[[nodiscard]] Expected<ExitCode> show_test_of_run(const Results& results, const std::string& run,
                                                  const std::string& test);

// Over all suites, series and ways of running it. The failure is the newest of all of them.
[[nodiscard]] Expected<ExitCode> show_test_history(const Results& results, const std::string& test,
                                                   bool color);

}  // namespace compat::cli
