// The lines that close a run, and those that describe one: said the same way wherever they are
// printed.
#pragma once

#include <filesystem>
#include <string>

#include "reports/model.h"
#include "runner/app/ready.h"

namespace compat::app {

// "shim on (policy missing), torch 2.13.0+cpu, Python 3.11.7, device cpu"
[[nodiscard]] std::string settings_words(const Ready& ready);

// Totals, accounting, how many tests exercised a device, the report's path. To stdout.
void print_closing(const reports::ReportModel& model, const std::filesystem::path& report);

}  // namespace compat::app
