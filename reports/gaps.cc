#include "reports/gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "reports/gap_parts.h"
#include "reports/links.h"
#include "reports/markdown_text.h"
#include "runner/analysis/gaps.h"
#include "runner/store/gaps.h"

namespace compat::reports {

namespace {

using Json = nlohmann::ordered_json;

// A test's name over all suites.
std::string qualified(const store::CurrentHit& hit) {
    return hit.hit.test.empty() ? std::string{} : hit.suite + "\n" + hit.hit.test;
}

struct Site {
    std::int64_t count = 0;
    std::set<std::string> tests;
};
using SiteKey = std::tuple<std::string, std::string, int>;  // run, file, line

LinkResolver links_of(const store::RunInfo& run, const GapSources& sources) {
    return LinkResolver({run.root, run.links_base, run.remote, run.commit, run.dirty,
                         sources.results / run.folder / "source", sources.report_folder});
}

std::vector<GapSite> sites_of(const std::map<SiteKey, Site>& sites,
                              std::map<std::string, LinkResolver>& links) {
    std::vector<std::pair<SiteKey, const Site*>> sorted;
    for (const auto& [key, site] : sites) sorted.emplace_back(key, &site);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
        return a.second->count > b.second->count;
    });
    if (sorted.size() > kGapSites) sorted.resize(kGapSites);
    std::vector<GapSite> views;
    for (const auto& [key, site] : sorted) {
        const auto& [run, file, line] = key;
        GapSite& view = views.emplace_back();
        LinkResolver& resolver = links.at(run);
        view.file = resolver.shown(file);
        view.line = line;
        if (resolver.in_suite(file)) view.url = resolver.resolve({file, line});
        view.count = site->count;
        view.tests = static_cast<std::int64_t>(site->tests.size());
    }
    return views;
}

GapView view_of(const store::StoredGap& gap) {
    GapView view;
    view.key = gap.facts.key;
    view.severity = name_of(gap.facts.severity);
    view.status = gap.status;
    view.closed_by = gap.closed_by.value_or("");
    view.equivalent = gap.facts.equivalent;
    view.description = gap.facts.description;
    view.action = gap.facts.action;
    view.issue = gap.issue;
    view.first_seen = gap.first_seen;
    view.first_torch = gap.first_torch;
    view.last_seen = gap.last_seen;
    view.last_torch = gap.last_torch;
    return view;
}

std::string target_of(const GapView& gap) {
    return gap.key.device + (gap.key.simulated ? " (simulated)" : "");
}

}  // namespace

std::vector<GapView> ranked_gaps(const GapSources& sources) {
    std::vector<GapHit> hits;
    std::map<GapKey, std::map<SiteKey, Site>> sites;
    std::map<std::string, LinkResolver> links;
    for (const store::CurrentHit& current : sources.hits) {
        GapHit& hit = hits.emplace_back(current.hit);
        hit.test = qualified(current);
        Site& site = sites[hit.key][{current.run, hit.file, hit.line}];
        site.count += hit.count;
        if (!hit.test.empty()) site.tests.insert(hit.test);
        if (!links.contains(current.run))
            links.emplace(current.run, links_of(sources.runs.at(current.run), sources));
    }
    const auto blocked = analysis::blocked_by(hits);
    std::vector<GapView> views;
    std::map<std::string_view, int> grave;
    for (size_t i = 0; i < kSeverityNames.size(); ++i) grave[kSeverityNames[i]] = static_cast<int>(i);
    for (const store::StoredGap& gap : sources.gaps) {
        GapView& view = views.emplace_back(view_of(gap));
        if (const auto at = blocked.find(view.key); at != blocked.end()) {
            view.tests = at->second.tests;
            view.unblocked_alone = at->second.unblocked_alone;
        }
        const auto at = sites.find(view.key);
        if (at == sites.end()) continue;
        for (const auto& [key, site] : at->second) view.hits += site.count;
        // What happened outside of any known place is counted and has no site.
        at->second.erase(at->second.begin(), std::find_if(at->second.begin(), at->second.end(), [](const auto& entry) {
            return !std::get<1>(entry.first).empty();
        }));
        view.sites = sites_of(at->second, links);
    }
    std::stable_sort(views.begin(), views.end(), [&](const GapView& a, const GapView& b) {
        return std::tuple(-a.unblocked_alone, -a.tests, -a.hits, grave[a.severity], std::cref(a.key.symbol)) <
               std::tuple(-b.unblocked_alone, -b.tests, -b.hits, grave[b.severity], std::cref(b.key.symbol));
    });
    return views;
}

Json gap_json(const GapView& gap) {
    const auto or_null = [](const std::string& text) {
        return text.empty() ? Json(nullptr) : Json(text);
    };
    Json sites = Json::array();
    for (const GapSite& site : gap.sites)
        sites.push_back({{"file", site.file}, {"line", site.line}, {"url", or_null(site.url)}, {"count", site.count}, {"tests", site.tests}});
    return {{"symbol", gap.key.symbol},
            {"kind", name_of(gap.key.kind)},
            {"device", gap.key.device},
            {"simulated", gap.key.simulated},
            {"severity", gap.severity},
            {"status", gap.status},
            {"closed_by", or_null(gap.closed_by)},
            {"equivalent", or_null(gap.equivalent)},
            {"description", gap.description},
            {"action", or_null(gap.action)},
            {"issue", or_null(gap.issue)},
            {"first_seen", gap.first_seen},
            {"first_torch", gap.first_torch},
            {"last_seen", gap.last_seen},
            {"last_torch", gap.last_torch},
            {"tests", gap.tests},
            {"unblocked_alone", gap.unblocked_alone},
            {"hits", gap.hits},
            {"sites", std::move(sites)}};
}

std::string gaps_json(const std::vector<GapView>& gaps) {
    Json list = Json::array();
    for (const GapView& gap : gaps) list.push_back(gap_json(gap));
    return Json{{"format", kGapsFormat}, {"gaps", std::move(list)}}.dump(
               1, ' ', false, Json::error_handler_t::replace) +
           "\n";
}

std::string gap_row(const GapView& gap) {
    std::string where;
    if (!gap.sites.empty())
        where = linked_code(fmt::format("{}:{}", gap.sites[0].file, gap.sites[0].line),
                            gap.sites[0].url);
    std::string line = "|";
    for (const std::string& text :
         {std::to_string(gap.tests), "at most " + std::to_string(gap.unblocked_alone),
          code(gap.key.symbol), std::string(name_of(gap.key.kind)), target_of(gap), gap.severity,
          gap.equivalent.empty() ? html(gap.action) : code(gap.equivalent), where})
        line += fmt::format(" {} |", cell(text));
    return line + "\n";
}

std::string gaps_markdown(const std::vector<GapView>& gaps) {
    std::string text = fmt::format("# {} gaps\n\n{}", gaps.size(), kGapTableHead);
    for (const GapView& gap : gaps) text += gap_row(gap);
    return text;
}

}  // namespace compat::reports
