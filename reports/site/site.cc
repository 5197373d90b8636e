#include "reports/site/site.h"

#include "reports/gap_parts.h"
#include "reports/html/summary.h"
#include "reports/json_parts.h"
#include "runner/base/names.h"

namespace compat::reports {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kErrorBytes = 300, kValueBytes = 200;

std::string clipped(std::string_view text, std::size_t most) {
    return text.size() > most ? std::string(first_bytes(text, most)) + "…" : std::string(text);
}

Json rate_json(const SiteRate& rate) {
    return Json::array({kRateNames[static_cast<std::size_t>(rate.of)], rate.good, rate.total});
}

Json run_of(const SiteRun& run) {
    return {{"id", run.id},
            {"started", iso8601(run.started)},
            {"torch", run.torch},
            {"commit", run.commit},
            {"report", or_null(run.report)},
            {"rate", rate_json(run.rate)},
            {"states", Json(run.states)},
            {"duration_s", run.duration_s}};
}

// In a list of runs of a page of tests.
Json short_run(const SiteRun& run) {
    return Json::array({run.id, iso8601(run.started), run.torch, run.commit, run.report});
}

Json trend_json(const SiteRunTrend& trend) {
    return {{"flaky", trend.flaky},
            {"new_signatures", trend.new_signatures},
            {"gone_signatures", trend.gone_signatures},
            {"gaps_opened", trend.gaps_opened},
            {"gaps_closed", trend.gaps_closed},
            {"causes", Json(trend.causes)}};
}

Json cell_json(const SiteCell& cell) {
    return {
        {"suite", cell.suite},     {"page", cell.page},
        {"column", cell.column},   {"torch", cell.torch},
        {"way", cell.way},         {"series", cell.series},
        {"badge", cell.badge},     {"unfinished", or_null(cell.unfinished)},
        {"now", run_of(cell.now)}, {"before", cell.before ? run_of(*cell.before) : Json(nullptr)},
        {"broke", cell.broke},     {"fixed", cell.fixed},
        {"flaky", cell.flaky},     {"added", cell.added},
        {"gone", cell.gone}};
}

Json test_json(const SiteTest& test) {
    return {{"cell", test.cell},
            {"id", test.id},
            {"page", test.page},
            {"error", or_null(clipped(test.error, kErrorBytes))}};
}

Json environment_json(const std::vector<analysis::EnvironmentChange>& environment) {
    return list_of(environment, [](const analysis::EnvironmentChange& change) {
        const auto value = [](const std::optional<std::string>& text) {
            return text ? Json(clipped(*text, kValueBytes)) : Json(nullptr);
        };
        return Json::array({change.name, value(change.baseline), value(change.run)});
    });
}

Json break_json(const SiteBreak& group) {
    return {{"cell", group.cell},
            {"first_bad", group.first_bad},
            {"last_good", or_null(group.last_good)},
            {"since", iso8601(group.since)},
            {"newest", group.is_newest},
            {"commit_before", or_null(group.commit_before)},
            {"commit", or_null(group.commit)},
            {"known", group.known},
            {"environment", environment_json(group.environment)},
            {"tests", group.tests},
            {"first", list_of(group.first, test_json)}};
}

Json signature_json(const SiteSignature& one) {
    return {{"cell", one.cell},
            {"cause", or_null(one.cause)},
            {"key_line", clipped(one.key_line.empty() ? one.signature : one.key_line, kErrorBytes)},
            {"example", one.example},
            {"tests", one.tests}};
}

Json torch_pair_json(const SiteTorchPair& pair) {
    const auto test = [](const SiteTorchPair::Test& one) {
        return Json::array({one.id, one.change, or_null(one.older), or_null(one.newer),
                            clipped(one.older_error, kErrorBytes),
                            clipped(one.newer_error, kErrorBytes)});
    };
    return {{"suite", pair.suite},
            {"column", pair.column},
            {"older", pair.older},
            {"newer", pair.newer},
            {"tests", list_of(pair.tests, test)}};
}

Json ledger_json(const SiteHistory& history) {
    const analysis::Ledger& ledger = history.ledger;
    return Json::array({history.strip, name_of(ledger.standing), ledger.since,
                        or_null(ledger.last_good), or_null(ledger.first_bad), ledger.flips,
                        ledger.ran, ledger.retried, ledger.flaky, ledger.window,
                        history.current ? 1 : 0});
}

Json module_tests(const SiteTests::Module& module) {
    const std::string prefix = module.path + "::";
    Json names = Json::array();
    for (const std::string& id : module.tests)  // "": the rest of the id stands alone
        names.push_back(id.starts_with(prefix) ? id.substr(prefix.size()) : "\n" + id);
    Json errors = Json::array();
    for (const auto& of_cell : module.errors) {
        Json texts = Json::object();
        for (const auto& [test, text] : of_cell)
            texts[std::to_string(test)] = clipped(text, kErrorBytes);
        errors.push_back(std::move(texts));
    }
    return {{"path", module.path},
            {"names", std::move(names)},
            {"histories", Json(module.histories)},
            {"errors", std::move(errors)}};
}

Json counts_of(const SiteModule::Counts& counts) {
    if (!counts.there) return nullptr;
    return Json::array({rate_json(counts.rate), counts.tests, counts.broken, counts.seconds});
}

}  // namespace

