// The decisions of runner/analysis on a test are stored with its result: for each way into the
// database, and for rows of older versions.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runner/analysis/attempts.h"
#include "runner/analysis/marks.h"
#include "runner/store/compared_runs.h"
#include "runner/store/migrations.h"
#include "runner/store/store_impl.h"
#include "tests/store/samples.h"
#include "tests/support/temp_tree.h"

namespace compat::store {
namespace {

using parsers::State;
using testing::Contains;
using testing::IsEmpty;

constexpr std::array kResults{State::passed, State::failed, State::skipped, State::timed_out,
                              State::xpassed};
constexpr std::array kKinds{"redirect", "fold", "override", "fallback", "refusal", "stub"};

// Each test of a module has another history: three results, each in a fork or a fresh process.
std::vector<JobResult> attempts_at(const std::string& path, int forks) {
    std::vector<JobResult> jobs;
    int number = 0;
    for (const auto kind :
         {AttemptKind::whole, AttemptKind::diagnostic, AttemptKind::again, AttemptKind::again}) {
        JobResult& job = jobs.emplace_back(samples::job(path, ++number));
        job.kind = kind;
        job.step = kind == AttemptKind::diagnostic ? "alone" : "";
        job.record.forked = ((forks >> number) & 1) != 0;
        job.record.cases.clear();
        job.record.device_events.clear();
        job.record.kernels.clear();
        // Some hosts have the device, some processes had none, or no shim.
        if (forks % 8 == 4) job.record.shim->simulated.clear(), job.record.shim->host = "mps";
        if (forks == 8) job.record.shim->simulated.clear();
        if (forks == 16) job.record.shim.reset();
        std::size_t place = 0;
        for (const State first : kResults)
            for (const State second : kResults)
                for (const State third : kResults) {
                    const std::array history{first, State::failed, second, third};
                    const std::string id = fmt::format("{}::t{}", path, place);
                    job.record.cases.push_back(
                        samples::test(id, history[static_cast<std::size_t>(number - 1)]));
                    if (place % 4 == 0)
                        job.record.device_events.push_back(
                            {id, kKinds[place / 4 % kKinds.size()], "op", "cuda:0", "cpu", {}, 1});
                    if (place % 5 == 0)
                        job.record.kernels.push_back(
                            {id, place % 2 == 0 ? "mps:0" : "mpsx", number % 2});
                    ++place;
                }
    }
    return jobs;
}

// "a.py::t3 1 flaky used", by attempt.
std::vector<std::string> decisions_in(const Store& store, const std::string& run) {
    auto row = store.impl().database.prepare(R"sql(
        SELECT case_id || ' ' || number || iif(flaky, ' flaky', '')
            || iif(used_accelerator, ' used', '') || iif(verdict, ' verdict', '')
        FROM result
        JOIN run ON run.id = result.run
        JOIN attempt ON attempt.id = result.attempt
        JOIN test ON test.id = result.test
        WHERE run.name = ?)sql");
    row.bind(1, run);
    std::vector<std::string> decisions;
    while (row.step()) decisions.push_back(row.text(0));
    std::sort(decisions.begin(), decisions.end());
    return decisions;
}

class DecisionsTest : public testing::Test {
  protected:
    void SetUp() override {
        auto opened = Store::open(file);
        ASSERT_TRUE(opened) << to_line(opened.error());
        store.emplace(std::move(*opened));
        ASSERT_TRUE(store->begin_run(samples::run("r", 1)));
        for (int forks = 0; forks < 32; forks += 2)
            for (const JobResult& job : attempts_at(fmt::format("{}.py", forks), forks))
                ASSERT_TRUE(store->save_job("r", job));
        ASSERT_TRUE(store->finish_run("r", samples::end(2)));
    }

