// `runner scan --fix`: the replacements that fit by themselves, as a patch or written into the
// files. Not for finding sites (scan.cc).
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "runner/base/exit_code.h"
#include "runner/config/settings.h"
#include "runner/prepare/prepare.h"

namespace compat::cli {

struct FixRequest {
    std::vector<std::string> paths;
    std::string torch;         // version that the code runs with
    std::string patch;         // a file; empty: stdout
    bool write = false;        // into the files, without a patch
    std::string project = {};  // to verify: the folder with the tests; empty: the one above `paths`
    std::chrono::milliseconds limit{};  // to verify: for finding what breaks tests
    std::string device = {};            // a Python expression; empty: what --fix says by itself
};

[[nodiscard]] Expected<ExitCode> fix_sources(const FixRequest& request,
                                             const config::Settings& settings,
                                             const prepare::Share& share);

// Keeps the replacements that leave the project's tests as they are (run/scan/verify_fixes.h).
// `torch` may be empty: that of the project.
[[nodiscard]] Expected<ExitCode> verify_and_fix(const FixRequest& request,
                                                const config::Invocation& invocation,
                                                const prepare::Share& share);

}  // namespace compat::cli
