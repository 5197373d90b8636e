// Archives of runs (archive/packed/run_archive.h) where a results folder or a run is named: they are
// unpacked once, in the cache. Not here: their format.
#pragma once

#include <string>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/config/settings.h"

namespace compat::cluster {

// `named` itself, or the results folder of the archive that it names.
[[nodiscard]] Expected<fs::path> unpacked(const fs::path& named,
                                          const config::Invocation& invocation);

// Where a command finds a run.
struct RunPlace {
    fs::path results;
    std::string run;
};
// The settings' results folder and `run`; for an archive its own folder and "latest".
[[nodiscard]] Expected<RunPlace> place_of(const std::string& run,
                                          const config::Invocation& invocation);

}  // namespace compat::cluster
