#include "reports/html/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/compare/document.h"
#include "reports/gap_parts.h"
#include "reports/json_parts.h"
#include "runner/base/names.h"

namespace compat::reports {

namespace {

using Json = nlohmann::ordered_json;

// The longest lists and texts.
struct SummaryCaps {
    std::size_t clusters = 100, gaps = 200, load_failures = 100, redirections = 500, leaked = 100,
                mismatches = 100, groups = 100, history = 100, counts = 200;
    std::size_t text = 4000;  // bytes

    [[nodiscard]] SummaryCaps halved() const {
        return {clusters / 2,      gaps / 2,
                load_failures / 2, redirections / 2,
                leaked / 2,        mismatches / 2,
                groups / 2,        history / 2,
                counts / 2,        std::max<std::size_t>(text / 2, 100)};
    }
};

// Clips every text, and every list to `most` items.
void clip(Json& value, std::size_t text, std::size_t most) {
    if (value.is_string()) {
        auto& all = value.get_ref<std::string&>();
        if (all.size() <= text) return;
        all.resize(first_bytes(all, text).size());
        all += "…";
    } else if (value.is_structured()) {
        if (value.is_array() && value.size() > most)
            value.erase(value.begin() + static_cast<std::ptrdiff_t>(most), value.end());
        for (auto& item : value) clip(item, text, most);
    }
}

// The most frequent of `counts`.
Json counts_json(const std::map<std::string, std::int64_t>& counts, std::size_t most) {
    std::vector<std::pair<std::string_view, std::int64_t>> sorted(counts.begin(), counts.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    Json out = Json::object();
    for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i)
        out[std::string(sorted[i].first)] = sorted[i].second;
    return out;
}

Json writes_part(const std::vector<WrittenFiles>& writes, const SummaryCaps& caps) {
    Json list = list_of(writes, writes_json);
    for (Json& place : list) clip(place["files"], caps.text, caps.leaked);
    return list;
}

Json changes_part(const std::shared_ptr<const CompareView>& changes, const SummaryCaps& caps) {
    if (!changes) return nullptr;
    Json part = changes_json(*changes, caps.groups);
    for (Json& comparison : part["comparisons"]) clip(comparison["groups"], caps.text, caps.groups);
    return part;
}

Json sources_json(const CopiedSources& sources) {
    if (sources.prefix.empty()) return nullptr;
    return {{"prefix", sources.prefix},
            {"files", sources.files.size()},
            {"left_out", sources.left_out.size()}};
}

Json whole_run_json(const ReportModel& model) {
    Json run = run_json(model.run);
    run["imported"] = model.run.imported;
    return run;
}

// `run`: whole_run_json, which may take long.
Json run_part(const ReportModel& model, const Json& run, const CopiedSources& sources,
              const SummaryCaps& caps) {
    Json totals = totals_json(model.totals);
    totals["used_accelerator"] = model.totals.used_accelerator;
    Json causes = Json::array();
    for (const auto& [name, tests] : causes_by_tests(model))
        causes.push_back({{"name", name}, {"means", cause_means(name)}, {"tests", tests}});
    const auto& mismatches = model.accounting.mismatches;
    // The last ones are the newest.
    const std::size_t older = model.history.size() - std::min(caps.history, model.history.size());
    const std::vector<HistoryPoint> history(
        model.history.begin() + static_cast<std::ptrdiff_t>(older), model.history.end());
    Json out{{"run", run},
             {"totals", std::move(totals)},
             {"accounting",
              {{"closed", model.accounting.closed},
               {"mismatches", list_of(mismatches, mismatch_json, caps.mismatches)},
               {"more", mismatches.size() - std::min(mismatches.size(), caps.mismatches)}}},
             {"modules_without_result", model.modules_without_result},
             {"links", {{"total", model.links_total}, {"unresolved", model.links_unresolved}}},
             {"blind_spots", list_of(model.blind_spots, blind_spot_json)},
             {"expectations", expectations_json(model.expectations)},
             {"first_steps", list_of(model.first_steps, first_step_json)},
             {"causes", std::move(causes)},
             {"diagnoses", counts_json(model.diagnoses, caps.counts)},
             {"attributions", counts_json(model.attributions, caps.counts)},
             {"clusters", list_of(model.clusters, cluster_json, caps.clusters)},
             {"clusters_total", model.clusters.size()},
             {"gaps", list_of(model.gaps, gap_json, caps.gaps)},
             {"gaps_total", model.gaps.size()},
             {"load_failures", list_of(model.load_failures, load_failure_json, caps.load_failures)},
             {"load_failures_total", model.load_failures.size()},
             {"redirections", list_of(model.redirections, redirection_json, caps.redirections)},
             {"redirections_total", model.redirections.size()},
             {"collectives", collectives_json(model.collectives, caps.redirections)},
             {"collectives_total", model.collectives.sites.size()},
             {"leaked_processes", list_of(model.leaked_processes, leaked_json, caps.leaked)},
             {"leaked_total", model.leaked_processes.size()},
             {"writes", writes_part(model.run.writes, caps)},
             {"changes", changes_part(model.changes, caps)},
             {"history", list_of(history, history_point_json)},
             {"sources", sources_json(sources)}};
    clip(out["expectations"]["notes"], caps.text, caps.mismatches);
    for (Json& step : out["first_steps"]) clip(step["signatures"], caps.text, caps.clusters);
    clip(out, caps.text, std::numeric_limits<std::size_t>::max());
    return out;
}

// `json` as the text of an HTML element: nothing ends the element or opens a comment in it, and
// no separator of lines is one of JavaScript alone.
std::string in_html(const std::string& json) {
    std::string out;
    out.reserve(json.size());
    for (std::size_t at = 0; at < json.size(); ++at) {
        const std::size_t special = std::min(json.find_first_of("<\xE2", at), json.size());
        out.append(json, at, special - at);
        at = special;
        if (at == json.size()) break;
        const std::string_view rest = std::string_view(json).substr(at, 3);
        const bool separator = rest == "\xE2\x80\xA8" || rest == "\xE2\x80\xA9";
        if (separator) {
            out += rest.back() == '\xA8' ? "\\u2028" : "\\u2029";
            at += 2;
        } else if (json[at] == '<') {
            out += "\\u003c";
        } else {
            out += json[at];
        }
    }
    return out;
}

}  // namespace

Json summary_json(std::string_view kind, const std::string& title,
                  const std::vector<std::string>& parts) {
    return {{"format", 1},
            {"generator", fmt::format("runner {}", kVersion)},
            {"kind", kind},
            {"title", title},
            {"parts", parts}};
}

std::string summary_text(const Json& summary) { return in_html(compact(summary)); }

std::string run_summary(const ReportModel& model, const CopiedSources& sources,
                        const std::vector<std::string>& parts) {
    Json summary = summary_json("run", fmt::format("{} {}", model.run.suite, model.run.id), parts);
    clip(summary["title"], 200, 0);
    if (model.run.running) summary["live"] = true;
    const Json run = whole_run_json(model);
    SummaryCaps caps;
    for (int halvings = 0;; ++halvings) {
        summary["run"] = run_part(model, run, sources, caps);
        std::string text = summary_text(summary);
        if (text.size() < kSummaryBytes) return text;
        // The rest is the environment: a program's list of everything that it knows.
        if (halvings == 8) {
            summary["run"]["run"]["fingerprint"] = Json::object();
            return summary_text(summary);
        }
        caps = caps.halved();
    }
}

std::string page_summary(std::string_view kind, const std::string& title, const std::string& part) {
    return summary_text(summary_json(kind, title, {part}));
}

}  // namespace compat::reports
