// The report for programs: everything the model holds, versioned (report.schema.json). Not for
// people.
#pragma once

#include <memory>

#include "reports/renderer.h"

namespace compat::reports {

// A key removed or re-typed raises this; a key added does not.
inline constexpr int kReportFormat = 1;

// Writes each module as it comes by; the totals stand after them.
[[nodiscard]] std::unique_ptr<Renderer> json_report(const RunView& run, Sink sink);

}  // namespace compat::reports
