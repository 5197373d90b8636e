// Loads a suite, resolves its settings and prepares its source and environment: the first step of
// `run`, `list` and `prepare`. Not here: running it (run_suite.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/config/settings.h"
#include "runner/exec/job.h"
#include "runner/plan/command.h"
#include "runner/prepare/prepare.h"

namespace compat::run {

class Isolation;
class RunHub;

struct Ready {
    prepare::Share share;
    suites::Suite suite;
    config::Settings settings;
    prepare::Prepared prepared;
    plan::ChildSettings child;
    bool diagnose = false;  // failed tests run again, after everything else
    // The user's, in which "{device}" is not filled in.
    plan::Variables given_variables{};
    std::vector<std::string> given_options{};
    std::shared_ptr<Isolation> isolation{};  // of the children; null: they have none (yet)
    std::shared_ptr<RunHub> hub{};           // the same
};

// Reads the suite and resolves the settings. Writes and starts nothing, so that their errors come
// first.
[[nodiscard]] Expected<Ready> open_suite(const std::string& name,
                                         const config::Invocation& invocation,
                                         const prepare::Say& say);

[[nodiscard]] prepare::Options prepare_options(const config::Settings& settings);

// children: also the environment and the shim, to start processes.
enum class Need { modules, children };

// Takes the settings of a child's shim, for runs and for `exec`.
void take_device_settings(plan::ChildSettings& child, const config::Settings& settings);

// Fetches and builds what is missing; `say` prints each slow step. `known`: of another run of the
// same suite and environment, with the shim.
[[nodiscard]] Expected<void> make_ready(Ready& ready, Need need, const prepare::Say& say,
                                        const std::optional<prepare::Prepared>& known = {});

// Plans the modules found under the source's root.
[[nodiscard]] Expected<plan::Plan> plan_for(const Ready& ready, const plan::Selection& selection,
                                            const plan::Past& past = {});

// "shim on (redirects missing devices), torch 2.13.0+cpu, Python 3.11.7, device cpu"
[[nodiscard]] std::string describe_settings(const Ready& ready);

// One module's attempt as a child to start.
[[nodiscard]] exec::Job child_job(const Ready& ready, const plan::ChildSettings& settings,
                                  const plan::Job& planned, const plan::AttemptPaths& paths);

// Writes the requested ids for the child.
[[nodiscard]] Expected<void> write_attempt(const plan::Job& planned,
                                           const plan::AttemptPaths& paths);

}  // namespace compat::run
