#include "runner/serve/page_makers.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <map>

#include "reports/gaps.h"
#include "reports/html/chunks.h"
#include "reports/html/page.h"
#include "reports/html/served.h"
#include "runner/archive/results.h"
#include "runner/archive/run_folder.h"
#include "runner/archive/shards.h"
#include "runner/base/files/run_folder_name.h"
#include "runner/base/secrets.h"
#include "runner/compare/baseline.h"
#include "runner/display/device_lines.h"
#include "runner/run/reporting/reporting.h"
#include "runner/http/address.h"
#include "runner/site/read_site.h"
#include "runner/store/comparable.h"

namespace compat::serve {

using http::encoded_component;

namespace {

// Its parts are given one by one, the summary last.
class PageBuilder {
  public:
    explicit PageBuilder(std::string address) : address_(std::move(address)) {}

    void add(std::string_view name, const std::string& json) {
        if (name == reports::kSummaryPart)
            page.document = make_part(reports::served_page(json, address_ + "parts"));
        page.parts.insert_or_assign(std::string(name), make_part(json));
    }
    // Call it before the runs are read: one that ends in between is then read again.
    void watch(std::vector<fs::path> run_folders) {
        page.watched = std::move(run_folders);
        page.stamp = stamp_of(page.watched);
        page.live =
            std::any_of(page.watched.begin(), page.watched.end(), archive::RunLock::is_held);
    }
    [[nodiscard]] reports::PartSink sink() {
        return [this](std::string_view name, const std::string& json) { add(name, json); };
    }

    MadePage page;

