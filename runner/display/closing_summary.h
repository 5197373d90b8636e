// The lines that close a run, the same wherever they are printed. Not here: the reports (reports/).
#pragma once

#include <filesystem>

#include "reports/model.h"

namespace compat::display {

// Totals, accounting, how many tests exercised a device, the report's path. To stdout.
void print_closing(const reports::ReportModel& model, const std::filesystem::path& report);

}  // namespace compat::display
