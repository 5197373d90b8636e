// The part "summary" of the HTML page: what its first screen shows. Not for the other parts
// (chunks.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "reports/html/chunks.h"

namespace compat::reports {

// Both are also safe as the text of an HTML element.
//
// Smaller than kSummaryBytes, whatever the run: shortens lists and texts as far as that needs.
[[nodiscard]] std::string run_summary(const ReportModel& model, const CopiedSources& sources,
                                      const std::vector<std::string>& parts);
// For a page whose content is one part.
[[nodiscard]] std::string page_summary(std::string_view kind, const std::string& title,
                                       const std::string& part);

// The members that every summary has.
[[nodiscard]] nlohmann::ordered_json summary_json(std::string_view kind, const std::string& title,
                                                  const std::vector<std::string>& parts);
// `summary` as the text of a part.
[[nodiscard]] std::string summary_text(const nlohmann::ordered_json& summary);

}  // namespace compat::reports
