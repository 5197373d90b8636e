// Stores results of other tools as a run for each job, with copies of their files. Not here:
// reading those files (archive/imported/imported_files.h).
#pragma once

#include <string>
#include <vector>

#include "runner/archive/imported/imported_files.h"
#include "runner/base/error.h"
#include "runner/base/exit_code.h"
#include "runner/config/settings.h"

namespace compat::run {

struct ImportRequest {
    std::vector<archive::FileOfJob> files;
    std::string suite = "imported";
    std::string dialect;  // empty: as each file looks
    std::string stdin_name = "stdin";
    std::string device = "unknown";
    std::string torch;
};

[[nodiscard]] Expected<ExitCode> import_results(const ImportRequest& request,
                                                const config::Invocation& invocation);

}  // namespace compat::run
