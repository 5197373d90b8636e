#include "reports/html/served.h"

#include "reports/gap_parts.h"
#include "reports/html/summary.h"
#include "reports/json_parts.h"

namespace compat::reports {

namespace {

nlohmann::ordered_json listed_run_json(const ListedRun& listed) {
    nlohmann::ordered_json json = history_point_json(listed.run);
    json.update({{"suite", listed.suite},
                 {"series", listed.series},
                 {"way", listed.way},
                 {"torch", or_null(listed.torch)},
                 {"duration_s", listed.duration_s},
                 {"running", listed.running},
                 {"modules", listed.modules},
                 {"url", listed.url},
                 {"compare", or_null(listed.compare)}});
    return json;
}

nlohmann::ordered_json listed_result_json(const ListedResult& result) {
    return {{"run", result.run},
            {"url", result.url},
            {"started", iso8601(result.started)},
            {"series", result.series},
            {"way", result.way},
            {"state", name_of(result.state)},
            {"duration_s", result.duration_s},
            {"why", result.why}};
}

}  // namespace

std::string runs_summary(const std::vector<ListedRun>& runs) {
    auto summary = summary_json("runs", "Test runs", {});
    summary["live"] = true;  // the next run may start at any time
    summary["runs"] = list_of(runs, listed_run_json);
    return summary_text(summary);
}

std::string test_summary(const std::string& test, const std::vector<ListedResult>& results) {
    auto summary = summary_json("test", test, {});
    summary["test"] = {{"id", test}, {"results", list_of(results, listed_result_json)}};
    return summary_text(summary);
}

void gap_log_parts(const std::vector<GapView>& gaps, const PartSink& sink) {
    constexpr std::string_view kGaps = "gaps";
    sink(kGaps, compact(list_of(gaps, gap_json)));
    sink(kSummaryPart, summary_text(summary_json("gaps", "Gap log", {std::string(kGaps)})));
}

}  // namespace compat::reports
