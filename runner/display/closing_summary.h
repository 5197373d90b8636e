// The closing lines of a run, for all commands that print them. Not here: the reports (reports/).
#pragma once

#include <string>

#include "reports/model.h"
#include "runner/base/files/fs.h"

namespace compat::display {

// Prints totals, accounting, use of devices and the report's path to stdout.
void print_closing(const reports::ReportModel& model, const fs::path& report);

// Prints the command that continues a run. `results`: the folder that holds it.
void print_resume_hint(const std::string& run, const fs::path& results);

}  // namespace compat::display
