// A comparison as a part of another report: without its tests. Not for a comparison alone
// (compare.h).
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "reports/compare/compare.h"

namespace compat::reports {

inline constexpr std::size_t kGroupsOfChanges = 100;

// {"baseline", "chosen", "comparisons"}, as in reports/schemas/compare.schema.json, with
// kGroupsOfChanges groups of each comparison at most.
[[nodiscard]] nlohmann::ordered_json changes_json(const CompareView& view);

}  // namespace compat::reports
