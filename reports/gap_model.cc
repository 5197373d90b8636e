// Makes the views of gaps from the stored gap log: where they were met, ranked (gaps.h).

#include <algorithm>
#include <set>
#include <tuple>

#include "reports/gaps.h"
#include "reports/links.h"
#include "runner/analysis/gaps.h"
#include "runner/store/gaps.h"
#include "runner/store/store.h"

namespace compat::reports {

namespace {

// Unique over all suites.
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
                         sources.results / run.folder / "source", sources.report_folder,
                         sources.may_copy});
}

std::vector<GapSite> sites_of(const std::map<SiteKey, Site>& sites,
                              std::map<std::string, LinkResolver>& links) {
    std::vector<std::pair<SiteKey, const Site*>> sorted;
    for (const auto& [key, site] : sites) sorted.emplace_back(key, &site);
    // The suite's own lines before those of libraries, which its author cannot change.
    const auto rank = [&](const auto& entry) {
        const auto& [run, file, line] = entry.first;
        return std::pair(!links.at(run).in_suite(file), -entry.second->count);
    };
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
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

}  // namespace

std::vector<GapView> ranked_gaps(const GapSources& sources) {
    std::map<std::string, std::vector<GapHit>> hits;  // by run
    std::map<GapKey, std::map<SiteKey, Site>> sites;
    std::map<GapKey, std::map<std::string, std::set<std::string>>> diagnoses;
    std::map<std::string, LinkResolver> links;
    for (const store::CurrentHit& current : sources.hits) {
        GapHit& hit = hits[current.run].emplace_back(current.hit);
        hit.test = qualified(current);
        if (!hit.diagnosis.empty()) diagnoses[hit.key][hit.diagnosis].insert(hit.test);
        Site& site = sites[hit.key][{current.run, hit.file, hit.line}];
        site.count += hit.count;
        if (!hit.test.empty()) site.tests.insert(hit.test);
        if (!links.contains(current.run))
            links.emplace(current.run, links_of(sources.runs.at(current.run), sources));
    }
    std::vector<std::vector<GapHit>> runs;
    for (auto& [run, hits_of_run] : hits) runs.push_back(std::move(hits_of_run));
    const auto blocked = analysis::count_blocked(runs);
    std::vector<GapView> views;
    std::map<std::string_view, int> severity_rank;
    for (size_t i = 0; i < kSeverityNames.size(); ++i)
        severity_rank[kSeverityNames[i]] = static_cast<int>(i);
    for (const store::StoredGap& gap : sources.gaps) {
        GapView& view = views.emplace_back(view_of(gap));
        if (const auto at = blocked.find(view.key); at != blocked.end()) {
            view.tests = at->second.tests;
            view.unblocked_alone = at->second.unblocked_alone;
        }
        for (const auto& [words, tests] : diagnoses[view.key])
            view.diagnoses[words] = static_cast<std::int64_t>(tests.size());
        const auto at = sites.find(view.key);
        if (at == sites.end()) continue;
        for (const auto& [key, site] : at->second) view.hits += site.count;
        // Hits without a place are counted but have no site.
        at->second.erase(at->second.begin(),
                         std::find_if(at->second.begin(), at->second.end(), [](const auto& entry) {
                             return !std::get<1>(entry.first).empty();
                         }));
        view.sites = sites_of(at->second, links);
    }
    const auto rank = [&](const GapView& gap) {
        return std::tuple(-gap.unblocked_alone, -gap.tests, -gap.hits, severity_rank[gap.severity]);
    };
    // Stable: gaps of one rank keep the order of their symbols.
    std::stable_sort(views.begin(), views.end(),
                     [&](const GapView& a, const GapView& b) { return rank(a) < rank(b); });
    return views;
}

namespace {

Expected<std::vector<GapView>> ranked(const store::Store& store, GapSources sources) {
    for (const store::CurrentHit& hit : sources.hits) {
        if (sources.runs.contains(hit.run)) continue;
        const auto run = TRY(store.load_run(hit.run));
        sources.runs.emplace(hit.run, run.info);
    }
    return ranked_gaps(sources);
}

}  // namespace

Expected<std::vector<GapView>> current_gaps(const store::Store& store, const fs::path& results,
                                            const fs::path& report_folder, bool may_copy) {
    const store::GapLog log(store);
    auto gaps = TRY(log.gaps());
    auto hits = TRY(log.current_hits());
    return ranked(store, {std::move(gaps), std::move(hits), {}, results, report_folder, may_copy});
}

Expected<std::vector<GapView>> gaps_of_run(const store::Store& store, const std::string& run,
                                           const fs::path& results, const fs::path& report_folder,
                                           bool may_copy) {
    const store::GapLog log(store);
    auto gaps = TRY(log.gaps());
    const auto hits = TRY(log.hits(run));
    GapSources sources{{}, {}, {}, results, report_folder, may_copy};
    std::set<GapKey> met;
    for (const GapHit& hit : hits) {
        sources.hits.push_back({hit, {}, run});
        met.insert(hit.key);
    }
    for (store::StoredGap& gap : gaps)
        if (met.contains(gap.facts.key)) sources.gaps.push_back(std::move(gap));
    return ranked(store, std::move(sources));
}

}  // namespace compat::reports
