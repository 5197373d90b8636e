// Series, quarantine and the pages of a site, from stored runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/config/settings_table.h"
#include "runner/site/blame.h"
#include "runner/site/last_night.h"
#include "runner/site/read_site.h"
#include "runner/site/write_site.h"
#include "tests/store/samples.h"
#include "tests/support/temp_tree.h"

namespace compat::site {
namespace {

using parsers::State;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class SiteTest : public testing::Test {
  protected:
    store::Store store = std::move(*store::Store::temporary());
    int second = 0;

    std::string add(const std::string& strip_of_tests, const std::string& series = "nightly",
                    bool complete = true, std::function<void(store::RunInfo&)> change = {}) {
        const std::string id = series + "-" + std::to_string(++second);
        store::RunInfo info = store::samples::run(id, second);
        info.series = series;
        info.shard.clear();
        info.repeat_of.clear();
        info.dirty = false;
        if (change) change(info);
        EXPECT_TRUE(store.begin_run(info));
        store::JobResult job = store::samples::job("a.py");
        job.record.cases.clear();
        for (std::size_t i = 0; i < strip_of_tests.size(); ++i) {
            if (strip_of_tests[i] == ' ') continue;
            const bool failed = strip_of_tests[i] == 'F';
            auto& test = job.record.cases.emplace_back(store::samples::test(
                "a.py::t" + std::to_string(i), failed ? State::failed : State::passed));
            if (failed) test.failure = store::samples::failure("no");
        }
        EXPECT_TRUE(store.save_job(id, job));
        EXPECT_TRUE(store.finish_run(id, store::samples::end(second + 1, complete)));
        return id;
    }
    std::vector<Series> series() { return series_of(*store.runs()); }
};

TEST_F(SiteTest, APartOfTheSuiteHasASeriesOfItsOwnUnlessItRanOnceBesideOthers) {
    const auto run = [&](const char* strip, const Subset& subset) {
        return add(strip, "nightly", true, [&](auto& info) {
            info.column.clear();
            info.subset = subset;
        });
    };
    const std::string whole = run("..", {});
    const std::string once = run(".", {"a.py"});
    EXPECT_THAT(series(), ElementsAre(testing::Property(&Series::run_ids, ElementsAre(whole))));
    const std::string twice = run(".", {"a.py"});
    EXPECT_THAT(series(), testing::UnorderedElementsAre(
                              testing::Property(&Series::run_ids, ElementsAre(whole)),
                              testing::Property(&Series::run_ids, ElementsAre(once, twice))));
    for (const Series& each : series())
        EXPECT_EQ(each.column, each.newest().id == whole
                                   ? "mps (simulated), masquerade"
                                   : "mps (simulated), masquerade, only a.py");
    EXPECT_THAT((*series_until(store, twice))->run_ids(), ElementsAre(once, twice));
}

// The list is of runs that were stored before they had a subset: a new switch does not belong
// there.
TEST(SubsetOf, OlderSwitchesAreThoseOfTheSettings) {
    for (const auto& row : config::kSettings)
        if (!row.flag.empty())
            EXPECT_EQ(had_no_value(config::long_flag(row)), config::is_switch(row)) << row.flag;
}

TEST_F(SiteTest, PartsOfNoWholeRunAndColumnsOfAMatrixAreSeries) {
    add(".", "nightly", true, [](auto& info) {
        info.column = "";
        info.subset = {"a.py"};
    });
    add(".", "nightly", true, [](auto& info) {
        info.column = "";
        info.subset = {"b.py"};
    });
    EXPECT_THAT(series(), SizeIs(2));
    add(".", "matrix", true, [](auto& info) { info.subset.clear(); });
    add(".", "matrix", true, [](auto& info) { info.subset = {"pipelines"}; });
    EXPECT_THAT(series(), SizeIs(3));
}

TEST_F(SiteTest, ASeriesIsTheCompleteRunsThatAreComparable) {
    add(".");
    add(".", "other", true, [](auto& info) { info.column = "b"; });
    add(".", "nightly", true, [](auto& info) { info.torch = "2.15.0"; });
    const std::string open = add(".", "nightly", false);
    add(".", "nightly", true, [](auto& info) { info.shard = "1/2"; });
    add(".", "nightly", true, [](auto& info) { info.keep_going = true; });
    const auto all = series();
    ASSERT_THAT(all, SizeIs(2));
    EXPECT_EQ(all[0].column, "b");
    EXPECT_EQ(all[1].column, "mps 15 (simulated)");
    EXPECT_THAT(all[1].run_ids(), ElementsAre("nightly-1", "nightly-3"));
    EXPECT_THAT(all[1].versions, ElementsAre(0u, 1u));
    EXPECT_EQ(all[1].torch, "2.15.0");
    EXPECT_EQ(all[1].unfinished, open);
}

TEST_F(SiteTest, SeriesOfOneCellHaveTheirSeriesInTheirName) {
    add(".");
    add(".", "other");
    const auto all = series();
    EXPECT_EQ(all[0].column, "mps 15 (simulated), series nightly");
    EXPECT_EQ(all[1].column, "mps 15 (simulated), series other");
}

TEST_F(SiteTest, OnlyFlakyFailuresAreQuarantined) {
    //      flaky, broken tonight, broken for long, flaky and broken for three nights
    add("..F.");
    add("F.FF");
    add("..F.");
    add("..FF");
    add("..FF");
    const std::string tonight = add("FFFF");
    const std::vector<std::string> failed{"a.py::t3", "a.py::t2", "a.py::t1", "a.py::t0"};
    const auto quarantined_in = [&](const std::string& run) {
        return *quarantined(store, **series_until(store, run), failed);
    };
    EXPECT_THAT(quarantined_in(tonight), ElementsAre("a.py::t0"));
    add("....");  // what came later says nothing of that night
    EXPECT_THAT(quarantined_in(tonight), ElementsAre("a.py::t0"));
    EXPECT_THAT(quarantined_in(add("FFFF", "other")), IsEmpty());
    EXPECT_FALSE(series_until(store, "no-run"));
}

TEST_F(SiteTest, BlameNamesTheRunsAroundTheBreakAndWhatChanged) {
    add(".", "nightly", true, [](auto& i) { i.fingerprint = R"({"torch":{"version":"2.13"}})"; });
    add("F", "nightly", true, [](auto& i) { i.fingerprint = R"({"torch":{"version":"2.15"}})"; });
    add("F");
    const auto views = blame(store, {"a.py::t0", {}, {}});
    ASSERT_TRUE(views);
    const BlameColumn& column = views->front().columns.front();
    EXPECT_EQ(column.last_good->id, "nightly-1");
    EXPECT_EQ(column.first_bad->id, "nightly-2");
    ASSERT_THAT(column.changed->environment, SizeIs(1));
    EXPECT_EQ(column.changed->environment[0].name, "torch.version");
    EXPECT_EQ(column.error_run, "nightly-3");
    EXPECT_FALSE(blame(store, {"a.py::none", {}, {}}));
    EXPECT_FALSE(blame(store, {"a.py::t0", "no-series", {}}));
}

TEST_F(SiteTest, TheMatrixCountsWhatChanged) {
    add("....F ");
    add("..F.F.");
    add(".FF. .");
    auto site = SiteReader::open(store, "/no/results");
    ASSERT_TRUE(site);
    std::vector<std::string> pages;
    const auto view = site->matrix([&](const std::string& name, const reports::SiteTests& page) {
        pages.push_back(name);
        EXPECT_EQ(page.modules.at(0).tests.size(), 5u);
        EXPECT_EQ(page.histories.size(), 4u) << "equal histories are one";
        return Expected<void>{};
    });
    ASSERT_TRUE(view);
    EXPECT_THAT(pages, ElementsAre("suites/alpha/tests-0.html"));
    const reports::SiteCell& cell = view->cells.at(0);
    EXPECT_EQ(cell.broke, 1);
    EXPECT_EQ(cell.gone, 1);
    EXPECT_EQ(cell.added, 0);
    EXPECT_EQ(cell.fixed, 0);
    ASSERT_THAT(view->breaks, SizeIs(2));  // the newest first
    EXPECT_TRUE(view->breaks[0].is_newest);
    EXPECT_EQ(view->breaks[0].first_bad, "nightly-3");
    EXPECT_EQ(view->breaks[0].first.at(0).id, "a.py::t1");
    EXPECT_EQ(view->breaks[1].last_good, "nightly-1");
    EXPECT_THAT(view->breaks[0].first.at(0).error, testing::HasSubstr("AssertionError"));
}

TEST(LastNight, NamesTheCellsThatCouldNotRun) {
    const test::TempTree tree;
    EXPECT_THAT(last_night(tree.root()).problems, IsEmpty());
    const auto cell = [](const char* run, const char* problem) {
        return std::string(R"({"suite": "s", "column": "gpu", "torch": null, "run": )") + run +
               R"(, "problem": )" + problem + "}";
    };
    tree.write("nights/20260101-000000/summary.json",
               R"({"cells": [)" + cell("null", "\"long ago\"") + "]}");
    tree.write("nights/20260102-000000/summary.json",
               R"({"cells": [)" + cell("\"r\"", "\"not compared\"") + ", " +
                   cell("null", "\"no device\"") + ", " + cell("null", "null") + "]}");
    const auto found = last_night(tree.root()).problems;
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].suite + found[0].column + found[0].torch + found[0].why, "sgpuno device");
    tree.write("nights/20260103-000000/summary.json", "[3");
    EXPECT_THAT(last_night(tree.root()).problems, IsEmpty());
}

