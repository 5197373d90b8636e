// Prints one test: its result in a run, or its history and last failure. For `runner show`, whose
// options are in show.cc.
#pragma once

#include <string>
#include <string_view>

#include "reports/model.h"
#include "runner/base/exit_code.h"
#include "runner/cli/results.h"

namespace compat::cli {

// Prints each attempt at a test that had several.
void print_attempts(const reports::CaseView& test, std::string_view indent);
// Prints the results of other ways to run a failed test.
void print_ways(const reports::CaseView& test, std::string_view indent);
void print_expectation(const reports::CaseView& test, std::string_view indent);

// The id of the only test that contains `part`: of a run, or of all where `run` is empty. Errors:
// `unknown` if none does; usage, with the first candidates, if several do.
[[nodiscard]] Expected<std::string> only_test_with(const Results& results, const std::string& part,
                                                   const std::string& run, const Error& unknown);

[[nodiscard]] Expected<ExitCode> show_test_of_run(const Results& results, const std::string& run,
                                                  const std::string& test);

// Over all suites, series and ways of running it. The failure is the newest of all of them.
[[nodiscard]] Expected<ExitCode> show_test_history(const Results& results, const std::string& test,
                                                   bool color);

}  // namespace compat::cli
