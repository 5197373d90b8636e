// The Markdown report's part about the whole run: its first lines and totals. Not for tests and
// modules (markdown.cc). Pure; all texts are Markdown.
#pragma once

#include <string>

#include "reports/model.h"

namespace compat::reports {

[[nodiscard]] std::string headline(const ReportModel& model);
// The run's blind spots (overview/blind_spots.h); empty if there are none.
[[nodiscard]] std::string blind_spots(const ReportModel& model);
// A warning, if a device was simulated that no test used; else empty.
[[nodiscard]] std::string unused_device(const ReportModel& model);
// Why a pass in this run says little; empty for a usual run.
[[nodiscard]] std::string no_verdict(const RunView& run);
[[nodiscard]] std::string describe_totals(const ReportModel& model);
[[nodiscard]] std::string how_it_passed(const ReportModel& model);

}  // namespace compat::reports
