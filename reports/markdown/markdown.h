// The report for people and pull requests. Not for programs: json/json.h.
#pragma once

#include <cstddef>
#include <memory>

#include "reports/renderer.h"

namespace compat::reports {

// The default limit: more than people read, less than viewers fail on.
inline constexpr std::size_t kMarkdownBytes = 8 << 20;

// GitHub-flavoured Markdown. To stay within `max_bytes`, drops items from the end of the least
// useful section first and lists what was left out. The headline always stays.
[[nodiscard]] std::unique_ptr<Renderer> markdown_report(const ReportModel& model,
                                                        std::size_t max_bytes, Sink sink);

}  // namespace compat::reports
