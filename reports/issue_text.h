// A failing test as Markdown to paste into an issue of its project: what happens, the key error,
// the traceback, commands, versions, and the difference to plain CPU. Home folders are "~"; secrets
// are masked in the view already (model.h). Not for reports (markdown/markdown.h). Pure.
#pragma once

#include <optional>
#include <string>

#include "reports/model.h"

namespace compat::reports {

// Empty: the test needs no attention.
[[nodiscard]] std::optional<std::string> issue_text(const RunView& run, const CaseView& test);

}  // namespace compat::reports