    const test::TempTree folder;
    const std::filesystem::path file = folder.root() / "runner.db";
    std::optional<Store> store;
};

TEST_F(DecisionsTest, AreThoseOfAnalysis) {
    std::vector<std::string> flaky, expected_flaky;
    std::int64_t used = 0;
    for (StoredModule& module : samples::modules_of(*store, "r")) {
        const auto verdicts = analysis::verdicts_of_jobs(module.attempts);
        const auto uses = analysis::used_accelerator(verdicts.record);
        for (std::size_t i = 0; i < verdicts.tests.size(); ++i) {
            const auto& test = verdicts.record.cases[i];
            if (verdicts.tests[i].flaky) expected_flaky.push_back(test.id);
            used += uses[i] && test.state != State::skipped;
        }
    }
    const auto rows = verdict_rows(*store, "r");
    const auto results = flaky_results(*store, "r");
    std::vector<std::int64_t> tests;
    for (const VerdictRow& row : *rows)
        if (std::find(results->begin(), results->end(), row.result) != results->end())
            tests.push_back(row.test);
    flaky = *test_ids(*store, tests);
    std::sort(flaky.begin(), flaky.end());
    std::sort(expected_flaky.begin(), expected_flaky.end());
    EXPECT_GT(flaky.size(), 100u);
    EXPECT_EQ(flaky, expected_flaky);
    const RunSummary run = store->runs()->at(0);
    EXPECT_GT(used, 100);
    EXPECT_EQ(run.exercised_good + run.exercised_broken, used);
}

TEST_F(DecisionsTest, AreTheSameInCopiesOfARun) {
    const auto before = decisions_in(*store, "r");
    const auto run = store->load_run("r");
    const auto read = [&](const ModuleVisitor& see) { return store->each_module("r", see); };
    auto copy = Store::temporary();
    ASSERT_TRUE(copy->add_run(*run, read));
    EXPECT_EQ(decisions_in(*copy, "r"), before);
    const auto read_copy = [&](const ModuleVisitor& see) { return copy->each_module("r", see); };
    ASSERT_TRUE(store->replace_modules("r", read_copy, [] { return samples::end(3); }));
    EXPECT_EQ(decisions_in(*store, "r"), before);
}

TEST_F(DecisionsTest, AreFilledInInOlderDatabases) {
    RunInfo kept_going = samples::run("kept going", 2);
    kept_going.keep_going = true;
    RunInfo seeds = samples::run("seeds", 3);
    seeds.seeds = 2;
    ASSERT_TRUE(store->begin_run(kept_going));
    ASSERT_TRUE(store->begin_run(seeds));
    const auto before = decisions_in(*store, "r");
    const auto counts = *store->runs();
    store.reset();
    {
        auto database =
            Database::open(file, Database::Mode::read_write, std::chrono::milliseconds{0});
        database.execute(R"sql(
            DROP VIEW v_case;
            DROP INDEX unnamed_results;
            DROP INDEX flaky_results;
            DROP INDEX generated_results;
            ALTER TABLE result DROP COLUMN flaky;
            ALTER TABLE result DROP COLUMN used_accelerator;
            ALTER TABLE result DROP COLUMN tests;
            ALTER TABLE run DROP COLUMN gives_verdicts;
            ALTER TABLE run DROP COLUMN hub;
            ALTER TABLE run DROP COLUMN hub_use;
            ALTER TABLE result DROP COLUMN generated;
            ALTER TABLE result DROP COLUMN generated_count;
            ALTER TABLE result DROP COLUMN missing;
            ALTER TABLE result DROP COLUMN missing_count;
            ALTER TABLE attempt DROP COLUMN hub;
            PRAGMA user_version = 19)sql");
    }
    store.emplace(std::move(*Store::open(file)));
    EXPECT_EQ(decisions_in(*store, "r"), before);
    const auto migrated = *store->runs();
    ASSERT_EQ(migrated.size(), counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i)
        EXPECT_EQ(migrated[i].exercised_good, counts[i].exercised_good);
    EXPECT_EQ(*store->find_run("latest"), "r") << "the others give no verdicts";
    EXPECT_THAT(*flaky_results(*store, "seeds"), IsEmpty());
    EXPECT_THAT(before, Contains(testing::HasSubstr("flaky used verdict")));
}

}  // namespace
}  // namespace compat::store
