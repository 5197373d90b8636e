// The zygote from which a run's modules are forked. Not here: forking (runner/exec), and confirming
// the failures of forked modules (runner/plan).
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runner/archive/run_folder.h"
#include "runner/exec/zygote.h"
#include "runner/run/ready.h"
#include "runner/store/store.h"

namespace compat::run {

// The zygote of a run of `modules` modules: nothing where warm start is off, where the suite names
// nothing to import, where its framework does not run in Python, and for a module alone, which
// would only wait for it. `common` is what the run's children share of their environment; the log
// lies in the run's folder.
[[nodiscard]] std::optional<exec::Zygote> zygote_for(const Ready& ready,
                                                     const archive::RunFolder& run,
                                                     std::shared_ptr<const exec::Variables> common,
                                                     size_t modules);

// The modules that are not forked: those that needed a fresh process before, and a few of which no
// fork is known, on cores that would be idle while the zygote imports.
[[nodiscard]] std::set<std::string> fresh_modules(const std::vector<archive::PlannedModule>& plan,
                                                  const store::SuitePast& past, int jobs);

}  // namespace compat::run
