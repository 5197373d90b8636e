// `reparse --all`: the database made anew from the runs' folders. Not for one run's files read
// again (reparse.cc).
#pragma once

#include "runner/app/cli.h"
#include "runner/base/error.h"
#include "runner/base/exit_code.h"

namespace compat::app {

// In a fresh file, which takes the old one's place when all is done; the old one is kept beside it.
// Of what the folders do not tell, what can still be read of the old one is taken from there.
[[nodiscard]] Expected<ExitCode> rebuild(const Invocation& invocation);

}  // namespace compat::app
