#include "runner/site/read_site.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "runner/analysis/comparison.h"
#include "runner/base/secrets.h"
#include "runner/site/collect_changes.h"
#include "runner/site/last_night.h"
#include "runner/store/compared_runs.h"
#include "runner/store/gaps.h"
#include "runner/store/trends.h"

namespace compat::site {

namespace {

constexpr std::size_t kRunsOfTrend = 100;
constexpr std::size_t kSignatures = 100;  // that appeared or vanished, of a cell

// Broken tests of a run by the signature of their failure.
struct Signature {
    std::int64_t tests = 0, example = 0;  // a result
    std::optional<parsers::Cause> cause;
};
using Signatures = std::map<std::string, Signature>;

Expected<Signatures> signatures_of(const store::Store& store, const std::string& run,
                                   std::map<std::string, std::int64_t>* causes) {
    Signatures all;
    const auto see = [&](const store::FailureRow& row) {
        if (causes) ++(*causes)[row.cause ? std::string(name_of(*row.cause)) : "unknown"];
        if (row.signature.empty()) return;
        Signature& one = all[row.signature];
        if (one.tests++ == 0) one = {1, row.result, row.cause};
    };
    return store::each_failure(store, run, see).map([&] { return std::move(all); });
}

// Those of `run` that `other` lacks, most tests first.
Expected<std::vector<reports::SiteSignature>> only_in(const store::Store& store, std::size_t cell,
                                                      const Signatures& run,
                                                      const Signatures& other) {
    std::vector<std::pair<const std::string*, const Signature*>> found;
    for (const auto& [text, one] : run)
        if (!other.contains(text)) found.emplace_back(&text, &one);
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.second->tests > b.second->tests;
    });
    if (found.size() > kSignatures) found.resize(kSignatures);
    std::vector<std::int64_t> results;
    for (const auto& [text, one] : found) results.push_back(one->example);
    auto tests = TRY(store::tests_of_results(store, results));
    const auto details = TRY(store::result_details(store, results));
    const auto secrets = own_secret_values();
    std::vector<reports::SiteSignature> all;
    for (std::size_t i = 0; i < found.size(); ++i)
        all.push_back({cell, mask_secrets(*found[i].first, secrets),
                       found[i].second->cause ? std::string(name_of(*found[i].second->cause)) : "",
                       mask_secrets(details[i].key_line, secrets), std::move(tests[i]),
                       found[i].second->tests});
    return all;
}

reports::SiteModule::Counts counts_of(const store::ModuleCounts& module, reports::RateOf of) {
    reports::SiteModule::Counts counts;
    counts.there = true;
    counts.seconds = module.seconds;
    std::int64_t good = 0;
    for (std::size_t i = 0; i < module.states.size(); ++i) {
        const auto kind = analysis::kind_of(static_cast<parsers::State>(i));
        counts.tests += module.states[i];
        if (kind == analysis::StateKind::good) good += module.states[i];
        if (kind == analysis::StateKind::broken) counts.broken += module.states[i];
    }
    counts.rate = of == reports::RateOf::exercised
                      ? reports::SiteRate{of, module.exercised_good,
                                          module.exercised_good + module.exercised_broken}
                      : reports::SiteRate{of, good, good + counts.broken};
    return counts;
}

void append(auto& to, auto&& from) { std::move(from.begin(), from.end(), std::back_inserter(to)); }

}  // namespace

