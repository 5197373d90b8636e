// A failing test as Markdown to paste into an issue of its project: what happens, the key error,
// the traceback, commands, versions, and the difference to plain CPU. Home folders are "~"; secrets
// are masked in the view already (model.h). Not for reports (markdown/markdown.h). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reports/model.h"

namespace compat::reports {

// Empty: the test needs no attention.
[[nodiscard]] std::optional<std::string> issue_text(const RunView& run, const CaseView& test);

// "/home/NAME/x", "/Users/NAME/x", "/root/x" → "~/x", whoever ran it.
[[nodiscard]] std::string with_tilde(std::string text);
// The traceback, else the message; a traceback from the line on that shows the suite's outermost
// frame, as what is before it is the framework's.
[[nodiscard]] std::string_view own_traceback(const FailureView& failure);

}  // namespace compat::reports
