// A run from the moment when everything is ready until its reports lie there: the children, one
// attempt after the other, and the closing. Not here: getting ready (ready.h), what a new run is
// (pipeline.cc) and what an old one still lacks (resume.cc).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runner/app/ready.h"
#include "runner/app/run_folder.h"
#include "runner/base/exit_code.h"
#include "runner/store/store.h"

namespace compat::app {

struct Conducted {
    RunFolder run;
    RunPlan plan;
    std::vector<std::string> notes;         // for people, before the first child
    std::map<std::string, double> seconds;  // that modules took before, by path
    int verbosity = 0;
    bool goes_on = false;  // it was interrupted, and a part of it is stored
    double seconds_before = 0;
};

// The run is in the store and its plan is written.
[[nodiscard]] Expected<ExitCode> conduct(const Ready& ready, store::Store& store,
                                         const Conducted& what);

// The folder of stored results that the settings name. Errors: usage, where there are none.
[[nodiscard]] Expected<std::filesystem::path> existing_results(const Invocation& invocation);

// The database of a folder of results, which nobody makes anew while it is open.
class OpenResults : public store::Store {
  public:
    OpenResults(ResultsLock lock, store::Store store)
        : store::Store(std::move(store)), lock_(std::move(lock)) {}

  private:
    ResultsLock lock_;
};

// Opens the results folder's database, making what is missing.
[[nodiscard]] Expected<OpenResults> open_results(const std::filesystem::path& results);

}  // namespace compat::app