Expected<SiteReader> SiteReader::open(const store::Store& store, fs::path results) {
    SiteReader site(store, std::move(results));
    auto runs = TRY(store.runs());
    const auto gaps = TRY(store::GapLog(store).gaps());
    for (const store::StoredGap& gap : gaps) {
        ++site.gaps_opened_[gap.first_seen];
        if (gap.closed_by) ++site.gaps_closed_[*gap.closed_by];
    }
    for (Series& series : series_of(std::move(runs))) {
        if (site.suites_.empty() || site.suites_.back().name != series.suite)
            site.suites_.push_back({series.suite, {}, {}, {}, 0, {}});
        site.suites_.back().series.push_back(std::move(series));
    }
    std::vector<std::string> names;
    for (const SiteSuite& suite : site.suites_) names.push_back(suite.name);
    const auto folders = short_names(names);
    std::size_t cells = 0;
    for (SiteSuite& suite : site.suites_) {
        suite.folder = fmt::format("suites/{}/", folders.at(suite.name));
        suite.first_cell = cells;
        cells += suite.series.size();
        for (const Series& series : suite.series) {
            const store::RunSummary& newest = series.newest();
            std::string report;
            std::error_code error;
            if (const fs::path folder = site.results_ / newest.folder;
                fs::is_regular_file(folder / "report.html", error)) {
                report = fmt::format("runs/{}/report.html", newest.id);
                site.published_.emplace(newest.id, folder);
            }
            reports::SiteCell cell;
            cell.suite = suite.name;
            cell.page = suite.folder + "index.html";
            cell.column = series.column;
            cell.torch = series.torch;
            cell.way = series.way;
            cell.series = newest.series;
            cell.unfinished = series.unfinished;
            cell.now = site_run(newest, std::move(report));
            if (series.runs.size() > 1) cell.before = site_run(series.runs.end()[-2]);
            suite.cells.push_back(std::move(cell));
        }
    }
    site.name_badges(site.suites_);
    for (SiteSuite& suite : site.suites_) TRY(site.read_pages(suite));
    return site;
}

// The column's badge is that of its newest run; with several versions of torch each has its own,
// too.
void SiteReader::name_badges(std::vector<SiteSuite>& suites) {
    for (std::size_t at = 0; at < suites.size(); ++at) {
        SiteSuite& suite = suites[at];
        std::map<std::string, std::vector<std::size_t>> columns;
        for (std::size_t cell = 0; cell < suite.cells.size(); ++cell)
            columns[suite.cells[cell].column].push_back(cell);
        std::vector<std::string> names;
        for (const auto& [column, cells] : columns) {
            names.push_back(column);
            if (cells.size() > 1)
                for (const std::size_t cell : cells)
                    names.push_back(fmt::format("{} torch {}", column, suite.cells[cell].torch));
        }
        const auto files = short_names(names);
        const std::string folder = "badge/" + suite.folder.substr(std::string("suites/").size());
        const auto add = [&](const std::string& name, std::size_t cell) {
            badges_.push_back({folder + files.at(name) + ".svg", at, cell});
            suite.cells[cell].badge = badges_.back().file;
        };
        for (const auto& [column, cells] : columns) {
            add(column, *std::max_element(cells.begin(), cells.end(), [&](auto a, auto b) {
                    return suite.cells[a].now.started < suite.cells[b].now.started;
                }));
            if (cells.size() > 1)
                for (const std::size_t cell : cells)
                    add(fmt::format("{} torch {}", column, suite.cells[cell].torch), cell);
        }
    }
}

Expected<void> SiteReader::read_pages(SiteSuite& suite) const {
    std::map<std::string, std::int64_t> tests;
    for (const Series& series : suite.series)
        for (std::size_t age = 1; age <= std::min<std::size_t>(2, series.runs.size()); ++age) {
            const auto modules = TRY(store::module_counts(store_, series.runs.end()[-age].id));
            for (const store::ModuleCounts& module : modules) {
                std::int64_t own = -module.rowless;
                for (const std::int64_t count : module.states) own += count;
                auto& most = tests[module.path];
                most = std::max(most, own);
            }
        }
    std::vector<ModuleSize> sizes;
    for (const auto& [path, count] : tests) sizes.push_back({path, count});
    suite.pages = tests_pages(sizes);
    return {};
}

