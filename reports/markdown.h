// The report for people and pull requests. Not for programs: json.h.
#pragma once

#include <cstddef>
#include <memory>

#include "reports/renderer.h"

namespace compat::reports {

// Where nobody says another bound: more than people read, less than what a viewer chokes on.
inline constexpr std::size_t kMarkdownBytes = 8 << 20;

// GitHub-flavoured Markdown. To stay within `max_bytes`, detail is dropped from the end of the
// least useful section first, and the report says exactly what was left out; a report cannot get
// smaller than its headline.
[[nodiscard]] std::unique_ptr<Renderer> markdown_report(std::size_t max_bytes, Sink sink);

}  // namespace compat::reports
