// The summaries of pages that only a server has: the stored runs, the results of one test, the gap
// log. Not for a run's page (summary.h) nor for reading the store (runner/serve).
#pragma once

#include <string>
#include <vector>

#include "reports/gaps.h"
#include "reports/html/chunks.h"
#include "reports/model.h"

namespace compat::reports {

// As StoredRun in web/src/data.ts.
struct ListedRun {
    HistoryPoint run;
    std::string suite, series;
    std::string way;    // device, isolation, part of the suite, in words
    std::string torch;  // empty: none
    double duration_s = 0;
    bool running = false;
    std::int64_t modules = 0;
    std::string url;
    std::string compare;  // address of the comparison with the run before it; empty: none
};

// A test in one run.
struct ListedResult {
    std::string run, url;
    WallTime started{};
    std::string series;
    std::string way;  // "device mps (simulated), fallback on, shim off"
    parsers::State state = parsers::State::not_run;
    double duration_s = 0;
    std::string why;  // key line, or the reason; may be empty
};

// Both are also safe as the text of an HTML element. Newest first.
[[nodiscard]] std::string runs_summary(const std::vector<ListedRun>& runs);
[[nodiscard]] std::string test_summary(const std::string& test,
                                       const std::vector<ListedResult>& results);
// The gaps are a part of their own, "gaps": the log grows with each run.
void gap_log_parts(const std::vector<GapView>& gaps, const PartSink& sink);

}  // namespace compat::reports