Expected<reports::SiteView> SiteReader::matrix(const SeePage& see) {
    reports::SiteView view;
    auto night = last_night(results_);
    view.problems = std::move(night.problems);
    view.torch_pairs = std::move(night.torch_pairs);
    ChangeCollector changes(view);
    for (SiteSuite& suite : suites_) {
        for (const reports::SiteCell& cell : suite.cells) view.cells.push_back(cell);
        TestsReader reader(store_, suite.series, suite.cells);
        TRY(reader.begin());
        for (const TestsPage& page : suite.pages) {
            const std::string name = suite.folder + page.name;
            auto read = TRY(reader.read(page, [&](const ReadTest& test) {
                changes.add(suite.first_cell, suite.series[test.cell], name, test);
            }));
            if (!see) continue;
            read.suite = suite.name;
            if (page.parts > 1)
                for (const TestsPage& other : suite.pages)
                    if (other.parts > 1 && other.modules == page.modules)
                        read.parts.push_back(other.name);
            TRY(see(name, read));
        }
        TRY(changes.close_suite(reader, suite.first_cell, suite.series));
        for (std::size_t cell = 0; cell < suite.series.size(); ++cell) {
            const Series& series = suite.series[cell];
            const std::size_t at = suite.first_cell + cell;
            const std::size_t runs = series.runs.size();
            const auto id = [&](std::size_t age) {
                return runs > age ? series.runs[runs - 1 - age].id : std::string{};
            };
            for (const auto& [to, age] : {std::pair(&view.trends, 0), {&view.trends_before, 1}}) {
                auto made =
                    TRY(id(age).empty() ? reports::SiteRunTrend{} : trend(id(age), id(age + 1)));
                to->push_back(std::move(made));
            }
            if (runs < 2) continue;
            const auto now = TRY(signatures_of(store_, id(0), nullptr));
            const auto before = TRY(signatures_of(store_, id(1), nullptr));
            auto appeared = TRY(only_in(store_, at, now, before));
            auto vanished = TRY(only_in(store_, at, before, now));
            append(view.appeared, std::move(appeared));
            append(view.vanished, std::move(vanished));
        }
    }
    changes.finish();
    auto gaps = TRY(reports::current_gaps(store_, results_, results_ / "gaps", /*may_copy=*/false));
    // Ranked by the tests that each blocks.
    std::stable_sort(gaps.begin(), gaps.end(),
                     [](const auto& a, const auto& b) { return a.tests > b.tests; });
    view.gaps = std::move(gaps);
    return view;
}

Expected<reports::SiteRunTrend> SiteReader::trend(const std::string& run,
                                                  const std::string& before) const {
    reports::SiteRunTrend trend;
    const auto flaky = TRY(store::flaky_results(store_, run));
    trend.flaky = static_cast<std::int64_t>(flaky.size());
    const auto now = TRY(signatures_of(store_, run, &trend.causes));
    if (!before.empty()) {
        const auto old = TRY(signatures_of(store_, before, nullptr));
        for (const auto& [text, one] : now) trend.new_signatures += !old.contains(text);
        for (const auto& [text, one] : old) trend.gone_signatures += !now.contains(text);
    }
    const auto count = [&](const std::map<std::string, std::int64_t>& gaps) {
        const auto at = gaps.find(run);
        return at == gaps.end() ? 0 : at->second;
    };
    trend.gaps_opened = count(gaps_opened_);
    trend.gaps_closed = count(gaps_closed_);
    return trend;
}

Expected<reports::SuiteView> SiteReader::suite(const SiteSuite& suite) const {
    reports::SuiteView view{suite.name, suite.cells, {}, {}};
    std::unordered_map<std::string_view, const std::string*> page_of;
    for (const TestsPage& page : suite.pages)
        if (page.part == 0)
            for (const std::string& module : page.modules) page_of.emplace(module, &page.name);
    std::map<std::string, reports::SiteModule> modules;
    for (std::size_t cell = 0; cell < suite.series.size(); ++cell) {
        const auto counts = TRY(store::module_counts(store_, suite.series[cell].newest().id));
        for (const store::ModuleCounts& each : counts) {
            reports::SiteModule& module = modules[each.path];
            module.cells.resize(suite.series.size());
            module.cells[cell] = counts_of(each, suite.cells[cell].now.rate.of);
        }
        const auto& runs = suite.series[cell].runs;
        auto& points = view.history.emplace_back();
        for (std::size_t i = runs.size() - std::min(runs.size(), kRunsOfTrend); i < runs.size();
             ++i) {
            auto its = TRY(trend(runs[i].id, i > 0 ? runs[i - 1].id : std::string{}));
            points.push_back(
                {i + 1 == runs.size() ? suite.cells[cell].now : site_run(runs[i]), std::move(its)});
        }
    }
    for (auto& [path, module] : modules) {
        module.path = path;
        if (const auto page = page_of.find(path); page != page_of.end())
            module.page = *page->second;
        view.modules.push_back(std::move(module));
    }
    return view;
}

Expected<reports::SiteTests> SiteReader::tests(const SiteSuite& suite,
                                               const TestsPage& page) const {
    TestsReader reader(store_, suite.series, suite.cells);
    TRY(reader.begin());
    auto read = TRY(reader.read(page, [](const ReadTest&) {}));
    read.suite = suite.name;
    if (page.parts > 1)
        for (const TestsPage& other : suite.pages)
            if (other.parts > 1 && other.modules == page.modules) read.parts.push_back(other.name);
    return read;
}

}  // namespace compat::site
