// Writes a PortingView as a page for people and as a file for programs (porting.schema.json). Not
// for its content (porting.h).
#pragma once

#include <cstddef>
#include <string_view>

#include "reports/porting/porting.h"
#include "reports/renderer.h"

namespace compat::reports {

inline constexpr std::string_view kPortingPage = "porting.md";
inline constexpr std::string_view kPortingFile = "porting.json";
inline constexpr std::string_view kPortingHtml = "porting.html";
// A key removed or re-typed raises this; a key added does not.
inline constexpr int kPortingFormat = 1;

// Drops detail to stay within `max_bytes`, as the report of a run does (markdown/markdown.h).
void porting_markdown(const PortingView& view, std::size_t max_bytes, const Sink& sink);
void porting_json(const PortingView& view, const Sink& sink);

}  // namespace compat::reports
