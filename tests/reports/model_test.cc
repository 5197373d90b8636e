#include "reports/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/reproduce.h"
#include "tests/reports/sample_run.h"
#include "tests/support/temp_tree.h"

namespace compat::reports {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class ModelTest : public testing::Test {
  protected:
    void SetUp() override { samples::make_source(root()); }
    std::filesystem::path root() const { return folder.root() / "src"; }
    std::filesystem::path run_folder() const { return folder.root() / "run"; }
    samples::Model build() const { return samples::model(stored, run_folder()); }

    test::TempTree folder;
    samples::Run stored = samples::run(root());
};

const CaseView& find(const samples::Model& model, const std::string& name) {
    for (const ModuleView& module : model.modules)
        for (const CaseView& test : module.cases)
            if (test.id.ends_with("::" + name)) return test;
    throw std::out_of_range(name);
}

TEST_F(ModelTest, TotalsSumUpTheRecords) {
    const samples::Model model = build();
    EXPECT_EQ(model.totals.modules, 2);
    EXPECT_EQ(model.totals.collected, 12);
    EXPECT_EQ(model.totals.states, (StateCounts{3, 1, 1, 2, 1, 1, 1, 1, 1}));
    EXPECT_EQ(model.modules.at(0).states, model.totals.states);
    EXPECT_EQ(model.totals.redirected, 2);
    EXPECT_EQ(model.totals.untouched, 2);
    EXPECT_EQ(model.totals.device, 0);
    EXPECT_THAT(find(model, "test_p").marks, ElementsAre("redirected"));
    EXPECT_THAT(find(model, "test_q").marks, ElementsAre("untouched"));
    EXPECT_THAT(find(model, "test_s1").marks, IsEmpty());
    EXPECT_TRUE(model.accounting.closed);
}

TEST_F(ModelTest, PlacesInTheSourceLinkToTheForge) {
    const samples::Model model = build();
    EXPECT_EQ(find(model, "test_f").url,
              "https://forge.example/alpha/blob/0123abcd/tests/ops/test_a.py#L3");
    EXPECT_EQ(find(model, "test_f").file, "tests/ops/test_a.py");
    EXPECT_EQ(model.modules.at(0).url,
              "https://forge.example/alpha/blob/0123abcd/tests/ops/test_a.py");
    EXPECT_EQ(find(model, "test_far").url, "") << "the file has no line 99";
    const FailureView& failure = *find(model, "test_f").failure;
    ASSERT_EQ(failure.frames.size(), 2u);
    EXPECT_FALSE(failure.frames[0].in_suite);
    EXPECT_EQ(failure.frames[0].url, "");
    EXPECT_TRUE(failure.frames[1].in_suite);
    EXPECT_THAT(failure.frames[1].url, HasSubstr("test_a.py#L7"));
    // 2 modules, 12 tests, 4 failures with a frame of the suite each, 1 site of redirection, 1 of a
    // collective.
    EXPECT_EQ(model.links_total, 2 + 12 + 4 + 1 + 1);
    EXPECT_EQ(model.links_unresolved, 1);
}

TEST_F(ModelTest, CollectivesHaveFiguresOfTheRunAndLinks) {
    const CollectivesView view = build().collectives;
    ASSERT_TRUE(view.any());
    EXPECT_EQ(view.figures.steps, 10);
    ASSERT_EQ(view.sites.size(), 2u);
    EXPECT_EQ(view.sites[0].file, "tests/ops/test_a.py");
    EXPECT_THAT(view.sites[0].url, HasSubstr("test_a.py#L3"));
    EXPECT_EQ(view.sites[1].url, "") << "no line called it";
}

std::int64_t links_of(const FailureView& failure) {
    std::int64_t links = 0;
    for (const FrameView& frame : failure.frames) links += !frame.url.empty();
    for (const FailureView& also : failure.also) links += links_of(also);
    return links;
}

TEST_F(ModelTest, TheTotalOfLinksIsThatOfTheViews) {
    const samples::Model model = build();
    std::int64_t links = 0;
    for (const RedirectionView& site : model.redirections) links += !site.url.empty();
    for (const CollectiveView& site : model.collectives.sites) links += !site.url.empty();
    for (const ModuleView& module : model.modules) {
        links += !module.url.empty();
        for (const CaseView& test : module.cases) {
            links += !test.url.empty();
            if (test.failure) links += links_of(*test.failure);
            for (const SubtestView& sub : test.subtests)
                if (sub.failure) links += links_of(*sub.failure);
        }
    }
    EXPECT_EQ(model.links_total - model.links_unresolved, links);
}

TEST_F(ModelTest, FailuresCarryCommandsThatReproduceThem) {
    const samples::Model model = build();
    const auto& reproduce = find(model, "test_f").reproduce;
    ASSERT_TRUE(reproduce);
    EXPECT_EQ(reproduce->runner,
              "runner suites/alpha --root " + root().string() + " tests/ops/test_a.py::T::test_f");
    EXPECT_EQ(reproduce->plain,
              "cd " + root().string() +
                  " && env ACTIVATE_TORCH_DEVICE=1 'NOTE=it'\\''s' /venv/bin/python "
                  "-m unittest -v tests.test_f");
    for (const auto* name : {"test_f", "test_e", "test_c", "test_t"})
        EXPECT_TRUE(find(model, name).reproduce) << name;
    for (const auto* name : {"test_p", "test_s1", "test_xf"})
        EXPECT_FALSE(find(model, name).reproduce) << name;
    ASSERT_TRUE(model.modules.at(1).reproduce);
    EXPECT_THAT(model.modules.at(1).reproduce->plain, HasSubstr("-v tests/test_b.py"));
}

TEST(ReproduceCommands, NameAPathFromTheSuiteAlsoBelowPytestsRootdir) {
    const ReproduceCommands commands({{}, {}, "/suite", "pytest", "python"});
    const auto plain = [&](const char* name) {
        return commands.of("", "sub/test_q.py", name).plain;
    };
    EXPECT_THAT(plain("project/sub/test_q.py::T::test_a[x/sub/test_q.py]"),
                EndsWith("-v 'sub/test_q.py::T::test_a[x/sub/test_q.py]'"));
    EXPECT_THAT(plain("sub/test_q.py::test_a"), EndsWith("-v sub/test_q.py::test_a"));
    EXPECT_THAT(plain("project/othersub/test_q.py::test_a"),
                EndsWith("othersub/test_q.py::test_a"));
    EXPECT_THAT(plain(""), EndsWith("-v sub/test_q.py"));
}

TEST_F(ModelTest, AModuleThatCouldNotBeLoadedIsReproducedAsAWhole) {
    auto& record = stored.modules[1].attempts.emplace_back().record;
    record.path = "tests/test_b.py";
    record.outcome = parsers::ModuleOutcome::load_error;
    record.collected = 1;
    record.cases = {samples::test(root(), "tests/test_b.py", "x", 0, parsers::State::errored)};
    record.cases[0].id = "tests/test_b.py::<module>";
    record.cases[0].location = {};
    record.cases[0].pseudo = true;
    const samples::Model model = build();
    const CaseView& test = model.modules.at(1).cases.at(0);
    EXPECT_EQ(test.url, "https://forge.example/alpha/blob/0123abcd/tests/test_b.py");
    EXPECT_THAT(test.reproduce->runner, testing::EndsWith(" tests/test_b.py"));
    EXPECT_THAT(test.reproduce->plain, testing::EndsWith(" -v tests/test_b.py"));
}

TEST_F(ModelTest, ModulesThatNeverRanAreListed) {
    const samples::Model model = build();
    const ModuleView& module = model.modules.at(1);
    EXPECT_EQ(module.outcome, parsers::ModuleOutcome::not_run);
    EXPECT_EQ(module.reason, "interrupted");
    EXPECT_EQ(module.attempts, 0);
    EXPECT_EQ(module.last_known_cases, 7);
    EXPECT_FALSE(model.run.complete);
    EXPECT_EQ(model.modules_without_result, 1);
}

TEST_F(ModelTest, ASecondPassHasTheSameViews) {
    ModelBuilder builder(stored, {run_folder(), run_folder()});
    samples::Model model;
    for (const store::StoredModule& module : stored.modules) builder.add(module);
    static_cast<ReportModel&>(model) = builder.finish();
    for (const store::StoredModule& module : stored.modules)
        model.modules.push_back(builder.view(module));
    model.first_steps = first_steps(model);
    EXPECT_EQ(samples::to_json(model), samples::to_json(build()));
    EXPECT_EQ(samples::to_markdown(model), samples::to_markdown(build()));
}

TEST_F(ModelTest, RedirectionsAreCountedBySiteMostFrequentFirst) {
    const samples::Model model = build();
    ASSERT_EQ(model.redirections.size(), 2u);
    const RedirectionView& first = model.redirections[0];
    EXPECT_EQ(first.op, "aten::empty");
    EXPECT_EQ(first.from, "cuda:0");
    EXPECT_EQ(first.to, "cpu");
    EXPECT_EQ(first.file, "tests/ops/test_a.py");
    EXPECT_THAT(first.url, HasSubstr("#L1"));
    EXPECT_EQ(first.count, 6);
    EXPECT_EQ(first.tests, 2);
    EXPECT_EQ(model.redirections[1].tests, 0);
    EXPECT_EQ(model.redirections[1].url, "");
}

TEST_F(ModelTest, TheLastAttemptDecidesAndAllAreListed) {
    store::JobResult again = stored.modules[0].attempts[0];
    again.attempt = 2;
    again.record.cases = {
        samples::test(root(), "tests/ops/test_a.py", "test_f", 3, parsers::State::passed)};
    again.record.collected = 1;
    again.record.device_events.clear();
    stored.modules[0].attempts.push_back(again);
    const samples::Model model = build();
    const CaseView& test = find(model, "test_f");
    EXPECT_EQ(test.state, parsers::State::passed);
    EXPECT_TRUE(test.flaky);
    ASSERT_EQ(test.attempts.size(), 2u);
    EXPECT_EQ(test.attempts[0].state, parsers::State::failed);
    EXPECT_EQ(test.attempts[0].key_line, "AssertionError: 1 != 2");
    EXPECT_FALSE(test.failure);
    EXPECT_THAT(test.marks, ElementsAre("untouched"))
        << "devices are those of the attempt that decides";
    EXPECT_THAT(find(model, "test_p").marks, ElementsAre("redirected"));
    EXPECT_EQ(model.totals.flaky, 1);
    EXPECT_EQ(model.totals.collected, 12);
    EXPECT_EQ(model.totals.count(parsers::State::passed), 4);
    EXPECT_TRUE(model.accounting.closed);
}

TEST_F(ModelTest, ASecretIsMaskedInAllThatASuiteWrote) {
    const std::string secret = "sekret99";
    store::StoredModule& module = stored.modules[0];
    parsers::ModuleRecord& record = module.attempts[0].record;
    for (parsers::CaseRecord& test : record.cases) {
        test.reason += " " + secret;
        for (parsers::SubCase& sub : test.subcases) sub.reason = secret;
        if (test.state == State::failed || test.state == State::errored)
            test.failure = test.also.emplace_back(samples::failure(root(), "OSError", secret));
    }
    record.device_events.push_back(
        {record.cases[2].id, "refusal", "aten::mm", "mps", "", {}, 1, secret});
    record.diagnostics[0].message = secret;
    parsers::CaseRecord& again = module.diagnostics[0].record.cases[0];
    again.state = State::failed;
    again.failure = samples::failure(root(), "OSError", secret);
    module.attempts.insert(module.attempts.begin(), module.attempts[0]);  // a first attempt
    module.attempts[1].attempt = 3;
    stored.modules[1].not_run_reason = secret;
    const auto everything = [&](const std::vector<std::string>& secrets) {
        const samples::Model model = samples::model(stored, run_folder(), secrets);
        std::string text = samples::to_json(model) + samples::to_markdown(model);
        for (const ModuleView& view : model.modules)
            for (const CaseView& test : view.cases)
                for (const RefusalView& refusal : test.refusals) text += refusal.message;
        for (const CaseView& test : model.modules[0].cases)
            if (test.diagnosis)
                for (const auto& attempt : test.diagnosis->attempts) text += attempt.key_line;
        for (const FirstStep& step : model.first_steps) text += step.title;
        return text;
    };
    ASSERT_THAT(everything({}), HasSubstr(secret)) << "else this test would show nothing";
    const std::string masked = everything({secret});
    const std::size_t at = masked.find(secret);
    EXPECT_EQ(at, std::string::npos) << masked.substr(at > 200 ? at - 200 : 0, 400);
}

TEST_F(ModelTest, MismatchesNameTheirModule) {
    stored.modules[0].attempts[0].record.collected = 13;
    const samples::Model model = build();
    EXPECT_FALSE(model.accounting.closed);
    ASSERT_EQ(model.accounting.mismatches.size(), 1u);
    EXPECT_EQ(model.accounting.mismatches[0].module, "tests/ops/test_a.py");
    EXPECT_THAT(model.accounting.mismatches[0].message, HasSubstr("13"));
    EXPECT_THAT(model.accounting.mismatches[0].message, HasSubstr("12"));
}

TEST_F(ModelTest, AKilledRunHasNoExitCode) {
    stored.end.reset();
    const samples::Model model = build();
    EXPECT_FALSE(model.run.complete);
    EXPECT_FALSE(model.run.exit_code);
}

TEST_F(ModelTest, AStoredRunMakesTheSameReport) {
    auto store = store::Store::temporary();
    ASSERT_TRUE(store);
    const std::string& id = stored.info.id;
    ASSERT_TRUE(store->begin_run(stored.info));
    ASSERT_TRUE(store->plan_modules(id, {stored.modules[0].path, stored.modules[1].path}));
    ASSERT_TRUE(store->save_job(id, stored.modules[0].attempts[0]));
    ASSERT_TRUE(store->save_job(id, stored.modules[0].diagnostics[0]));
    ASSERT_TRUE(store->finish_run(id, *stored.end));
    const auto loaded = store->load_run(id);
    ASSERT_TRUE(loaded) << to_line(loaded.error());
    samples::Run again{*loaded, {}};
    ASSERT_TRUE(store->each_module(id, [&](store::StoredModule module) -> Expected<void> {
        again.modules.push_back(std::move(module));
        return {};
    }));
    EXPECT_EQ(again.info, stored.info);
    EXPECT_EQ(again.modules[0], stored.modules[0]);
    stored.modules[1].last_known_cases.reset();  // no earlier run is stored
    EXPECT_EQ(samples::to_json(samples::model(again, run_folder())), samples::to_json(build()));
}

// A test's own requests, most frequent first and bounded; those of tests that passed are not shown.
TEST_F(ModelTest, ATestThatNeedsAttentionHasItsOwnRedirections) {
    auto& record = stored.modules[0].attempts[0].record;
    const std::string failed = record.cases[2].id;
    for (int line = 1; line <= 12; ++line)
        for (const char* op : {"aten::mm", "aten::add"})
            record.device_events.push_back({failed,
                                            "redirect",
                                            op,
                                            "cuda",
                                            "cpu",
                                            {(root() / "tests/ops/test_a.py").string(), line},
                                            line});
    const samples::Model model = build();
    const auto& cases = model.modules[0].cases;
    EXPECT_TRUE(cases[0].redirections.empty()) << "it passed";
    const auto& own = cases[2].redirections;
    ASSERT_EQ(own.size(), kRedirectionsOfTest);
    EXPECT_EQ(own[0].count, 12);
    EXPECT_EQ(own[0].file, "tests/ops/test_a.py");
    EXPECT_EQ(own[0].url, "https://forge.example/alpha/blob/0123abcd/tests/ops/test_a.py#L12");
    EXPECT_TRUE(std::is_sorted(own.begin(), own.end(),
                               [](const auto& a, const auto& b) { return a.count > b.count; }));
    EXPECT_EQ(model.redirections.size(), 26u) << "the run has them all";
}

TEST_F(ModelTest, HistoriesEndWithThisRun) {
    const WallTime day{Milliseconds(1795000000000)};
    PastRuns past{{{"older", day, true, {}}, {"newer", day, false, {}}},
                  [&](const std::string& test) {
                      return std::vector<StateInRun>{{"newer " + test, day, State::passed}};
                  }};
    ModelBuilder builder(stored, {run_folder(), run_folder(), {}, past});
    for (const store::StoredModule& module : stored.modules) builder.add(module);
    const ReportModel model = builder.finish();
    ASSERT_EQ(model.history.size(), 3u);
    EXPECT_EQ(model.history[0].id, "older");
    EXPECT_EQ(model.history[2].id, stored.info.id);
    EXPECT_EQ(model.history[2].states, model.totals.states);
    EXPECT_EQ(model.history[2].complete, model.run.complete);
    const ModuleView view = builder.view(stored.modules[0]);
    EXPECT_TRUE(view.cases[0].history.empty()) << "it passed";
    const auto& history = view.cases[2].history;
    ASSERT_EQ(history.size(), 2u);
    EXPECT_EQ(history[0].run, "newer " + view.cases[2].id);
    EXPECT_EQ(history[1].run, stored.info.id);
    EXPECT_EQ(history[1].state, State::failed);
}

TEST_F(ModelTest, TheFirstTestsThatNeedAttentionHaveAHistory) {
    stored.modules.resize(1);
    auto& cases = stored.modules[0].attempts[0].record.cases;
    const auto failed = cases[2];
    cases.assign(static_cast<std::size_t>(kTestsWithHistory) - 1, failed);
    for (std::size_t i = 0; i < cases.size(); ++i) cases[i].id += std::to_string(i);
    stored.modules.push_back(stored.modules[0]);
    stored.modules[1].path = stored.modules[1].attempts[0].record.path = "tests/test_b.py";
    std::int64_t asked = 0;
    PastRuns past{{}, [&](const std::string&) {
                      ++asked;
                      return std::vector<StateInRun>{};
                  }};
    ModelBuilder builder(stored, {run_folder(), run_folder(), {}, past});
    for (const store::StoredModule& module : stored.modules) builder.add(module);
    for (int pass = 1; pass <= 2; ++pass) {
        const ModuleView first = builder.view(stored.modules[0]);
        const ModuleView second = builder.view(stored.modules[1]);
        EXPECT_EQ(asked, pass * kTestsWithHistory) << "each view alike";
        EXPECT_FALSE(first.cases.back().history.empty());
        EXPECT_FALSE(second.cases[0].history.empty());
        EXPECT_TRUE(second.cases[1].history.empty());
    }
}

}  // namespace
}  // namespace compat::reports
