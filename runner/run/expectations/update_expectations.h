// Compares a stored run with the entries that expectations.json has today, and works out the file's
// new text. Not here: which changes (runner/analysis/expectations/update.h), the file's format
// (suites/expectations.h), and printing (runner/cli/expect.cc).
#pragma once

#include <functional>
#include <string>

#include "runner/analysis/expectations/update.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/store/store.h"

namespace compat::run {

// A run and today's file.
struct RunAndExpectations {
    std::string run;
    std::string framework;
    fs::path file;               // absolute, there or not
    std::string text;            // of the file; empty: it is not there
    analysis::Expectations expectations;
};
// `named`: the file to use; empty: the run's own. Errors: usage, where the run has no file or gives
// no verdicts; those of suites::parse_expectations.
[[nodiscard]] Expected<RunAndExpectations> read_run_and_expectations(const store::Store& store,
                                                                     const std::string& run,
                                                                     const fs::path& named);

// Each module with a test's verdict in each row.
[[nodiscard]] Expected<void> each_verdict_record(
    const store::Store& store, const std::string& run,
    const std::function<void(const parsers::ModuleRecord&)>& see);

struct PlannedUpdate {
    analysis::ExpectationUpdate update;
    std::string text;  // the file's new one
};
[[nodiscard]] Expected<PlannedUpdate> plan_update(const store::Store& store,
                                                  const RunAndExpectations& read);

// As `diff -u` prints it. `python`: any Python 3.
[[nodiscard]] Expected<std::string> unified_diff(const std::string& before,
                                                 const std::string& after, const std::string& name,
                                                 const std::string& python);

}  // namespace compat::run
