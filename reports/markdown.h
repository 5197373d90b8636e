// The report for people and pull requests. Not for programs: json.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "reports/model.h"

namespace compat::reports {

// GitHub-flavoured Markdown. With `max_bytes`, detail is dropped from the end of the least useful
// section first, and the report says exactly what was left out; a report cannot get smaller than
// its headline.
[[nodiscard]] std::string to_markdown(const ReportModel& model,
                                      std::optional<std::size_t> max_bytes = std::nullopt);

}  // namespace compat::reports
