// A suite made ready: loaded, its settings resolved, its source and environment there. What `run`,
// `list` and `prepare` begin with. Not here: running it (run_suite.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runner/config/settings.h"
#include "runner/exec/job.h"
#include "runner/plan/command.h"
#include "runner/prepare/prepare.h"

namespace compat::run {

struct Ready {
    prepare::Share share;
    suites::Suite suite;
    config::Settings settings;
    prepare::Prepared prepared;
    plan::ChildSettings child;
};

// Reads the suite and resolves the settings; makes and starts nothing, so that what is wrong with
// them is known before anything is written.
[[nodiscard]] Expected<Ready> open_suite(const std::string& name,
                                         const config::Invocation& invocation,
                                         const prepare::Say& say);

// What the settings say of source and environment.
[[nodiscard]] prepare::Options prepare_options(const config::Settings& settings);

// What a command needs of a suite: its modules' names, or all that it takes to start them.
enum class Need { modules, children };

// Makes what is missing; `say` tells a person what takes time.
[[nodiscard]] Expected<void> make_ready(Ready& ready, Need need, const prepare::Say& say);

// The modules to run, from what lies under the source's root.
[[nodiscard]] Expected<plan::Plan> plan_for(const Ready& ready, const plan::Selection& selection,
                                            const plan::Past& past = {});

// "shim on (policy missing), torch 2.13.0+cpu, Python 3.11.7, device cpu"
[[nodiscard]] std::string settings_words(const Ready& ready);

// One module's attempt as a child to start.
[[nodiscard]] exec::Job child_job(const Ready& ready, const plan::ChildSettings& settings,
                                  const plan::Job& planned, const plan::AttemptPaths& paths);

// Writes the ids that were asked for beside the attempt's other files, whose folder it makes.
[[nodiscard]] Expected<void> write_attempt(const plan::Job& planned,
                                           const plan::AttemptPaths& paths);

}  // namespace compat::run
