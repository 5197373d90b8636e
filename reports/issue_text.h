// A failing test as Markdown to paste into an issue of its project: what happens, the key error,
// the traceback, commands, versions, and the difference to plain CPU. Secrets are masked, and home
// folders are "~". Not for reports (markdown/markdown.h). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reports/model.h"

namespace compat::reports {

// Empty: the test needs no attention.
[[nodiscard]] std::optional<std::string> issue_text(const RunView& run, const CaseView& test);

// Text of a suite for others to read: kMasked (base/names.h) in the place of passwords in URLs,
// values of variables with secret names, and tokens that are known by their form; "~" in the place
// of a home folder.
[[nodiscard]] std::string without_secrets(std::string_view text);

}  // namespace compat::reports
