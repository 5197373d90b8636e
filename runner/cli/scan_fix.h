// `runner scan --fix`: the safe replacements, as a patch or written into the
// files. Not for finding sites (scan.cc).
#pragma once

#include <string>

#include "runner/base/exit_code.h"
#include "runner/scan/fix_sources.h"

namespace compat::cli {

// `patch`: a file for the patch; empty: stdout, where the files are not written.
[[nodiscard]] Expected<ExitCode> fix_sources(const scan::FixRequest& request,
                                             const std::string& patch,
                                             const config::Settings& settings,
                                             const prepare::Share& share);

}  // namespace compat::cli
