// The HTML page. From disk it is one file: it has the app, the summary as plain JSON, and each
// further part compressed in an element of its own; its policy lets it request nothing. From a
// server it has no further parts and requests them. Not for what is in the parts (chunks.h) nor for
// how they are shown (web/src).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "reports/html/chunks.h"
#include "runner/base/error.h"

namespace compat::reports {

// Error: this program was built without the page's script. Says why and what to do.
[[nodiscard]] Expected<void> can_write_html();

// All three write the page at their end, because it begins with the summary; until then they keep
// the compressed parts. They need `can_write_html`.
[[nodiscard]] std::unique_ptr<Renderer> html_report(const ReportModel& model, PageSources sources,
                                                    Sink sink);
void compare_html(const CompareView& view, const Sink& sink);
void porting_html(const PortingView& view, const Sink& sink);

// The page from disk of the parts that `parts` gives.
void page_of_parts(const std::function<void(const PartSink&)>& parts, const Sink& sink);

// The page of a server, which sends each part as JSON at the address `parts` + "/NAME". `summary`
// is the text of that part.
[[nodiscard]] std::string served_page(const std::string& summary, std::string_view parts);
// Its header Content-Security-Policy: it may send requests to its own server alone.
[[nodiscard]] std::string served_policy();

}  // namespace compat::reports
