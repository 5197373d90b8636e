// Annotations of a GitHub Actions step: workflow commands, one a line, for failures that are new.
// Not for the step's summary, which is the Markdown report.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "reports/renderer.h"

namespace compat::reports {

// GitHub shows ten errors of a step. Further ones are counted in a notice.
inline constexpr int kGithubAnnotations = 10;
// GitHub refuses a larger summary of a step.
inline constexpr std::size_t kGithubSummaryBytes = 1 << 20;

struct GithubOptions {
    // The suite's root below the repository's, "" or "path/"; empty: files are in no checkout.
    std::optional<std::string> prefix{""};
    std::string run_before{};  // the run that failures are compared with; empty: all are new
    // Whether the module's test failed that run, by what that run expected.
    std::function<bool(const std::string& module, const std::string& test)> failed_before{};
};

[[nodiscard]] std::unique_ptr<Renderer> github_annotations(const ReportModel& model,
                                                           GithubOptions options, Sink sink);

}  // namespace compat::reports
