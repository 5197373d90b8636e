// The report for programs: the whole model and every module (report.schema.json). Not for people.
#pragma once

#include <memory>

#include "reports/renderer.h"

namespace compat::reports {

// A key removed or re-typed raises this; a key added does not.
inline constexpr int kReportFormat = 1;

// Writes the model at once, then each module when it is added.
[[nodiscard]] std::unique_ptr<Renderer> json_report(const ReportModel& model, Sink sink);

}  // namespace compat::reports
