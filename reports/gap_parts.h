// A gap as a part of another report. Not for a report of gaps alone (gaps.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "reports/gaps.h"

namespace compat::reports {

inline constexpr std::string_view kGapTableHead =
    "| tests blocked | unblocked if fixed alone | gap | kind | device | severity | instead | for "
    "example |\n|---:|---:|---|---|---|---|---|---|\n";
// A row of that table.
[[nodiscard]] std::string gap_row(const GapView& gap);
[[nodiscard]] nlohmann::ordered_json gap_json(const GapView& gap);

}  // namespace compat::reports
