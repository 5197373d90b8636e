// A comparison as a JSON value, for formats that contain it. Not for the file (compare.h).
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "reports/compare/compare.h"

namespace compat::reports {

// Described by reports/schemas/compare.schema.json.
[[nodiscard]] nlohmann::ordered_json compare_document(const CompareView& view);

inline constexpr std::size_t kGroupsOfChanges = 100;
// Its keys "baseline", "chosen" and "comparisons", without tests, and with `groups` groups of each
// comparison at most.
[[nodiscard]] nlohmann::ordered_json changes_json(const CompareView& view, std::size_t groups);

}  // namespace compat::reports
