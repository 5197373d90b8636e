#include "runner/store/store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/expect_job.h"
#include "tests/store/samples.h"

namespace compat::store {
namespace {

using namespace std::string_literals;
using parsers::ModuleOutcome;
using parsers::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class StoreTest : public testing::Test {
  protected:
    Store store = std::move(*Store::temporary());

    void begin(const std::string& id, std::int64_t second, const std::string& suite = "alpha") {
        ASSERT_TRUE(store.begin_run(samples::run(id, second, suite)));
    }
};

TEST_F(StoreTest, ReturnsValuesAsTheyWereStored) {
    const RunInfo info = samples::run("nightly_x", 100);
    ASSERT_TRUE(store.begin_run(info));
    ASSERT_TRUE(store.plan_modules(info.id, {"tests/test_b.py", "tests/test_a.py"}));
    const JobResult first = samples::job("tests/test_b.py");
    JobResult second = samples::job("tests/test_b.py", 2);
    second.record.outcome = ModuleOutcome::completed;
    second.record.closing.reset();
    const JobResult other = samples::job("tests/test_a.py");
    ASSERT_TRUE(store.save_job(info.id, first));
    ASSERT_TRUE(store.save_job(info.id, other));
    ASSERT_TRUE(store.save_job(info.id, second));
    const RunEnd end = samples::end(200);
    ASSERT_TRUE(store.finish_run(info.id, end));

    const auto run = store.load_run(info.id);
    ASSERT_TRUE(run) << to_line(run.error());
    EXPECT_EQ(run->info, info);
    EXPECT_EQ(run->end, end);
    EXPECT_EQ(run->duration_s, end.duration_s);
    const auto modules = samples::modules_of(store, info.id);
    ASSERT_EQ(modules.size(), 2u);
    EXPECT_EQ(modules[0].path, "tests/test_b.py");
    expect_same(modules[0].attempts, {first, second});
    EXPECT_EQ(modules[1].path, "tests/test_a.py");
    expect_same(modules[1].attempts, {other});
}

TEST_F(StoreTest, DiagnosticAttemptsDecideNothing) {
    begin("r", 100);
    const JobResult first = samples::job("a.py");
    JobResult second = samples::job("a.py", 2);
    second.kind = AttemptKind::diagnostic;
    second.step = "fallback";
    for (auto& test : second.record.cases) test.state = State::passed;
    ASSERT_TRUE(store.save_job("r", first));
    const auto before = store.verdicts("r");
    const auto counts = store.runs()->at(0).states;
    ASSERT_TRUE(store.save_job("r", second));
    EXPECT_EQ(*store.verdicts("r"), *before);
    EXPECT_EQ(store.runs()->at(0).states, counts);
    const auto modules = samples::modules_of(store, "r");
    expect_same(modules.at(0).attempts, {first});
    expect_same(modules.at(0).diagnostics, {second});
    EXPECT_EQ(store.case_history("a.py::T::test_failed")->at(0).attempts, 1);

    // A copy of the run keeps them.
    Store other = std::move(*Store::temporary());
    ASSERT_TRUE(other.add_run(*store.load_run("r"), [&](const ModuleVisitor& see) {
        return store.each_module("r", see);
    }));
    EXPECT_EQ(*other.verdicts("r"), *before);
    expect_same(samples::modules_of(other, "r").at(0).diagnostics, {second});
}

TEST_F(StoreTest, FindsRunsOfOneRevisionInOtherWays) {
    const auto add = [&](const std::string& id, std::int64_t second, auto change) {
        RunInfo info = samples::run(id, second);
        info.commit = "0123abcd";
        info.dirty = false;
        info.rerun_argv = {"runner", "alpha"};
        info.keep_going = info.diagnose = false;
        info.seeds = 0;
        change(info);
        ASSERT_TRUE(store.begin_run(info));
        ASSERT_TRUE(store.finish_run(id, samples::end(second + 1)));
    };
    const auto plain = [](RunInfo& info) {
        info.shim = false;
        info.policy.clear();
        info.simulated.reset();
        info.device = "cpu";
    };
    add("mac", 100, [](RunInfo&) {});
    add("mac_again", 101, [](RunInfo&) {});
    add("plain_old", 102, plain);
    add("plain", 103, plain);
    const auto unfit = [&](const std::string& id, auto change) {
        add(id, 110, [&](RunInfo& info) { plain(info), change(info); });
    };
    unfit("other_revision", [](RunInfo& info) { info.commit = "456"; });
    unfit("changed_since", [](RunInfo& info) { info.dirty = true; });
    unfit("other_torch", [](RunInfo& info) { info.torch = "2.12.0"; });
    unfit("other_hub", [](RunInfo& info) { info.hub = "replay"; });
    unfit("keeps_going", [](RunInfo& info) { info.keep_going = true; });
    unfit("seeds", [](RunInfo& info) { info.seeds = 3; });
    unfit("imported", [](RunInfo& info) { info.rerun_argv.clear(); });
    unfit("other_suite", [](RunInfo& info) { info.suite = "beta"; });
    add("no_revision", 120, [](RunInfo& info) { info.commit.clear(); });

    const auto ids = [&](const char* run) {
        std::vector<std::string> found;
        const auto ways = store.other_ways_of(run);
        for (const RunInfo& info : ways.value()) found.push_back(info.id);
        return found;
    };
    EXPECT_THAT(ids("mac"), ElementsAre("plain", "plain_old")) << "not of its own way";
    EXPECT_THAT(ids("plain"), ElementsAre("mac_again", "mac"));
    EXPECT_THAT(ids("no_revision"), ElementsAre()) << "nobody knows what it ran";

    JobResult job = samples::job("a.py");
    for (auto& test : job.record.cases)
        if (test.failure) test.failure->signature = "of " + test.id;
    ASSERT_TRUE(store.save_job("plain", job));
    const auto failed = store.verdict_of("plain", "a.py::T::test_failed");
    ASSERT_TRUE(failed && *failed) << "a test of the run";
    EXPECT_EQ((*failed)->state, State::failed);
    EXPECT_EQ((*failed)->signature, "of a.py::T::test_failed");
    EXPECT_EQ(*store.verdict_of("plain", "a.py::T::none"), std::nullopt);
}

TEST_F(StoreTest, AddsARunInOneTransaction) {
    const StoredRun run{samples::run("merged", 100), samples::end(200), 12.5};
    const JobResult first = samples::job("b.py"), second = samples::job("b.py", 2);
    std::vector<StoredModule> modules = {{"b.py", {first, second}, {}, {}},
                                         {"a.py", {samples::job("a.py")}, {}, {}}};
    const auto read = [&](const ModuleVisitor& see) -> Expected<void> {
        for (const StoredModule& module : modules)
            if (auto seen = see(module); !seen) return seen;
        return {};
    };
    modules[1].attempts.push_back(modules[1].attempts[0]);
    EXPECT_FALSE(store.add_run(run, read)) << "an attempt twice";
    EXPECT_TRUE(store.runs()->empty());
    modules[1].attempts.pop_back();
    const auto breaks_off = [&](const ModuleVisitor& see) -> Expected<void> {
        if (auto seen = see(modules[0]); !seen) return seen;
        return fail(ErrorKind::io, "the shard is gone");
    };
    EXPECT_EQ(store.add_run(run, breaks_off).error().message, "the shard is gone");
    EXPECT_TRUE(store.runs()->empty());

    ASSERT_TRUE(store.add_run(run, read));
    const auto loaded = store.load_run("merged");
    ASSERT_TRUE(loaded) << to_line(loaded.error());
    EXPECT_EQ(loaded->info, run.info);
    EXPECT_EQ(loaded->end, run.end);
    EXPECT_EQ(samples::modules_of(store, "merged"), modules);
    EXPECT_FALSE(store.add_run(run, read)) << "it is there already";
}

TEST_F(StoreTest, ReplacesModulesInOneTransaction) {
    begin("run", 100);
    begin("other", 100);
    for (const char* run : {"run", "other"}) {
        ASSERT_TRUE(store.save_job(run, samples::job("b.py")));
        ASSERT_TRUE(store.save_job(run, samples::job("b.py", 2)));
        ASSERT_TRUE(store.finish_run(run, samples::end(200)));
    }
    const auto before = samples::modules_of(store, "run");
    JobResult read = samples::job("b.py");
    read.record.cases.resize(1);
    read.record.cases[0].state = State::passed;
    RunEnd end = samples::end(200);
    end.exit_code = 0;
    end.mismatches.clear();
    bool gives_up = true;
    const auto read_modules = [&](const ModuleVisitor& see) -> Expected<void> {
        if (auto seen = see({"b.py", {read}, {}, {}}); !seen || !gives_up) return seen;
        return fail(ErrorKind::io, "a log is gone");
    };
    EXPECT_EQ(store.replace_modules("run", read_modules, [&] { return end; }).error().message,
              "a log is gone");
    EXPECT_EQ(samples::modules_of(store, "run"), before);
    EXPECT_EQ(store.load_run("run")->end, samples::end(200));

    gives_up = false;
    ASSERT_TRUE(store.replace_modules("run", read_modules, [&] { return end; }));
    const auto after = samples::modules_of(store, "run");
    ASSERT_EQ(after.size(), 1u);
    expect_same(after[0].attempts, {read});
    EXPECT_EQ(store.load_run("run")->end, end);
    EXPECT_EQ(samples::modules_of(store, "other"), before) << "of no other run";
    EXPECT_FALSE(store.replace_modules("none", read_modules, [&] { return end; }));
}

TEST_F(StoreTest, HostileTextSurvives) {
    begin("r", 1);
    JobResult job = samples::job("a'; DROP TABLE run; --\n|`");
    const std::string odd = "nul\0byte \xff\xfe \xf0\x9f\x98\x80 \x1b[31m"s;
    job.record.cases[0].reason = odd;
    job.record.cases[1].failure->message = odd;
    job.record.cases[1].failure->traceback = std::string(1 << 20, '\n');
    ASSERT_TRUE(store.save_job("r", job));
    expect_same(samples::modules_of(store, "r").at(0).attempts, {job});
}

TEST_F(StoreTest, StoresPlannedModulesThatNeverStartedWithTheReason) {
    begin("old", 1);
    JobResult known = samples::job("b.py");
    known.record.outcome = ModuleOutcome::completed;
    ASSERT_TRUE(store.save_job("old", known));
    begin("new", 2);
    ASSERT_TRUE(store.plan_modules("new", {"a.py", "b.py"}));
    ASSERT_TRUE(store.save_job("new", samples::job("a.py")));
    ASSERT_TRUE(store.finish_run("new", samples::end(3, false)));

    EXPECT_EQ(samples::modules_of(store, "new").at(1),
              (StoredModule{"b.py", {}, "interrupted", 9}));
    EXPECT_EQ(*store.last_known_cases("alpha", "b.py"), 9);
    EXPECT_EQ(*store.last_known_cases("beta", "b.py"), std::nullopt);
    EXPECT_EQ(*store.last_known_cases("alpha", "a.py"), std::nullopt)
        << "it crashed: count unknown";
}

TEST_F(StoreTest, TheLastAttemptThatHasATestDecidesItsVerdict) {
    begin("r", 1);
    JobResult first = samples::job("m.py");
    first.record.cases = {samples::test("m.py::a", State::failed),
                          samples::test("m.py::b", State::passed)};
    first.record.cases[0].failure = samples::failure("once");
    JobResult second = samples::job("m.py", 2);
    second.record.cases = {samples::test("m.py::a", State::passed)};
    ASSERT_TRUE(store.save_job("r", first));
    ASSERT_TRUE(store.save_job("r", second));

    const auto runs = store.runs();
    ASSERT_TRUE(runs);
    StateCounts expected{};
    expected[static_cast<size_t>(State::passed)] = 2;
    EXPECT_EQ(runs->at(0).states, expected);
    const auto history = store.case_history("m.py::a");
    ASSERT_TRUE(history);
    ASSERT_EQ(history->size(), 1u);
    EXPECT_EQ(history->at(0).state, State::passed);
    EXPECT_EQ(history->at(0).attempts, 2);
}

TEST_F(StoreTest, AnAttemptDecidesOnlyTestsThatItReachedAndAWholeOneReplacesFixtures) {
    begin("r", 1);
    const auto state_of = [&](const char* id) { return store.case_history(id)->at(0).state; };
    JobResult first = samples::job("m.py");
    first.record.cases = {samples::test("m.py::a", State::crashed),
                          samples::test("m.py::b", State::not_run),
                          samples::test("m.py::A::<setUpClass>", State::crashed)};
    first.record.cases[2].pseudo = true;
    ASSERT_TRUE(store.save_job("r", first));
    JobResult second = samples::job("m.py", 2);
    second.kind = AttemptKind::rest;
    second.record.cases = {samples::test("m.py::a", State::not_run),
                           samples::test("m.py::b", State::not_run)};
    second.record.cases[1].reason = "newer";
    ASSERT_TRUE(store.save_job("r", second));
    EXPECT_EQ(state_of("m.py::a"), State::crashed);
    EXPECT_EQ(store.case_history("m.py::b")->at(0).reason, "newer");
    EXPECT_EQ(state_of("m.py::A::<setUpClass>"), State::crashed);

    JobResult third = samples::job("m.py", 3);
    third.kind = AttemptKind::whole;
    third.record.cases = {samples::test("m.py::a", State::passed)};
    ASSERT_TRUE(store.save_job("r", third));
    EXPECT_EQ(state_of("m.py::a"), State::passed);
    EXPECT_THAT(*store.case_history("m.py::A::<setUpClass>"), testing::IsEmpty());
}

TEST_F(StoreTest, OnlyTheLastAttemptCanSayThatNothingRan) {
    begin("r", 1);
    const auto save = [&](int attempt, const char* id, State state, bool pseudo) {
        JobResult job = samples::job("m.py", attempt);
        job.kind = AttemptKind::rest;
        job.record.cases = {samples::test(id, state)};
        job.record.cases[0].pseudo = pseudo;
        ASSERT_TRUE(store.save_job("r", job));
    };
    save(1, "m.py::a", State::crashed, false);
    save(2, "m.py::<module>", State::not_run, true);
    EXPECT_EQ(store.verdicts("r")->size(), 2u);
    save(3, "m.py::b", State::passed, false);
    EXPECT_THAT(*store.verdicts("r"), ElementsAre(Store::Verdict{"m.py::a", State::crashed},
                                                  Store::Verdict{"m.py::b", State::passed}));
}

TEST_F(StoreTest, ABrokenFixtureOfAPartialAttemptAddsNoPseudoCase) {
    for (const auto kind : {AttemptKind::again, AttemptKind::alone, AttemptKind::rest}) {
        const std::string run(name_of(kind));
        begin(run, 1);
        const auto save = [&](int attempt, std::vector<const char*> fixtures) {
            JobResult job = samples::job("m.py", attempt);
            job.kind = attempt == 1 ? AttemptKind::whole : kind;
            job.record.cases = {samples::test("m.py::a", State::failed)};
            for (const char* fixture : fixtures) {
                job.record.cases.push_back(samples::test(fixture, State::errored));
                job.record.cases.back().pseudo = true;
            }
            ASSERT_TRUE(store.save_job(run, job));
        };
        save(1, {"m.py::A::<tearDownClass>"});
        save(2, {"m.py::A::<tearDownClass>", "m.py::B::<tearDownClass>"});
        EXPECT_EQ(store.verdicts(run)->size(), kind == AttemptKind::rest ? 3u : 2u) << run;
    }
}

TEST_F(StoreTest, ARunThatWasReopenedHasNoEnd) {
    begin("r", 1);
    ASSERT_TRUE(store.finish_run("r", samples::end(2, false)));
    ASSERT_TRUE(store.load_run("r")->end);
    ASSERT_TRUE(store.reopen_run("r"));
    EXPECT_FALSE(store.load_run("r")->end);
}

TEST_F(StoreTest, TheDurationOfARunWithoutAnEndIsThatOfItsStoredAttempts) {
    begin("r", 1);
    EXPECT_EQ(store.load_run("r")->duration_s, 0);
    JobResult job = samples::job("a.py");
    job.started = samples::run("r", 1).started + Milliseconds(1250);
    job.duration_s = 3.5;
    ASSERT_TRUE(store.save_job("r", job));
    job.attempt = 2;
    job.duration_s = 0.5;
    ASSERT_TRUE(store.save_job("r", job));
    EXPECT_NEAR(store.load_run("r")->duration_s, 1.25 + 3.5, 1e-9);
}

TEST_F(StoreTest, AVisitorOfModulesMayWriteAndStop) {
    begin("r", 1);
    ASSERT_TRUE(store.plan_modules("r", {"a.py", "b.py", "c.py"}));
    std::vector<std::string> seen;
    ASSERT_TRUE(store.each_module("r", [&](const StoredModule& module) {
        seen.push_back(module.path);
        return store.save_job("r", samples::job(module.path));
    }));
    EXPECT_THAT(seen, ElementsAre("a.py", "b.py", "c.py"));
    expect_same(samples::modules_of(store, "r").at(2).attempts, {samples::job("c.py")});

    const auto refused = store.each_module("r", [&](const StoredModule& module) -> Expected<void> {
        if (module.path == "b.py") return fail(ErrorKind::io, "enough");
        seen.push_back(module.path);
        return {};
    });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "enough");
    EXPECT_THAT(seen, ElementsAre("a.py", "b.py", "c.py", "a.py"));
    EXPECT_FALSE(
        store.each_module("none", [](const StoredModule&) -> Expected<void> { return {}; }));
}

TEST_F(StoreTest, ListsTestsPageByPage) {
    begin("r", 1);
    for (const char* path : {"a.py", "b.py", "c.py"})
        ASSERT_TRUE(store.save_job("r", samples::job(path)));
    JobResult again = samples::job("b.py", 2);
    again.record.cases = {samples::test("b.py::T::test_failed", parsers::State::passed)};
    ASSERT_TRUE(store.save_job("r", again));
    const auto list = [&](const CaseFilter& filter, int limit) {
        std::vector<CaseSummary> all;
        while (true) {
            const auto page = store.cases("r", filter, all.empty() ? 0 : all.back().cursor, limit);
            EXPECT_TRUE(page) << to_line(page.error());
            EXPECT_LE(page->size(), static_cast<size_t>(limit));
            if (page->empty()) return all;
            all.insert(all.end(), page->begin(), page->end());
        }
    };
    const auto verdicts = store.verdicts("r");
    for (const int limit : {1, 4, 100}) {
        const auto all = list({}, limit);
        ASSERT_EQ(all.size(), 27u) << limit;
        for (size_t i = 0; i < all.size(); ++i)
            EXPECT_EQ((Store::Verdict{all[i].id, all[i].state}), verdicts->at(i));
    }
    EXPECT_EQ(list({{State::passed}, {}}, 2).size(), 4u);
    EXPECT_EQ(list({{State::failed, State::crashed}, {}}, 2).size(), 5u);
    EXPECT_EQ(list({{State::failed}, "b.py"}, 2).size(), 0u);
    EXPECT_EQ(list({{}, "b.py"}, 2).size(), 9u);
    EXPECT_EQ(list({{}, "none.py"}, 2).size(), 0u);
    EXPECT_FALSE(store.cases("none", {}, 0, 1));
    const auto failed = list({{State::failed}, "a.py"}, 9).at(0);
    EXPECT_EQ(failed.module, "a.py");
    EXPECT_EQ(failed.id, "a.py::T::test_failed");
    EXPECT_EQ(failed.key_line, samples::failure("1 != 2\n- 1\n+ 2").key_line());
    EXPECT_EQ(failed.started, WallTime(Milliseconds(50'250)));
    EXPECT_EQ(failed.log, "modules/a/1.log");
    EXPECT_EQ(list({{State::passed}, "b.py"}, 9).back().attempt, 2);
}

TEST_F(StoreTest, HistoryIsNewestFirstAndBySuite) {
    begin("r1", 1);
    begin("r2", 2);
    begin("other", 3, "beta");
    for (const auto* run : {"r1", "r2", "other"})
        ASSERT_TRUE(store.save_job(run, samples::job("m.py")));
    const auto all = store.case_history("m.py::T::test_failed");
    ASSERT_TRUE(all);
    ASSERT_EQ(all->size(), 3u);
    EXPECT_EQ(all->at(0).run, "other");
    EXPECT_EQ(all->at(1).run, "r2");
    EXPECT_EQ(all->at(1).key_line, samples::failure("1 != 2\n- 1\n+ 2").key_line());
    EXPECT_EQ(all->at(1).log, "modules/a/1.log");
    EXPECT_EQ(store.case_history("m.py::T::test_failed", "beta")->size(), 1u);
    EXPECT_TRUE(store.case_history("m.py::T::test_nothing")->empty());
}

TEST_F(StoreTest, RunsAreListedNewestFirstWithTheirTotals) {
    begin("r1", 1);
    begin("r2", 2);
    ASSERT_TRUE(store.save_job("r1", samples::job("m.py")));
    ASSERT_TRUE(store.finish_run("r1", samples::end(9)));
    const auto runs = store.runs();
    ASSERT_TRUE(runs);
    ASSERT_EQ(runs->size(), 2u);
    EXPECT_EQ(runs->at(0).id, "r2");
    EXPECT_FALSE(runs->at(0).end);
    EXPECT_EQ(runs->at(0).modules, 0);
    EXPECT_EQ(runs->at(1).id, "r1");
    EXPECT_EQ(runs->at(1).modules, 1);
    EXPECT_EQ(runs->at(1).end->exit_code, 3);
    StateCounts one_each;
    one_each.fill(1);
    EXPECT_EQ(runs->at(1).states, one_each);
}

TEST_F(StoreTest, RunsAreFoundByEveryKindOfName) {
    begin("nightly_1-aaaa", 1);
    begin("nightly_2-bbbb", 2, "beta");
    begin("nightly_2-bb", 3);
    const std::pair<const char*, const char*> table[] = {
        {"nightly_1-aaaa", "nightly_1-aaaa"}, {"nightly_1", "nightly_1-aaaa"},
        {"nightly_2-bb", "nightly_2-bb"},  // an id that is a prefix of another is itself
        {"nightly_2-bbb", "nightly_2-bbbb"},  {"latest", "nightly_2-bb"},
        {"latest~0", "nightly_2-bb"},         {"latest~2", "nightly_1-aaaa"},
        {"beta@latest", "nightly_2-bbbb"},    {"alpha@latest~1", "nightly_1-aaaa"},
    };
    for (const auto& [name, id] : table) {
        const auto found = store.find_run(name);
        ASSERT_TRUE(found) << name << ": " << to_line(found.error());
        EXPECT_EQ(*found, id) << name;
    }
}

TEST_F(StoreTest, LatestSkipsARunOfTestsThatDoNotExist) {
    begin("good", 1);
    ASSERT_TRUE(store.save_job("good", samples::job("a.py")));
    RunEnd end = samples::end(2);
    end.exit_code = 5;
    ASSERT_TRUE(store.finish_run("good", end)) << "it has results, whatever its code";
    for (const int code : {2, 5}) {
        const std::string id = "misnamed" + std::to_string(code);
        begin(id, 10 + code);
        end.exit_code = code;
        ASSERT_TRUE(store.finish_run(id, end));
        EXPECT_EQ(store.find_run(id), id);
    }
    EXPECT_EQ(store.find_run("latest"), "good");
    EXPECT_FALSE(store.find_run("alpha@latest~1"));
    begin("empty shard", 20);
    end.exit_code = 0;
    ASSERT_TRUE(store.finish_run("empty shard", end));
    EXPECT_EQ(store.find_run("latest"), "empty shard");
    begin("under way", 21);
    EXPECT_EQ(store.find_run("latest"), "under way");
}

// `runner porting` ends with such runs.
TEST_F(StoreTest, LatestSkipsRunsWithoutVerdictsWhereThereAreOthers) {
    const auto begin_with = [&](const std::string& id, std::int64_t second, auto change) {
        RunInfo info = samples::run(id, second);
        change(info);
        ASSERT_TRUE(store.begin_run(info));
    };
    begin_with("seeds", 1, [](RunInfo& info) { info.seeds = 20; });
    begin_with("keep going", 2, [](RunInfo& info) { info.keep_going = true; });
    EXPECT_EQ(store.find_run("latest"), "keep going") << "there is no other";
    begin("verdicts", 0);
    EXPECT_EQ(store.find_run("latest"), "verdicts");
    EXPECT_EQ(store.find_run("alpha@latest"), "verdicts");
    EXPECT_EQ(store.find_run("latest~1"), "keep going");
    EXPECT_EQ(store.find_run("latest~2"), "seeds");
}

TEST_F(StoreTest, TestsAreFoundByAPartOfTheirIds) {
    begin("one", 1);
    ASSERT_TRUE(store.save_job("one", samples::job("a.py")));
    begin("two", 2, "beta");
    ASSERT_TRUE(store.save_job("two", samples::job("b_%.py")));
    const auto found = [&](std::string_view part, std::string_view run, int limit = 10) {
        return store.tests_containing(part, run, limit).value();
    };
    EXPECT_THAT(found("test_failed", {}),
                testing::ElementsAre("a.py::T::test_failed", "b_%.py::T::test_failed"));
    EXPECT_THAT(found("test_failed", {}, 1), testing::ElementsAre("a.py::T::test_failed"));
    EXPECT_THAT(found("test_failed", "two"), testing::ElementsAre("b_%.py::T::test_failed"));
    EXPECT_THAT(found("_%.py::T::test_failed", {}), testing::SizeIs(1)) << "no pattern";
    EXPECT_THAT(found("a%failed", {}), testing::IsEmpty());
}

TEST_F(StoreTest, AnUnknownRunNamesTheExistingOnes) {
    const auto nothing = store.find_run("latest");
    ASSERT_FALSE(nothing);
    EXPECT_THAT(nothing.error().message, HasSubstr("nothing has been run yet"));
    begin("nightly_1-aaaa", 1);
    begin("nightly_2-bbbb", 2, "beta");
    const std::pair<const char*, const char*> table[] = {
        {"x", "nightly_2-bbbb, nightly_1-aaaa"},
        {"", "nightly_2-bbbb"},
        {"%", "nightly_2-bbbb"},
        {"nightly", "say which: nightly_2-bbbb"},
        {"latest~2", "there are 2 runs"},
        {"alpha@latest~1", "'alpha' has 1 runs"},
        {"gamma@latest", "alpha, beta"},
        {"latest~-1", "no run 'latest~-1'"},
        {"latest~x", "no run 'latest~x'"},
    };
    for (const auto& [name, text] : table) {
        const auto found = store.find_run(name);
        ASSERT_FALSE(found) << name;
        EXPECT_EQ(found.error().kind, ErrorKind::usage) << name;
        EXPECT_THAT(to_line(found.error()), HasSubstr(text)) << name;
    }
}

TEST_F(StoreTest, DurationsAreThoseOfTheLatestFirstAttemptThatRanToItsEnd) {
    begin("r1", 1);
    begin("r2", 2);
    begin("other", 3, "beta");
    const auto save = [&](const char* run, const char* path, int attempt, double seconds,
                          ModuleOutcome outcome = ModuleOutcome::completed) {
        JobResult job = samples::job(path, attempt);
        job.duration_s = seconds;
        job.record.outcome = outcome;
        ASSERT_TRUE(store.save_job(run, job));
    };
    save("r1", "a.py", 1, 10);
    save("r1", "b.py", 1, 20);
    save("r2", "a.py", 1, 30);
    save("r2", "a.py", 2, 1);
    save("r2", "b.py", 1, 2, ModuleOutcome::interrupted);
    save("other", "c.py", 1, 5);
    EXPECT_THAT(store.past_of("alpha")->seconds, ElementsAre(Pair("a.py", 30), Pair("b.py", 20)));
    EXPECT_THAT(store.past_of("alpha")->seconds_of_whole_runs, testing::IsEmpty())
        << "the samples are shards";
    EXPECT_THAT(store.past_of("beta")->seconds, ElementsAre(Pair("c.py", 5)));
    EXPECT_THAT(store.past_of("gamma")->seconds, testing::IsEmpty());
}

TEST_F(StoreTest, ThePastOfASuiteIsThatOfTheLatestRunOfEachModule) {
    const auto begin = [&](const char* id, int second, const char* shard) {
        RunInfo info = samples::run(id, second);
        info.shard = shard;
        ASSERT_TRUE(store.begin_run(info));
    };
    const auto save = [&](const char* run, const char* path, double seconds, bool good) {
        JobResult job = samples::job(path);
        job.duration_s = seconds;
        if (good) job.record.cases = {samples::test("t", parsers::State::passed)};
        ASSERT_TRUE(store.save_job(run, job));
    };
    begin("new", 30, "");
    begin("shard", 40, "1/2");
    begin("old", 20, "");  // an import of what was run before
    save("new", "a.py", 3, true);
    save("new", "b.py", 4, false);
    save("shard", "b.py", 5, true);
    save("old", "a.py", 1, false);
    save("old", "c.py", 2, false);
    ASSERT_TRUE(store.plan_modules("shard", {"c.py", "d.py"}));  // and never began them
    const auto past = store.past_of("alpha");
    ASSERT_TRUE(past) << to_line(past.error());
    EXPECT_THAT(past->seconds, ElementsAre(Pair("a.py", 3), Pair("b.py", 5), Pair("c.py", 2)));
    EXPECT_THAT(past->seconds_of_whole_runs,
                ElementsAre(Pair("a.py", 3), Pair("b.py", 4), Pair("c.py", 2)));
    EXPECT_THAT(past->failed, ElementsAre("c.py"));
}

TEST_F(StoreTest, RunsOfSomeTestsOfAModuleAreItsPastOnlyWhereNoneIsWhole) {
    const auto save = [&](const RunInfo& info, const char* path, double seconds, bool good,
                          std::vector<std::string> only = {}) {
        JobResult job = samples::job(path);
        job.duration_s = seconds;
        job.only = std::move(only);
        if (good) job.record.cases = {samples::test("t", parsers::State::passed)};
        ASSERT_TRUE(store.save_job(info.id, job));
    };
    const auto run = [&](const std::string& id, int second, Subset subset) {
        RunInfo info = samples::run(id, second);
        info.subset = std::move(subset);
        EXPECT_TRUE(store.begin_run(info));
        return info;
    };
    const RunInfo whole = run("whole", 1, {});
    save(whole, "a.py", 30, false);
    save(whole, "b.py", 20, false);
    save(whole, "d.py", 10, true);
    save(run("of_file", 2, {"b.py"}), "b.py", 25, true);
    save(run("of_test", 3, {"a.py::A::t"}), "a.py", 1, true, {"a.py::A::t"});
    const RunInfo of_keyword = run("of_keyword", 4, {"-k", "t"});
    save(of_keyword, "a.py", 2, true);
    save(of_keyword, "c.py", 3, false);
    save(of_keyword, "d.py", 4, false);
    save(run("with_options", 5, {"--", "-m", "not slow"}), "a.py", 5, true);
    const auto past = store.past_of("alpha");
    ASSERT_TRUE(past) << to_line(past.error());
    EXPECT_THAT(past->seconds,
                ElementsAre(Pair("a.py", 30), Pair("b.py", 25), Pair("c.py", 3), Pair("d.py", 10)));
    EXPECT_THAT(past->failed, ElementsAre("a.py", "c.py", "d.py"))
        << "a part that passes says nothing, one that fails does";
    for (int i = 0; i < 10; ++i)
        save(run("later" + std::to_string(i), 10 + i, {"-k", "t"}), "a.py", 6, true);
    EXPECT_EQ(store.past_of("alpha")->seconds.at("a.py"), 6) << "the whole run is long past";
    EXPECT_THAT(store.past_of("alpha")->failed, ElementsAre("c.py", "d.py"));
}

TEST_F(StoreTest, RunsWithoutAVerdictSayNothingOfWhatFailed) {
    const auto save = [&](const RunInfo& info, parsers::State state) {
        ASSERT_TRUE(store.begin_run(info));
        JobResult job = samples::job("a.py");
        job.record.cases = {samples::test("t", state)};
        ASSERT_TRUE(store.save_job(info.id, job));
    };
    save(samples::run("verdict", 1), parsers::State::passed);
    RunInfo seeds = samples::run("seeds", 2), keep_going = samples::run("keep_going", 3);
    seeds.seeds = 20;
    keep_going.keep_going = true;
    save(seeds, parsers::State::failed);
    save(keep_going, parsers::State::failed);
    EXPECT_THAT(store.past_of("alpha")->failed, testing::IsEmpty());
    save(samples::run("failed", 4), parsers::State::failed);
    EXPECT_THAT(store.past_of("alpha")->failed, ElementsAre("a.py"));
}

TEST_F(StoreTest, ModulesThatFailAndNeededAFreshProcessAreKnown) {
    enum Fork { fork_alone, fork_repeated, fresh_alone };
    const auto save = [&](const std::string& run, const char* path, Fork fork, bool good = false) {
        JobResult job = samples::job(path);
        job.record.forked = fork != fresh_alone;
        if (good) job.record.cases = {samples::test("t", parsers::State::passed)};
        ASSERT_TRUE(store.save_job(run, job));
        if (fork != fork_repeated) return;
        job.attempt = 2;
        job.record.forked = false;
        ASSERT_TRUE(store.save_job(run, job));
    };
    const auto begin_with = [&](const std::string& id, int second, const char* settings) {
        RunInfo info = samples::run(id, second);
        info.fingerprint = fmt::format(R"({{"settings": {}}})", settings);
        ASSERT_TRUE(store.begin_run(info));
    };
    const auto needed = [&] { return store.past_of("alpha")->needs_fresh_process; };
    begin_with("first", 1, R"({"confirm": "new", "retries": "0"})");
    save("first", "confirmed.py", fork_repeated);
    save("first", "mended.py", fork_repeated);
    save("first", "confirmed_by_another.py", fork_alone);
    save("first", "never_forked.py", fresh_alone);
    save("first", "of_retries.py", fresh_alone);
    EXPECT_THAT(needed(), ElementsAre("confirmed.py", "mended.py"));
    begin_with("second", 2, R"({"confirm": "new", "retries": "1"})");
    save("second", "of_retries.py", fork_repeated);
    save("second", "confirmed_by_another.py", fork_repeated);
    begin_with("third", 3, R"({"confirm": "all", "retries": "0"})");
    save("third", "of_retries.py", fork_repeated);
    EXPECT_THAT(needed(), ElementsAre("confirmed.py", "mended.py"))
        << "these runs repeat every failure";
    for (int run = 4; run <= 12; ++run) {
        const std::string id = fmt::format("r{}", run);
        begin(id, run);
        save(id, "confirmed.py", fresh_alone);
        save(id, "mended.py", fresh_alone, true);
        EXPECT_THAT(needed(), ElementsAre("confirmed.py"));
    }
    begin("last", 13);
    save("last", "confirmed.py", fresh_alone);
    EXPECT_THAT(needed(), testing::IsEmpty()) << "to be tried again";
}

TEST_F(StoreTest, RefusesWritesToAnUnknownRun) {
    EXPECT_FALSE(store.plan_modules("none", {"a.py"}));
    EXPECT_FALSE(store.save_job("none", samples::job("a.py")));
    EXPECT_FALSE(store.finish_run("none", samples::end(1)));
    EXPECT_FALSE(store.load_run("none"));
}

TEST_F(StoreTest, ARunBeginsOnceAndAnAttemptIsSavedOnce) {
    begin("r", 1);
    EXPECT_FALSE(store.begin_run(samples::run("r", 2)));
    ASSERT_TRUE(store.save_job("r", samples::job("a.py")));
    EXPECT_FALSE(store.save_job("r", samples::job("a.py")));
    EXPECT_EQ(samples::modules_of(store, "r").at(0).attempts.size(), 1u);
}

}  // namespace
}  // namespace compat::store
