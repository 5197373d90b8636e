// The report in the Common Test Report Format (the schema of npm's package `ctrf`). Not for what
// CTRF has no place for: report.json has all.
#pragma once

#include <memory>
#include <string_view>

#include "reports/renderer.h"

namespace compat::reports {

// The version of CTRF's specification.
inline constexpr std::string_view kCtrfVersion = "0.0.0";

// Writes each test when its module is added.
[[nodiscard]] std::unique_ptr<Renderer> ctrf_report(const ReportModel& model, Sink sink);

}  // namespace compat::reports
