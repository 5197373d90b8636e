// The zygote from which a run's modules are forked. Not here: forking (runner/exec), and confirming
// the failures of forked modules (runner/plan).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runner/archive/run_folder.h"
#include "runner/exec/zygote.h"
#include "runner/run/ready.h"
#include "runner/store/store.h"

namespace compat::run {

// The zygote of a run that begins with these jobs: nothing where warm start is off, where the suite
// names nothing to import, where its framework does not run in Python, where a forked process cannot
// become our child, and for a fork alone, which would only wait for it. `common` is what the run's children share of their environment; the log
// lies in the run's folder.
[[nodiscard]] std::optional<exec::Zygote> zygote_for(const Ready& ready,
                                                     const archive::RunFolder& run,
                                                     std::shared_ptr<const exec::Variables> common,
                                                     const std::vector<exec::Job>& first);

// Makes jobs fresh (not `warm`): modules that needed a fresh process before, and new ones on cores
// that would be idle while the zygote imports.
void choose_fresh_jobs(std::vector<exec::Job>& first, const store::SuitePast& past, int parallel);

}  // namespace compat::run
