// The replacements that `runner scan --fix` writes by itself, made by LibCST in an environment of
// the runner's own. Not for finding sites (scan_sources.h).
#pragma once

#include <string>
#include <vector>

#include "runner/config/settings.h"
#include "runner/prepare/prepare.h"

namespace compat::scan {

struct FixRequest {
    std::vector<std::string> paths;
    std::string torch;   // version that the code runs with
    bool write = false;  // into the files
    std::string device;  // expression for a device; empty: the default
};

struct FixResult {
    std::string patch;
    long changes = 0, files = 0;
    bool own_cuda = false;             // a class of the code has a .cuda() of its own
    std::vector<std::string> skipped;  // "file:line: reason"
    bool conflict = false;             // a file was edited while it was to be written: skipped
};

// Makes the environment if it is missing. Errors: environment, for example if there is no network;
// usage, if `device` is no expression.
[[nodiscard]] Expected<FixResult> fix_sources(const FixRequest& request,
                                              const config::Settings& settings,
                                              const prepare::Share& share, const prepare::Say& say);

}  // namespace compat::scan
