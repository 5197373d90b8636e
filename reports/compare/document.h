// A comparison as a JSON value, for formats that contain it. Not for the file (compare.h).
#pragma once

#include <nlohmann/json.hpp>

#include "reports/compare/compare.h"

namespace compat::reports {

// Described by reports/schemas/compare.schema.json.
[[nodiscard]] nlohmann::ordered_json compare_document(const CompareView& view);

}  // namespace compat::reports
