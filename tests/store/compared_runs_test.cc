// Tests that the rows read for comparisons agree with whole modules (Store::each_module).
#include "runner/store/compared_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runner/store/comparable.h"
#include "tests/store/samples.h"

namespace compat::store {
namespace {

using parsers::Cause;
using parsers::State;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class ComparedRunsTest : public testing::Test {
  protected:
    Store store = std::move(*Store::temporary());

    // A whole run without sharding and seeds, as most are.
    static RunInfo info(const std::string& id, std::int64_t second) {
        RunInfo info = samples::run(id, second);
        info.shard.clear();
        info.repeat_of.clear();
        info.subset.clear();
        return info;
    }
    void add(const RunInfo& info, bool complete = true) {
        ASSERT_TRUE(store.begin_run(info));
        ASSERT_TRUE(store.finish_run(info.id, samples::end(9, complete)));
    }
    static JobResult attempt(int number, std::vector<std::pair<std::string, State>> tests,
                             bool forked = false) {
        JobResult job = samples::job("a.py", number);
        job.kind = number == 1 ? AttemptKind::whole : AttemptKind::again;
        job.record.forked = forked;
        job.record.cases.clear();
        for (const auto& [name, state] : tests)
            job.record.cases.push_back(samples::test("a.py::" + name, state));
        return job;
    }
    std::vector<std::string> ids_of(const std::vector<std::int64_t>& results,
                                    const std::string& run) {
        std::vector<std::int64_t> tests;
        const auto rows = verdict_rows(store, run);
        for (const VerdictRow& row : *rows)
            if (std::find(results.begin(), results.end(), row.result) != results.end())
                tests.push_back(row.test);
        return *test_ids(store, tests);
    }
    std::vector<std::string> comparable(const RunInfo& run) {
        std::vector<std::string> ids;
        const auto others = comparable_runs(store, run, 10);
        for (const ComparableRun& other : *others) ids.push_back(other.id);
        return ids;
    }
};

TEST_F(ComparedRunsTest, VerdictsAreThoseOfTheRun) {
    ASSERT_TRUE(store.begin_run(info("r", 1)));
    ASSERT_TRUE(store.save_job("r", samples::job("a.py")));
    ASSERT_TRUE(store.save_job("r", attempt(2, {{"T::test_failed", State::passed}})));
    std::map<std::string, State> seen;
    const auto rows = verdict_rows(store, "r");
    ASSERT_TRUE(rows) << to_line(rows.error());
    std::vector<std::int64_t> tests;
    for (const VerdictRow& row : *rows) tests.push_back(row.test);
    EXPECT_TRUE(std::is_sorted(tests.begin(), tests.end()));
    const auto ids = test_ids(store, tests);
    for (std::size_t i = 0; i < rows->size(); ++i) seen[(*ids)[i]] = (*rows)[i].state;
    const auto verdicts = store.verdicts("r");
    std::map<std::string, State> stored;
    for (const auto& verdict : *verdicts) stored[verdict.test] = verdict.state;
    EXPECT_EQ(seen, stored);
    EXPECT_EQ(rows->size(), verdicts->size());
    EXPECT_EQ(verdict_rows(store, "none").error().kind, ErrorKind::usage);
}

TEST_F(ComparedRunsTest, AFailureIsTheTestsOwnBeforeASubTests) {
    ASSERT_TRUE(store.begin_run(info("r", 1)));
    JobResult job =
        attempt(1, {{"own", State::failed}, {"sub", State::failed}, {"good", State::xfailed}});
    const auto failure = [](const std::string& signature, Cause cause) {
        parsers::Failure f = samples::failure("no");
        f.signature = signature;
        f.diagnosis = parsers::Diagnosis{cause, {}, {}, "a-rule", "the key line"};
        return f;
    };
    auto& cases = job.record.cases;
    cases[0].failure = failure("own", Cause::hub);
    cases[0].also = {failure("further", Cause::crash)};
    cases[0].subcases = {{"(i=1)", State::failed, "", failure("of a sub-test", Cause::crash)}};
    cases[1].subcases = {{"(i=1)", State::failed, "", failure("sub 1", Cause::tolerance)},
                         {"(i=2)", State::failed, "", failure("sub 2", Cause::crash)}};
    cases[2].failure = failure("expected", Cause::crash);
    ASSERT_TRUE(store.save_job("r", job));
    std::map<std::string, std::optional<Cause>> seen;
    std::vector<std::int64_t> results;
    ASSERT_TRUE(each_failure(store, "r", [&](FailureRow row) {
        seen[row.signature] = row.cause;
        results.push_back(row.result);
    }));
    EXPECT_EQ(seen, (std::map<std::string, std::optional<Cause>>{{"own", Cause::hub},
                                                                 {"sub 1", Cause::tolerance}}));
    EXPECT_THAT(ids_of(results, "r"), UnorderedElementsAre("a.py::own", "a.py::sub"));
    const auto details = result_details(store, results);
    ASSERT_EQ(details->size(), 2u);
    EXPECT_EQ((*details)[0].key_line, "the key line");
    EXPECT_EQ((*details)[0].log, "modules/a/1.log");
}

TEST_F(ComparedRunsTest, FlakyIsWhatPassedAfterItBrokeInAProcessOfTheSameKind) {
    ASSERT_TRUE(store.begin_run(info("r", 1)));
    ASSERT_TRUE(store.save_job(
        "r",
        attempt(1, {{"fork", State::failed}, {"always", State::failed}, {"good", State::passed}},
                /*forked=*/true)));
    ASSERT_TRUE(store.save_job("r", attempt(2, {{"fork", State::passed},
                                                {"always", State::failed},
                                                {"fresh", State::errored}})));
    ASSERT_TRUE(store.save_job("r", attempt(3, {{"fresh", State::passed}})));
    const auto flaky = flaky_results(store, "r");
    ASSERT_TRUE(flaky) << to_line(flaky.error());
    EXPECT_THAT(ids_of(*flaky, "r"), ElementsAre("a.py::fresh"));
}

TEST_F(ComparedRunsTest, ForksThatDifferAmongThemselvesAreFlaky) {
    ASSERT_TRUE(store.begin_run(info("r", 1)));
    ASSERT_TRUE(store.save_job("r", attempt(1, {{"t", State::failed}}, true)));
    ASSERT_TRUE(store.save_job("r", attempt(2, {{"t", State::passed}}, true)));
    ASSERT_TRUE(store.save_job("r", attempt(3, {{"t", State::passed}}, false)));
    EXPECT_THAT(ids_of(*flaky_results(store, "r"), "r"), ElementsAre("a.py::t"));
}

TEST_F(ComparedRunsTest, ModulesSayHowTheirLastWholeAttemptEnded) {
    ASSERT_TRUE(store.begin_run(info("r", 1)));
    ASSERT_TRUE(store.plan_modules("r", {"b.py", "a.py"}));
    ASSERT_TRUE(store.save_job("r", samples::job("a.py")));
    ASSERT_TRUE(store.save_job("r", attempt(2, {{"t", State::passed}})));
    const auto rows = module_rows(store, "r");
    ASSERT_EQ(rows->size(), 2u);
    EXPECT_EQ((*rows)[0].path, "b.py");
    EXPECT_EQ((*rows)[0].outcome, parsers::ModuleOutcome::not_run);
    EXPECT_FALSE((*rows)[0].collected);
    EXPECT_EQ((*rows)[1].outcome, parsers::ModuleOutcome::crashed);
    EXPECT_EQ((*rows)[1].reason, "SIGSEGV");
    EXPECT_TRUE((*rows)[1].collected);
}

// Each of the things in which comparable runs must agree, changed alone.
TEST_F(ComparedRunsTest, ComparableRunsAgreeInAllThatDecides) {
    add(info("before", 10));
    add(info("interrupted", 11), /*complete=*/false);
    const RunInfo run = info("run", 20);
    add(info("after", 30));
    const std::vector<std::pair<const char*, void (*)(RunInfo&)>> changes{
        {"suite", [](RunInfo& r) { r.suite = "beta"; }},
        {"series", [](RunInfo& r) { r.series = "weekly"; }},
        {"framework", [](RunInfo& r) { r.framework = "pytest"; }},
        {"device", [](RunInfo& r) { r.device = "mps"; }},
        {"simulated", [](RunInfo& r) { r.simulated = "cuda"; }},
        {"not simulated", [](RunInfo& r) { r.simulated.reset(); }},
        {"policy", [](RunInfo& r) { r.policy = "full"; }},
        {"masquerade", [](RunInfo& r) { r.masquerade = !r.masquerade; }},
        {"fallback", [](RunInfo& r) { r.fallback = !r.fallback; }},
        {"shim", [](RunInfo& r) { r.shim = !r.shim; }},
        {"shard", [](RunInfo& r) { r.shard = "1/2"; }},
        {"keep going", [](RunInfo& r) { r.keep_going = true; }},
        {"seeds", [](RunInfo& r) { r.seeds = 20; }},
        {"isolation", [](RunInfo& r) { r.isolation = "tree"; }},
        {"network", [](RunInfo& r) { r.network = true; }},
    };
    for (const auto& [name, change] : changes) {
        RunInfo other = info(name, 15);
        change(other);
        add(other);
        EXPECT_THAT(comparable(run), ElementsAre("before")) << name;
        EXPECT_NE(comparable_key(other), comparable_key(run)) << name;
    }
    // The keys of what is stored are those of what was given to the store.
    const auto stored = store.runs();
    for (const RunSummary& summary : *stored)
        EXPECT_EQ(comparable_key(summary), comparable_key(store.load_run(summary.id)->info));
    RunInfo same = info("same", 16);
    same.torch = "2.14.0";
    same.fingerprint = R"({"os":"another"})";
    add(same);
    EXPECT_THAT(comparable(run), ElementsAre("same", "before"));
    RunInfo plain = run;
    plain.simulated.reset();
    EXPECT_THAT(comparable(plain), ElementsAre("not simulated"));
}

TEST_F(ComparedRunsTest, AShardIsComparedWithTheSameShard) {
    const auto shard = [&](const char* id, std::int64_t second, const char* which) {
        RunInfo info = this->info(id, second);
        info.shard = which;
        add(info);
        return info;
    };
    add(info("whole", 1));
    shard("first of two", 2, "1/2");
    shard("second of two", 3, "2/2");
    EXPECT_THAT(comparable(shard("run", 4, "1/2")), ElementsAre("first of two"));
}

TEST(SubsetOf, AnOlderRunIsReadFromItsCommandLine) {
    const std::pair<std::vector<std::string>, Subset> table[] = {
        {{"runner", "suites/x"}, {}},
        {{"runner", "suites/x", "--shim", "off", "-q", "b.py", "--jobs=4", "a.py"},
         {"a.py", "b.py"}},
        {{"runner", "suites/x", "--masquerade", "off", "--default-device", "a.py"}, {"a.py"}},
        {{"runner", "suites/x", "-j4", "a.py", "-kfoo"}, {"a.py", "-k", "foo"}},
        {{"runner", "run", "-k", "a or b", "."}, {"-k", "a or b"}},
        {{"runner", "porting", "suites/x"}, {}},
        {{"runner", "plan", "suites/x", "--shards", "3", "a.py"}, {"a.py"}},
        {{"runner", ".", "t", "--", "-m", "slow"}, {"t", "--", "-m", "slow"}},
        {{"runner", "rerun", "--failed", "latest"}, {"rerun"}},
        {{"runner", "merge", "a", "b"}, {}},
        {{"runner", "nightly", "n.json"}, {}},
        {{"runner", "suites/x", "--jobs"}, {}},
        {{"runner", "--"}, {}},
        {{"--"}, {}},
        {{}, {}},
    };
    for (const auto& [argv, subset] : table) EXPECT_EQ(subset_of_older_run(argv), subset);
}

TEST(SubsetOf, ARunAsksForItsTargetsAndWhatIsBelowThem) {
    struct Row {
        Subset subset;
        const char* id;
        bool has_module, asked;
    };
    const Row table[] = {
        {{}, "a.py::A::t", false, true},
        {{"a.py"}, "a.py::A::t", true, true},
        {{"a.py"}, "b.py::A::t", false, false},
        {{"test_a.py"}, "tests/test_a.py::A::t", true, true},
        {{"tests.test_a.A.u"}, "tests/test_a.py::A::t", true, false},
        {{"rerun"}, "tests/test_a.py::A::t", true, false},
        {{"tests"}, "tests/test_a.py::A::t", false, true},  // the file is gone
        {{"test"}, "tests/test_a.py::A::t", false, false},
        {{"."}, "tests/test_a.py::A::t", false, true},
        {{"a.py::A::t"}, "a.py::A::t", true, true},
        {{"a.py::A::t"}, "a.py::A::t[1]", true, true},
        {{"a.py::A::t"}, "a.py::A::t2", true, false},
        {{"a.py", "-k", "t"}, "a.py::A::t", true, false},
        {{"--", "-x"}, "a.py::A::t", true, false},
    };
    for (const Row& row : table)
        EXPECT_EQ(AskedFor(row.subset)(row.id, row.has_module), row.asked) << row.id;
}

TEST_F(ComparedRunsTest, APartIsComparedWithTheSamePartAndWithWholeRuns) {
    const auto part = [&](const char* id, std::int64_t second, const Subset& subset) {
        RunInfo info = this->info(id, second);
        info.subset = subset;
        add(info);
        return info;
    };
    part("whole", 1, {});
    part("a", 2, {"a.py"});
    part("b", 3, {"b.py"});
    EXPECT_THAT(comparable(part("a again", 4, {"a.py"})), ElementsAre("a", "whole"));
    EXPECT_THAT(comparable(part("whole again", 5, {})), ElementsAre("whole"));
    part("slow", 6, {"--", "--runslow"});
    EXPECT_THAT(comparable(part("a, slow", 7, {"a.py", "--", "--runslow"})),
                ElementsAre("slow", "whole again", "whole"));
}

TEST(BaselineAmong, IsOfTheSamePartOrOfAll) {
    const auto run = [](const char* id, const Subset& subset) {
        RunInfo info;
        info.id = id;
        info.subset = subset;
        return info;
    };
    const std::vector<RunInfo> before{run("b", {"b"}), run("a", {"a"}), run("whole", {})};
    EXPECT_EQ(baseline_among(before, run("new", {"a"}))->id, "a");
    EXPECT_EQ(baseline_among(before, run("new", {"c"}))->id, "whole");
    EXPECT_EQ(baseline_among(before, run("new", Subset{}))->id, "whole");
    const std::vector<RunInfo> parts(before.begin(), before.begin() + 2);
    EXPECT_EQ(baseline_among(parts, run("new", Subset{})), parts.end());
}

TEST(BaselineAmong, IsARunThatRepeatsItOnlyWhereThereIsNoOther) {
    const auto run = [](const char* id, const char* repeat_of) {
        RunInfo info;
        info.id = id;
        info.repeat_of = repeat_of;
        return info;
    };
    const std::vector<RunInfo> before{run("third", "first"), run("first", ""), run("old", ""),
                                      run("older", "")};
    EXPECT_EQ(baseline_among(before, run("fourth", "first"))->id, "old");
    EXPECT_EQ(baseline_among(before, run("new", ""))->id, "third");
    const std::vector<RunInfo> repeats(before.begin(), before.begin() + 2);
    EXPECT_EQ(baseline_among(repeats, run("fourth", "first"))->id, "third");
    const std::vector<RunInfo> none;
    EXPECT_EQ(baseline_among(none, run("new", "")), none.end());
}

TEST_F(ComparedRunsTest, ASeriesHasItsRunsAndTheStatesOfATest) {
    const auto with_test = [&](const std::string& id, std::int64_t second, State state,
                               bool complete) {
        ASSERT_TRUE(store.begin_run(info(id, second)));
        ASSERT_TRUE(store.save_job(id, attempt(1, {{"t", state}, {"u", State::passed}})));
        if (complete) {
            ASSERT_TRUE(store.finish_run(id, samples::end(9)));
        }
    };
    with_test("first", 1, State::passed, true);
    with_test("killed", 2, State::failed, false);
    add(info("without", 3));
    with_test("other way", 4, State::errored, true);
    RunInfo other = info("mps", 5);
    other.simulated = "cuda";
    add(other);
    with_test("run", 6, State::failed, true);
    // A retry decides, and a run counts once.
    ASSERT_TRUE(store.save_job("first", attempt(2, {{"t", State::failed}})));
    with_test("after", 7, State::passed, true);

    const RunInfo run = info("run", 6);
    const auto past = series_before(store, run, 10);
    ASSERT_TRUE(past) << to_line(past.error());
    std::vector<std::string> ids;
    for (const SeriesRun& before : *past) ids.push_back(before.id);
    EXPECT_THAT(ids, ElementsAre("other way", "without", "killed", "first"));
    EXPECT_FALSE((*past)[2].complete);
    EXPECT_TRUE((*past)[3].complete);
    EXPECT_EQ((*past)[3].states[static_cast<std::size_t>(State::passed)], 1);
    EXPECT_EQ((*past)[3].states[static_cast<std::size_t>(State::failed)], 1);
    EXPECT_THAT(*series_before(store, run, 1), testing::SizeIs(1));

    const auto states = states_in_series(store, *past, "a.py::t");
    ASSERT_TRUE(states) << to_line(states.error());
    std::vector<std::pair<std::string, State>> found;
    for (const auto& [at, state] : *states) found.emplace_back((*past)[at].id, state);
    EXPECT_THAT(found,
                ElementsAre(std::pair("other way", State::errored),
                            std::pair("killed", State::failed), std::pair("first", State::failed)));
    EXPECT_THAT(*states_in_series(store, *past, "a.py::none"), IsEmpty());
    EXPECT_THAT(*states_in_series(store, {}, "a.py::t"), IsEmpty());
}

TEST_F(ComparedRunsTest, RepeatsAreTheCompleteRunsOfOneCommand) {
    add(info("first", 1));
    for (const char* id : {"second", "third"}) {
        RunInfo repeat = info(id, id[0]);
        repeat.repeat_of = "first";
        add(repeat, /*complete=*/std::string_view(id) == "second");
    }
    add(info("other", 200));
    EXPECT_THAT(*repeats_of(store, "first", 10), ElementsAre("second", "first"));
    EXPECT_THAT(*repeats_of(store, "second", 10), ElementsAre("second", "first"));
    EXPECT_THAT(*repeats_of(store, "second", 1), ElementsAre("second"));
    EXPECT_THAT(*repeats_of(store, "other", 10), ElementsAre("other"));
}

TEST_F(ComparedRunsTest, TheNewestOfEachDeviceIsComplete) {
    RunInfo cpu = info("cpu", 1);
    cpu.simulated.reset();
    add(cpu);
    add(info("mps-old", 2));
    add(info("mps", 3));
    add(info("mps-interrupted", 4), /*complete=*/false);
    RunInfo cuda = info("cuda", 5);
    cuda.simulated = "cuda";
    add(cuda);
    RunInfo seeds = info("seeds", 6);
    seeds.seeds = 3;
    add(seeds);
    RunInfo pytest = info("pytest", 7);
    pytest.framework = "pytest";
    add(pytest);
    RunInfo weekly = info("weekly mps", 8);
    weekly.series = "weekly";
    add(weekly);
    RunInfo part = info("part", 9);
    part.subset = {"a.py"};
    add(part);
    EXPECT_THAT(*newest_by_device(store, info("any", 1)),
                ElementsAre("weekly mps", "pytest", "cuda", "cpu"));
    EXPECT_THAT(*newest_by_device(store, samples::run("any", 1, "beta")), IsEmpty());
    const auto imported = [&](const std::string& id, const std::string& job, std::int64_t second) {
        RunInfo run = info(id, second);
        run.column = run.series = job;
        run.rerun_argv.clear();
        add(run);
    };
    for (const char* job : {"py38", "py39"}) imported(std::string("old ") + job, job, 10);
    for (const char* job : {"py312", "py39"}) imported(job, job, 11);
    EXPECT_THAT(*jobs_of_import(store, "alpha"), ElementsAre("py312", "py39"));
    EXPECT_THAT(*jobs_of_import(store, "beta"), IsEmpty());
}

}  // namespace
}  // namespace compat::store
