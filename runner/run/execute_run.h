// A run from the moment when everything is ready until its reports lie there: the children, one
// attempt after the other, and the closing. Not here: getting ready (ready.h), what a new run is
// (pipeline.cc) and what an old one still lacks (resume.cc).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runner/archive/run_folder.h"
#include "runner/base/exit_code.h"
#include "runner/run/ready.h"
#include "runner/store/store.h"

namespace compat::run {

struct Execution {
    archive::RunFolder run;
    archive::RunPlan plan;
    std::vector<std::string> notes;         // for people, before the first child
    std::map<std::string, double> seconds;  // that modules took before, by path
    int verbosity = 0;
    bool resumed = false;  // it was interrupted, and a part of it is stored
    double seconds_before = 0;
    bool keep_empty = true;  // stored although it selected no test
    std::string shard;       // "2/5"; empty: the run is whole
};

struct Executed {
    ExitCode code = ExitCode::ok;
    bool stored = true;  // false: it selected no test, and nothing is left of it
};

// The run is in the store and its plan is written.
[[nodiscard]] Expected<Executed> execute_run(const Ready& ready, store::Store& store,
                                             const Execution& execution);

}  // namespace compat::run
