// Tests the rows that a site reads over many runs.
#include "runner/store/trends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/samples.h"

namespace compat::store {
namespace {

using parsers::State;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

class TrendsTest : public testing::Test {
  protected:
    Store store = std::move(*Store::temporary());

    JobResult job(std::string_view module, std::vector<std::pair<std::string, State>> tests,
                  int attempt = 1, AttemptKind kind = AttemptKind::whole) {
        JobResult job = samples::job(std::string(module), attempt);
        job.kind = kind;
        job.record.forked = false;
        job.record.cases.clear();
        job.record.device_events.clear();
        job.record.kernels.clear();
        for (const auto& [name, state] : tests)
            job.record.cases.push_back(samples::test(std::string(module) + "::" + name, state));
        return job;
    }
    void begin(const std::string& id, int second) {
        ASSERT_TRUE(store.begin_run(samples::run(id, second)));
    }
};

TEST_F(TrendsTest, AModuleIsReadRunByRunWithItsVerdicts) {
    begin("r1", 1);
    ASSERT_TRUE(store.save_job("r1", job("a.py", {{"a", State::passed}, {"b", State::failed}})));
    ASSERT_TRUE(store.save_job("r1", job("a.py", {{"b", State::passed}}, 2, AttemptKind::again)));
    begin("r2", 2);
    ASSERT_TRUE(store.save_job("r2", job("b.py", {{"z", State::passed}})));
    begin("r3", 3);
    ASSERT_TRUE(store.save_job("r3", job("a.py", {{"a", State::crashed}})));
    const std::vector<std::string> runs{"r1", "r2", "r3"};
    std::vector<std::string> seen;
    ASSERT_TRUE(each_module_result(store, runs, "a.py", [&](const ModuleResult& row) {
        const auto id = tests_of_results(store, std::span(&row.result, 1));
        seen.push_back(std::to_string(row.run) + " " + id->front() + " " +
                       std::string(name_of(row.state)));
    }));
    EXPECT_THAT(seen,
                UnorderedElementsAre("0 a.py::a passed", "0 a.py::b passed", "2 a.py::a crashed"));
}

TEST_F(TrendsTest, ATestsResultsSayWhichPassNeededARetry) {
    begin("r1", 1);
    ASSERT_TRUE(store.save_job("r1", job("a.py", {{"b", State::failed}, {"c", State::failed}})));
    ASSERT_TRUE(store.save_job(
        "r1", job("a.py", {{"b", State::passed}, {"c", State::failed}}, 2, AttemptKind::again)));
    begin("r2", 2);
    ASSERT_TRUE(store.save_job("r2", job("a.py", {{"b", State::passed}})));
    std::vector<std::string> seen;
    const auto results = results_of_test(store, "a.py::b");
    for (const TestResult& row : *results)
        seen.push_back(row.run + " " + std::string(name_of(row.state)) +
                       (row.flaky ? " flaky" : ""));
    EXPECT_THAT(seen, UnorderedElementsAre("r1 passed flaky", "r2 passed"));
    EXPECT_FALSE(results_of_test(store, "a.py::c")->front().flaky);
    EXPECT_TRUE(results_of_test(store, "a.py::none")->empty());
}

TEST_F(TrendsTest, CountsSayHowManyTestsHaveNoRow) {
    begin("r1", 1);
    JobResult quiet = job("a.py", {{"<unnamed passed>", State::passed}, {"b", State::failed}});
    quiet.record.cases[0].tests = 1'000'000'000'000;
    ASSERT_TRUE(store.save_job("r1", quiet));
    const ModuleCounts counts = module_counts(store, "r1")->front();
    EXPECT_EQ(counts.states[static_cast<size_t>(State::passed)], 1'000'000'000'000);
    EXPECT_EQ(counts.rowless, 999'999'999'999);
    const auto extent = store.extent_of("r1");
    EXPECT_EQ(extent->states, counts.states);
    EXPECT_EQ(extent->rowless, counts.rowless);
}

TEST_F(TrendsTest, ModulesKeepTheOrderInWhichTheyWerePlanned) {
    begin("r1", 1);
    ASSERT_TRUE(store.plan_modules("r1", {"c.py", "a.py"}));
    ASSERT_TRUE(store.plan_modules("r1", {"c.py", "a.py", "b.py"}));
    ASSERT_TRUE(store.save_job("r1", job("0.py", {{"t", State::passed}})));
    std::vector<std::string> paths;
    ASSERT_TRUE(store.each_module("r1", [&](StoredModule module) -> Expected<void> {
        paths.push_back(module.path);
        return {};
    }));
    EXPECT_THAT(paths, ElementsAre("c.py", "a.py", "b.py", "0.py"));
}

TEST_F(TrendsTest, TestsThatExercisedTheDeviceAreCountedByModuleAndRun) {
    JobResult used = job("a.py", {{"kernel", State::passed},
                                  {"refused", State::failed},
                                  {"skipped", State::skipped},
                                  {"untouched", State::passed}});
    parsers::ShimSession& shim = used.record.shim.emplace();
    shim.host = "cpu";
    shim.simulated = "mps";
    used.record.kernels = {
        {"a.py::kernel", "mps:0", 3}, {"a.py::skipped", "mps", 1}, {"a.py::untouched", "cpu", 9}};
    parsers::DeviceEvent refusal;
    refusal.kind = "refusal";
    refusal.test = "a.py::refused";
    refusal.count = 1;
    used.record.device_events = {refusal};
    begin("r1", 1);
    ASSERT_TRUE(store.save_job("r1", used));
    const auto counts = module_counts(store, "r1");
    ASSERT_EQ(counts->size(), 1u);
    EXPECT_EQ(counts->front().exercised_good, 1);
    EXPECT_EQ(counts->front().exercised_broken, 1);
    EXPECT_EQ(store.runs()->front().exercised_good, 1);
    EXPECT_EQ(store.runs()->front().exercised_broken, 1);
    // The verdict of another attempt counts, with what that attempt did.
    JobResult again = job("a.py", {{"refused", State::passed}}, 2, AttemptKind::again);
    again.record.shim = shim;
    again.record.kernels = {{"a.py::refused", "mps", 1}};
    ASSERT_TRUE(store.save_job("r1", again));
    EXPECT_EQ(store.runs()->front().exercised_good, 2);
    EXPECT_EQ(store.runs()->front().exercised_broken, 0);
    const auto none = [](const ModuleVisitor&) -> Expected<void> { return {}; };
    ASSERT_TRUE(store.replace_modules("r1", none, [] { return samples::end(5); }));
    EXPECT_EQ(store.runs()->front().exercised_good, 0);
}

}  // namespace
}  // namespace compat::store
