// The text that `runner porting` prints at its end. Not for the page (reports/porting/pages.h).
#pragma once

#include <cstddef>
#include <string>

#include "reports/porting/porting.h"
#include "runner/base/files/fs.h"

namespace compat::display {

// Lines of at most `columns` columns, but for words that are wider. `page`: the written page.
[[nodiscard]] std::string porting_summary(const reports::PortingView& view, const fs::path& page,
                                          std::size_t columns);

}  // namespace compat::display