  private:
    std::string address_;
};

Expected<MadePage> page_of_summary(std::string address, const std::string& summary) {
    PageBuilder builder(std::move(address));
    builder.add(reports::kSummaryPart, summary);
    builder.page.live = true;
    return std::move(builder.page);
}

MadePage redirection_to(std::string address) {
    MadePage page;
    page.redirect = std::move(address);
    page.live = true;  // the next one may be elsewhere
    return page;
}

bool is_running(const store::RunSummary& run, const fs::path& results) {
    return !(run.end && run.end->complete) && archive::RunLock::is_held(results / run.folder);
}

}  // namespace

std::string run_address(std::string_view run) {
    return fmt::format("/runs/{}/", encoded_component(run));
}

std::string comparison_address(std::string_view baseline, std::string_view run) {
    return fmt::format("/compare/{}/{}/", encoded_component(baseline), encoded_component(run));
}

std::string test_address(std::string_view test) {
    return fmt::format("/tests/{}/", encoded_component(test));
}

Expected<store::Store> PageMakers::open() const {
    return archive::existing_results(results_).and_then([](const fs::path& folder) {
        return store::Store::open(folder / "runner.db", store::Store::Mode::read_only);
    });
}

Expected<MadePage> PageMakers::runs() const {
    const auto store = open();
    if (!store) return tl::unexpected(store.error());
    const auto stored = TRY(store->runs());
    std::vector<reports::ListedRun> listed(std::min(stored.size(), kListedRuns));
    struct Past {
        std::string id, repeat_of;
        Subset subset;
    };
    std::map<store::ComparableKey, std::list<Past>> complete_runs;  // newest first
    for (std::size_t i = stored.size(); i-- > 0;) {                 // oldest first
        const store::RunSummary& run = stored[i];
        std::list<Past>& past = complete_runs[store::comparable_key(run)];
        const auto baseline = store::baseline_among(past, run);
        const bool complete = run.end && run.end->complete;
        if (i < listed.size())
            listed[i] = {{run.id, run.started, complete, run.states},
                         run.suite,
                         run.series,
                         display::describe_way(run),
                         run.torch,
                         run.end ? run.end->duration_s : 0,
                         is_running(run, results_),
                         run.modules,
                         run_address(run.id),
                         baseline == past.end() ? "" : comparison_address(baseline->id, run.id)};
        if (complete) past.push_front({run.id, run.repeat_of, run.subset});
    }
    return page_of_summary("/", reports::runs_summary(listed));
}

Expected<MadePage> PageMakers::run(const std::string& name) const {
    const auto store = TRY(open());
    const auto id = TRY(archive::find_run(store, results_, name));
    if (id != name) return redirection_to(run_address(id));
    const fs::path folder = results_ / run_folder_name(id);
    PageBuilder builder(run_address(id));
    builder.watch({folder});
    const auto stored = TRY(store.load_run(id));
    std::unique_ptr<reports::Renderer> renderer;
    const run::RunReceiver receiver{
        [&](reports::ReportModel& model, reports::PageSources sources) -> Expected<void> {
            model.run.running = builder.page.live;
            // Its page is made again and again.
            if (builder.page.live) sources.excerpts = {};
            renderer = reports::run_parts(model, std::move(sources), builder.sink());
            return {};
        },
        [&](const reports::ModuleView& module) { renderer->add(module); },
        [&]() -> Expected<void> {
            renderer->finish();
            return {};
        },
        /*end=*/[] {},
        /*may_copy=*/false};
    // The addresses of a run's files are as in its folder.
    return run::visit_run(store, results_, stored, folder, receiver)
        .map([&](const reports::ReportModel&) { return std::move(builder.page); });
}

Expected<MadePage> PageMakers::comparison(const std::string& baseline,
                                          const std::string& run) const {
    const auto store = TRY(open());
    PageBuilder builder(comparison_address(baseline, run));
    std::vector<std::string> ids;
    std::vector<fs::path> folders;
    for (const std::string& name : {baseline, run}) {
        const auto id = TRY(archive::find_run(store, results_, name));
        ids.push_back(id);
        folders.push_back(results_ / run_folder_name(id));
    }
    if (ids[0] != baseline || ids[1] != run)
        return redirection_to(comparison_address(ids[0], ids[1]));
    builder.watch(std::move(folders));
    const compare::RunDatabase database{store, results_};
    return compare::compare(database, database, {ids, compare::Chosen::by_past, {}})
        .map([&](const reports::CompareView& view) {
            reports::compare_parts(view, builder.sink());
            return std::move(builder.page);
        });
}

Expected<MadePage> PageMakers::test(const std::string& id) const {
    const auto store = open();
    if (!store) return tl::unexpected(store.error());
    auto entries = TRY(store->case_history(id));
    if (entries.empty())
        return fail(ErrorKind::usage, fmt::format("no stored run has the test {}", id),
                    "the list of runs leads to each run's tests");
    if (entries.size() > kListedResults) entries.resize(kListedResults);
    const std::vector<std::string> secrets = own_secret_values();
    std::vector<reports::ListedResult> results;
    for (const store::HistoryEntry& entry : entries) {
        const auto run = TRY(store->load_run(entry.run));
        const store::RunInfo& info = run.info;
        results.push_back(
            {entry.run, run_address(entry.run) + "#/test/" + encoded_component(id), entry.started,
             info.series, display::describe_way(info), entry.state, entry.duration_s,
             mask_secrets(entry.key_line.empty() ? entry.reason : entry.key_line, secrets)});
    }
    return page_of_summary(test_address(id), reports::test_summary(id, results));
}

Expected<MadePage> PageMakers::gap_log() const {
    const auto store = TRY(open());
    // Addresses are as in the results folder: a link to runs/ID/source leads from /gaps/ there.
    return reports::current_gaps(store, results_, results_ / "gaps", /*may_copy=*/false)
        .map([](const std::vector<reports::GapView>& gaps) {
            PageBuilder builder("/gaps/");
            reports::gap_log_parts(gaps, builder.sink());
            builder.page.live = true;
            return std::move(builder.page);
        });
}

Expected<MadePage> PageMakers::site(const std::string& name) const {
    const auto store = TRY(open());
    PageBuilder builder("/site/" + name + "/");
    builder.watch({results_ / "latest"});  // changes with each run that ends
    const auto read = store.snapshot([&]() -> Expected<void> {
        auto site = site::SiteReader::open(store, results_);
        if (!site) return tl::unexpected(site.error());
        if (name == "index.html")
            return site->matrix().map(
                [&](const reports::SiteView& view) { reports::site_parts(view, builder.sink()); });
        for (const site::SiteBadge& badge : site->badges())
            if (badge.file == name) {
                builder.page.document =
                    make_part(reports::badge_svg(site->suites()[badge.suite].cells[badge.cell]));
                builder.page.type = "image/svg+xml";
                return {};
            }
        for (const site::SiteSuite& suite : site->suites()) {
            if (name == suite.folder + "index.html")
                return site->suite(suite).map([&](const reports::SuiteView& view) {
                    reports::suite_parts(view, builder.sink());
                });
            for (const site::TestsPage& page : suite.pages)
                if (name == suite.folder + page.name)
                    return site->tests(suite, page).map([&](const reports::SiteTests& view) {
                        reports::tests_parts(view, builder.sink());
                    });
        }
        return fail(ErrorKind::usage, fmt::format("the site has no page {}", name),
                    "the matrix leads to every suite and test");
    });
    if (!read) return tl::unexpected(read.error());
    return std::move(builder.page);
}

Expected<fs::path> PageMakers::folder_of(const std::string& run) const {
    const auto store = open();
    if (!store) return tl::unexpected(store.error());
    return store->load_run(run).map(
        [&](const store::StoredRun& stored) { return results_ / stored.info.folder; });
}

}  // namespace compat::serve