TEST(LastNight, HasTheVersionsOfTorchThatDiffer) {
    const test::TempTree tree;
    const auto pair = [](const char* tests) {
        return std::string(R"({"suite": "s", "column": "cpu", "older": {"torch": "2.14.1"},
                              "newer": {"torch": "2.15.0"}, "tests": [)") +
               tests + "]}";
    };
    tree.write("nights/20260101-000000/summary.json",
               R"({"torch_pairs": [)" + pair("") + ", 7, " +
                   pair(R"({"test": "t", "change": "fixed", "older": "failed", "newer": null,
                            "older_error": "E: 1", "newer_error": null}, 3)") +
                   "]}");
    const auto found = last_night(tree.root()).torch_pairs;
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].older + found[0].newer, "2.14.12.15.0");
    ASSERT_THAT(found[0].tests, SizeIs(2));
    const auto& test = found[0].tests[0];
    EXPECT_EQ(test.id + test.change + test.older + test.newer + test.older_error,
              "tfixedfailedE: 1");
    EXPECT_EQ(test.newer_error, "");
}

TEST(SiteLayout, NamesArePlainAndDiffer) {
    EXPECT_EQ(short_name("cuda (simulated)"), "cuda-simulated");
    EXPECT_EQ(short_name("../x/"), "_.-x");
    EXPECT_EQ(short_name("mps 15 (simulated)"), "mps-15-simulated");
    EXPECT_FALSE(short_name("日本").empty());
    const auto names = short_names({"a b", "A-B", "c"});
    EXPECT_NE(names.at("a b"), names.at("A-B"));
    EXPECT_EQ(names.at("c"), "c");
}

