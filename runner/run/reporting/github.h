// The output of a run for a GitHub Actions step: annotations on stdout, and its summary. Not for
// their content (reports/ci/github.h, reports/markdown/markdown.h).
#pragma once

#include <vector>

#include "reports/render.h"
#include "runner/store/store.h"

namespace compat::run {

// By the newest complete run before `info` that was made in the same way, of the whole suite or
// the same shard, and by GitHub's variables. `store` outlives it.
[[nodiscard]] Expected<reports::GithubOptions> github_options(const store::Store& store,
                                                              const store::RunInfo& info);

// How much the step's summary still takes.
[[nodiscard]] std::size_t github_summary_room();

// Prints the annotations among the files, and appends the summary to $GITHUB_STEP_SUMMARY if it is
// set. Errors: io.
[[nodiscard]] Expected<void> publish_to_github(const std::vector<reports::RenderedFile>& files);

}  // namespace compat::run
