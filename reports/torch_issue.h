// A test that another torch does not break in this way, as Markdown for an issue of PyTorch, in the
// form that its template asks for: what differs, the command without the runner, both results,
// versions. Not for issues of the suite's own project (issue_text.h). Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/model.h"

namespace compat::reports {

// The run had portable_info() as its facts when the model was made.
struct TestWithTorch {
    RunView run;
    CaseView test;
};

// A run's facts with commands as another machine can repeat them: `python` by its name, no
// variables of ours, paths below the suite's root relative.
[[nodiscard]] RunInfo portable_info(RunInfo info);

// Whether `older` is good, or breaks with another signature, where `test` breaks.
[[nodiscard]] bool torch_differs(const CaseView& older, const CaseView& test);

// `places`: further folders of this machine, and the names that stand for them.
[[nodiscard]] std::string torch_issue(
    const TestWithTorch& failed, const TestWithTorch& older,
    const std::vector<std::pair<std::string, std::string>>& places);

}  // namespace compat::reports
