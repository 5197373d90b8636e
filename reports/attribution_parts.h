// An attribution as a part of a report. Not for how it is found
// (runner/analysis/ways/attribution.h).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "reports/model.h"

namespace compat::reports {

// Null: none.
[[nodiscard]] nlohmann::ordered_json attribution_json(const std::optional<AttributionView>& a);
// Markdown: "`op_missing`: passes with fallback on: … (as `a.py::test_b`) (run `alpha_…`)"
[[nodiscard]] std::string describe_attribution(const AttributionView& attribution);

}  // namespace compat::reports