TEST(SiteLayout, EachTestIsOnOnePageAndPagesAreBounded) {
    std::vector<ModuleSize> modules{{"large.py", 100'000}};
    for (int i = 0; i < 3000; ++i) modules.push_back({"m" + std::to_string(i) + ".py", 100});
    std::map<std::string, int> pages_of;
    int of_large = 0;
    for (const TestsPage& page : tests_pages(modules)) {
        EXPECT_LT(page.modules.size() * 100, 2 * kTestsOfPage);
        for (const std::string& module : page.modules) ++pages_of[module];
        if (page.parts > 1) of_large += page.has("large.py::test_x");
    }
    EXPECT_EQ(of_large, 1);
    EXPECT_EQ(pages_of.size(), modules.size());
    EXPECT_EQ(pages_of["m7.py"], 1);
}

TEST(SiteBadge, IsEscapedAndSaysLessThanAllIsNotAll) {
    reports::SiteCell cell;
    cell.suite = "a<b>&\"";
    cell.column = "cuda";
    cell.now.rate = {reports::RateOf::exercised, 9999, 10000};
    const std::string svg = reports::badge_svg(cell);
    EXPECT_EQ(svg.find("<b>"), std::string::npos);
    EXPECT_THAT(svg, testing::HasSubstr("a&lt;b&gt;&amp;&quot; · cuda: &gt; 99.9 %"));
    cell.now.rate = {reports::RateOf::exercised, 0, 0};
    EXPECT_THAT(reports::badge_svg(cell), testing::HasSubstr("device not used"));
}

}  // namespace
}  // namespace compat::site
