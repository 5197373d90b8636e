// Runs each cell of a nightly.json as an ordinary run of its own series, compares it with the run
// before it, prunes, writes the site and one summary. Not here: the file (suites/nightly.h), what
// the summary says (night.h), and starting it each night: cron, a timer or a CI schedule does.
#pragma once

#include "runner/base/error.h"
#include "runner/base/exit_code.h"
#include "runner/base/files/fs.h"
#include "runner/config/settings.h"
#include "runner/run/resume.h"

namespace compat::nightly {

struct NightlyRequest {
    fs::path file;
    bool resume = false;
    bool dry_run = false;
    int verbosity = 0;
};

// A cell that cannot run is a row of the summary; the others go on. Returns the worst exit code of
// the cells; tests that are only flaky do not count. Errors: of the file, of the results folder, or
// usage, where another night is running or there is none to resume.
[[nodiscard]] Expected<ExitCode> run_nightly(const NightlyRequest& request,
                                             const config::Invocation& invocation,
                                             const run::ParseCommand& parse);

}  // namespace compat::nightly