char strip_letter(parsers::State state, bool retried) {
    // As on the terminal (runner/display/history_strip.h); in the order of the states.
    constexpr std::string_view kLetters = ".FEsxXCT-";
    static_assert(kLetters.size() == parsers::kStateNames.size());
    return retried ? 'r' : kLetters[static_cast<std::size_t>(state)];
}

void site_parts(const SiteView& view, const PartSink& sink) {
    constexpr std::string_view kBreaks = "breaks", kLists = "lists", kGaps = "gaps";
    sink(kBreaks, compact(list_of(view.breaks, break_json)));
    const auto flaky = [](const SiteFlaky& one) {
        return Json{{"test", test_json(one.test)},
                    {"flaky", one.flaky},
                    {"window", one.window},
                    {"strip", one.strip}};
    };
    const auto growth = [](const SiteGrowth& one) {
        return Json{
            {"test", test_json(one.test)}, {"before_s", one.before_s}, {"now_s", one.now_s}};
    };
    sink(kLists, compact({{"fixed", list_of(view.fixed, test_json)},
                          {"flaky", list_of(view.flaky, flaky)},
                          {"growth", list_of(view.growth, growth)},
                          {"appeared", list_of(view.appeared, signature_json)},
                          {"vanished", list_of(view.vanished, signature_json)},
                          {"trends", list_of(view.trends, trend_json)},
                          {"trends_before", list_of(view.trends_before, trend_json)}}));
    // Links of places that lead to files beside a run's report are not part of a site.
    Json gaps = list_of(view.gaps, gap_json);
    for (Json& gap : gaps)
        for (Json& site : gap["sites"])
            if (site["url"].is_string() && !site["url"].get_ref<std::string&>().starts_with("http"))
                site["url"] = nullptr;
    sink(kGaps, compact(gaps));
    auto summary = summary_json("site", "Compatibility",
                                {std::string(kBreaks), std::string(kLists), std::string(kGaps)});
    const auto problem = [](const SiteProblem& one) {
        return Json{{"suite", one.suite},
                    {"column", one.column},
                    {"torch", one.torch},
                    {"why", clipped(one.why, kErrorBytes)}};
    };
    summary["site"] = {{"root", ""},
                       {"cells", list_of(view.cells, cell_json)},
                       {"problems", list_of(view.problems, problem)},
                       {"torch_pairs", list_of(view.torch_pairs, torch_pair_json)}};
    sink(kSummaryPart, summary_text(summary));
}

void suite_parts(const SuiteView& view, const PartSink& sink) {
    constexpr std::string_view kModules = "modules", kHistory = "history";
    sink(kModules, compact(list_of(view.modules, [](const SiteModule& module) {
             return Json::array({module.path, module.page, list_of(module.cells, counts_of)});
         })));
    sink(kHistory, compact(list_of(view.history, [](const std::vector<SuiteView::Point>& points) {
             return list_of(points, [](const SuiteView::Point& point) {
                 Json json = run_of(point.run);
                 json["trend"] = trend_json(point.trend);
                 return json;
             });
         })));
    auto summary =
        summary_json("site-suite", view.suite, {std::string(kModules), std::string(kHistory)});
    summary["site"] = {
        {"root", "../../"}, {"suite", view.suite}, {"cells", list_of(view.cells, cell_json)}};
    sink(kSummaryPart, summary_text(summary));
}

void tests_parts(const SiteTests& view, const PartSink& sink) {
    constexpr std::string_view kTests = "tests";
    Json older = Json::array();
    for (const auto& of_cell : view.older) {
        Json runs = Json::object();
        for (const auto& [at, run] : of_cell) runs[std::to_string(at)] = short_run(run);
        older.push_back(std::move(runs));
    }
    sink(kTests, compact({{"runs", list_of(view.runs,
                                           [](const std::vector<SiteRun>& runs) {
                                               return list_of(runs, short_run);
                                           })},
                          {"first_run", Json(view.first_run)},
                          {"older", std::move(older)},
                          {"changed", list_of(view.changed,
                                              [](const SiteTests::Changed& one) {
                                                  return Json::array(
                                                      {one.cell, one.good, one.bad, one.known,
                                                       environment_json(one.environment)});
                                              })},
                          {"histories", list_of(view.histories, ledger_json)},
                          {"modules", list_of(view.modules, module_tests)}}));
    auto summary = summary_json("site-tests", view.suite + ": tests", {std::string(kTests)});
    summary["site"] = {{"root", "../../"},
                       {"suite", view.suite},
                       {"parts", Json(view.parts)},
                       {"cells", list_of(view.cells, cell_json)}};
    sink(kSummaryPart, summary_text(summary));
}

}  // namespace compat::reports
