// The main job, as a list of steps: suite, source and environment, plan, children, store, reports.
#pragma once

#include "runner/app/cli.h"
#include "runner/base/exit_code.h"
#include "runner/plan/command.h"
#include "runner/prepare/prepare.h"

namespace compat::app {

// A suite that can run: what `run`, `list` and `prepare` begin with.
struct Ready {
    prepare::Share share;
    suites::Suite suite;
    Settings settings;
    prepare::Prepared prepared;
    plan::ChildSettings child;
};

// What a command needs of a suite: its modules' names, or all that it takes to start them.
enum class Need { modules, children };

// Loads the suite, resolves the settings and makes what is missing; `say` tells a person what takes
// time.
[[nodiscard]] Expected<Ready> get_ready(const std::string& suite, Need need,
                                        const Invocation& invocation, const prepare::Say& say);

// The modules to run, from what lies under the source's root.
[[nodiscard]] Expected<plan::Plan> plan_for(const Ready& ready,
                                            const std::vector<std::string>& targets,
                                            const std::string& keyword,
                                            const std::map<std::string, double>& durations);

[[nodiscard]] Expected<ExitCode> run_suite(const RunCommand& command, const Invocation& invocation);

}  // namespace compat::app
