// The zygote from which a run's modules are forked. Not here: forking (runner/exec), and confirming
// the failures of forked modules (runner/plan).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/archive/run_folder.h"
#include "runner/exec/zygote.h"
#include "runner/plan/confirmation.h"
#include "runner/run/ready.h"
#include "runner/store/store.h"

namespace compat::run {

// The modules that are imported once.
struct Preload {
    std::vector<std::string> names;
    std::string words;  // for people: the packages and why, if the suite does not name them
};

// Shared by several runs of one command, with one suite, one environment and different devices.
struct SharedByRuns {
    std::optional<prepare::Prepared> prepared;
    std::optional<Preload> preload;  // of the first run
    plan::EarlierFailures evidence;
    std::shared_ptr<exec::EarlyZygote> zygote;  // of the next run
    // Called when a run has its own zygote: starts that of the next one, on a core that would be
    // idle.
    std::function<void(const Preload&)> start_next;
};

// The zygote of a run that begins with these jobs: nothing where warm start is off, where there is
// nothing to import, where the framework does not run in Python, where a forked process cannot
// become our child, and for a fork alone, which would only wait for it. It imports what the suite
// names, or else what most of `modules` import. `common` is what the run's children share of their
// environment; the log lies in the run's folder. Errors: interrupted.
[[nodiscard]] Expected<std::optional<exec::Zygote>> zygote_for(
    const Ready& ready, const archive::RunFolder& run,
    std::shared_ptr<const exec::Variables> common, const std::vector<exec::Job>& first,
    const std::vector<archive::PlannedModule>& modules, SharedByRuns& shared);

// Starts the zygote of a run that has not begun. Null: it cannot start. The run then starts its own
// or prints why it cannot.
[[nodiscard]] std::shared_ptr<exec::EarlyZygote> early_zygote(const Ready& ready,
                                                              const std::string& series,
                                                              const Preload& preload);

// Makes jobs fresh (not `warm`): modules that needed a fresh process before and are not `spared`
// one by what earlier runs have shown, and new ones on cores that would be idle while the zygote
// imports.
void choose_fresh_jobs(std::vector<exec::Job>& first, const store::SuitePast& past,
                       const std::set<std::string>& spared, int parallel);

}  // namespace compat::run
