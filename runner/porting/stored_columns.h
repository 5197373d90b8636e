// Reads the stored runs of `runner porting` and compares them. Not for the comparison itself
// (reports/porting/porting.h).
#pragma once

#include <string>
#include <vector>

#include "reports/porting/porting.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/porting/columns.h"
#include "runner/store/store.h"

namespace compat::porting {

// The named runs by column. Errors: usage, if a run fits no column or not the other runs.
[[nodiscard]] Expected<Columns> find_runs(const store::Store& store, const fs::path& results,
                                          const std::vector<std::string>& names);

struct Comparison {
    reports::PortingView view;
    fs::path out;  // folder of the pages
};

// `folder`: of the pages; empty: one below the results.
[[nodiscard]] Expected<Comparison> compare_columns(const Columns& columns,
                                                   const store::Store& store,
                                                   const fs::path& results,
                                                   const std::string& folder);

}  // namespace compat::porting
