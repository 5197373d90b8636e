// The report for programs: everything the model holds, versioned (report.schema.json). Not for
// people.
#pragma once

#include <string>

#include "reports/model.h"

namespace compat::reports {

// A key removed or re-typed raises this; a key added does not.
inline constexpr int kReportFormat = 1;

[[nodiscard]] std::string to_json(const ReportModel& model);

}  // namespace compat::reports
