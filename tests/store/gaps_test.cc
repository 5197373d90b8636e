// The stored gap log: how scans and runs change a gap, which fields stay, and which hits
// count.
#include "runner/store/gaps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/samples.h"

namespace compat::store {
namespace {

using parsers::State;
using testing::ElementsAre;
using testing::IsEmpty;

const GapKey kGraph{"torch.cuda.CUDAGraph", GapKind::missing_symbol, "mps", false};

GapHit hit_in(const std::string& test, bool blocks = true) {
    GapHit hit;
    hit.key = kGraph;
    hit.test = test;
    hit.file = "/src/a.py";
    hit.line = 3;
    hit.blocks = blocks;
    return hit;
}

GapHit passed_in(const std::string& test) {
    GapHit hit;
    hit.key = kGraph;
    hit.test = test;
    hit.count = 0;
    return hit;
}

GapFacts facts() {
    GapFacts facts;
    facts.key = kGraph;
    facts.description = "there is none";
    return facts;
}

class GapLogTest : public testing::Test {
  protected:
    struct Run {
        std::string torch = "2.13.0";
        std::string suite = "alpha";
        bool shim = true;
        bool complete = true;
        std::string device = "mps";
        bool keep_going = false;
        int seeds = 0;
    };
    // A run of these tests, by default on mps.
    void ran(const std::string& id, const std::vector<std::pair<std::string, State>>& tests,
             const Run& settings) {
        RunInfo info = samples::run(id, ++second, settings.suite);
        info.device = settings.device;
        info.simulated.reset();
        info.torch = settings.torch;
        info.shim = settings.shim;
        info.keep_going = settings.keep_going;
        info.seeds = settings.seeds;
        ASSERT_TRUE(store.begin_run(info));
        JobResult job = samples::job("a.py");
        job.record.cases.clear();
        job.record.device_events.clear();
        job.record.kernels.clear();
        for (const auto& [test, state] : tests)
            job.record.cases.push_back(samples::test(test, state));
        ASSERT_TRUE(store.save_job(id, job));
        ASSERT_TRUE(store.finish_run(id, samples::end(second, settings.complete)));
    }
    void ran(const std::string& id, const std::vector<std::pair<std::string, State>>& tests) {
        ran(id, tests, Run{});
    }
    Expected<void> put(const std::string& id, const GapsOfRun& gaps) {
        return log.put_run(id, [&]() -> Expected<GapsOfRun> { return gaps; });
    }
    void meets(const std::string& id, const std::vector<GapHit>& hits) {
        const auto done = put(id, {{facts()}, hits, {}});
        ASSERT_TRUE(done) << to_line(done.error());
    }
    void meets_with(const std::string& id, const std::string& torch) {
        ran(id, {{"a.py::t", State::errored}}, {torch});
        meets(id, {hit_in("a.py::t")});
    }
    void closes(const std::string& id, const std::string& torch) {
        ran(id, {{"a.py::t", State::passed}}, {torch});
        ASSERT_TRUE(put(id, {{}, {passed_in("a.py::t")}, {kGraph}}));
    }
    void scans(const std::string& torch, bool found = true) {
        const std::vector<GapFacts> gaps(found ? 1 : 0, facts());
        const auto put = log.put_scan(gaps, "mps", torch);
        ASSERT_TRUE(put) << to_line(put.error());
    }
    StoredGap gap() const { return log.gaps()->at(0); }
    // "RUN TEST" of each.
    std::vector<std::string> current() const {
        std::vector<std::string> words;
        const auto hits = log.current_hits();
        EXPECT_TRUE(hits) << to_line(hits.error());
        for (const CurrentHit& hit : *hits) words.push_back(hit.run + " " + hit.hit.test);
        return words;
    }
    std::vector<std::string> blocked(const std::string& before = "") const {
        std::vector<std::string> words;
        const auto rows = log.blocked_tests(before);
        EXPECT_TRUE(rows) << to_line(rows.error());
        for (const BlockedTest& row : *rows) words.push_back(row.suite + " " + row.test);
        return words;
    }

    Store store = std::move(*Store::temporary());
    GapLog log{store};
    int second = 0;
};

TEST_F(GapLogTest, CountsHitsOfTheLatestRunOfATest) {
    ran("r1", {{"a.py::t1", State::errored}, {"a.py::t2", State::errored}});
    meets("r1", {hit_in("a.py::t1"), hit_in("a.py::t2")});
    EXPECT_THAT(current(), ElementsAre("r1 a.py::t1", "r1 a.py::t2"));
    // Runs of one test, skipped or unreached tests, and other suites do not change the rest.
    ran("r2", {{"a.py::t2", State::passed}});
    EXPECT_THAT(current(), ElementsAre("r1 a.py::t1"));
    ran("r3", {{"a.py::t1", State::skipped}});
    ran("r4", {{"a.py::t1", State::not_run}}, {.complete = false});
    ran("r5", {{"a.py::t1", State::passed}}, {.suite = "beta"});
    ran("r6", {{"a.py::t1", State::failed}}, {.shim = false});
    EXPECT_THAT(current(), ElementsAre("r1 a.py::t1"));
    ran("r7", {{"a.py::t1", State::errored}});
    meets("r7", {hit_in("a.py::t1")});
    EXPECT_THAT(current(), ElementsAre("r7 a.py::t1"));
    ran("r8", {{"a.py::t1", State::failed}});
    EXPECT_THAT(current(), IsEmpty());
}

TEST_F(GapLogTest, APseudoCaseRanIfAnyTestBelowItRan) {
    ran("r1", {{"a.py::<module>", State::errored}});
    meets("r1", {hit_in("a.py::<module>")});
    ran("r2", {{"b.py::t", State::passed}, {"a.pyx::t", State::passed}});
    EXPECT_THAT(current(), ElementsAre("r1 a.py::<module>"));
    ran("r3", {{"a.py::T::t", State::passed}});
    EXPECT_THAT(current(), IsEmpty());
}

TEST_F(GapLogTest, CountsHitsOutsideTestsOfTheLatestCompleteRun) {
    ran("r1", {});
    meets("r1", {hit_in("", false)});
    ran("r2", {}, {.complete = false});
    EXPECT_THAT(current(), ElementsAre("r1 "));
    ran("r3", {});
    EXPECT_THAT(current(), IsEmpty());
}

TEST_F(GapLogTest, RunsWithoutAVerdictHideNoHits) {
    ran("r1", {{"a.py::T::a", State::errored}});
    ASSERT_TRUE(put("r1", {{facts()}, {hit_in("a.py::T::a")}, {}}));
    ran("r2", {{"a.py::T::a", State::passed}}, {.keep_going = true});
    ran("r3", {{"a.py::T::a", State::passed}}, {.seeds = 3});
    EXPECT_EQ(log.current_hits()->size(), 1U);
    ran("r4", {{"a.py::T::a", State::passed}});
    EXPECT_THAT(*log.current_hits(), IsEmpty());
}

TEST_F(GapLogTest, ATestIsBlockedUntilItPasses) {
    ran("r1", {{"a.py::t1", State::errored}, {"a.py::t2", State::errored}});
    meets("r1", {hit_in("a.py::t1"), hit_in("a.py::t2"), hit_in("a.py::t3", false)});
    ran("r2", {{"a.py::t1", State::errored}}, {.suite = "beta"});
    meets("r2", {hit_in("a.py::t1")});
    // It fails for another reason, then passes.
    ran("r3", {{"a.py::t1", State::failed}});
    EXPECT_THAT(blocked(), ElementsAre("alpha a.py::t1", "alpha a.py::t2", "beta a.py::t1"));
    ran("r4", {{"a.py::t1", State::passed}});
    ASSERT_TRUE(put("r4", {{}, {passed_in("a.py::t1")}, {}}));
    EXPECT_THAT(blocked(), ElementsAre("alpha a.py::t2", "beta a.py::t1"));
    EXPECT_THAT(blocked("r4"), ElementsAre("alpha a.py::t1", "alpha a.py::t2", "beta a.py::t1"))
        << "what the run itself says does not count";
    EXPECT_THAT(*log.hits("r4"), IsEmpty()) << "nothing was met there";
    EXPECT_THAT(current(), ElementsAre("r1 a.py::t2", "r1 a.py::t3", "r2 a.py::t1"));
    ran("r5", {{"a.py::t1", State::errored}});
    meets("r5", {hit_in("a.py::t1")});
    EXPECT_THAT(blocked(), ElementsAre("alpha a.py::t2", "beta a.py::t1", "alpha a.py::t1"));
}

TEST_F(GapLogTest, AGapThatBlocksATestOnTwoDevicesIsPassedOnEach) {
    const auto targets = [&](const std::string& before) {
        std::vector<bool> same;
        const auto blocked = log.blocked_tests(before);
        for (const BlockedTest& row : *blocked) same.push_back(row.same_target);
        return same;
    };
    ran("r1", {{"a.py::t", State::errored}});
    meets("r1", {hit_in("a.py::t")});
    ran("r2", {{"a.py::t", State::errored}}, {.device = "cuda"});
    meets("r2", {hit_in("a.py::t")});
    ran("r3", {{"a.py::t", State::passed}});
    EXPECT_THAT(targets("r3"), testing::UnorderedElementsAre(true, false));
    ASSERT_TRUE(put("r3", {{}, {passed_in("a.py::t")}, {}}));
    ran("r4", {{"a.py::t", State::passed}}, {.device = "cuda"});
    EXPECT_THAT(targets("r4"), ElementsAre(true)) << "on mps it passed";
}

TEST_F(GapLogTest, LastSeenIsTheNewestTorchThatMetIt) {
    scans("2.14.0");
    meets_with("r1", "2.9.1");
    EXPECT_EQ(gap().first_seen, "scan");
    EXPECT_EQ(gap().last_seen, "r1") << "a run goes before a scan";
    EXPECT_EQ(gap().last_torch, "2.9.1");
    scans("2.15.0");
    EXPECT_EQ(gap().last_torch, "2.9.1") << "no run met it with that one";
    meets_with("r2", "2.13.0");
    meets_with("r3", "2.12.0");
    EXPECT_EQ(gap().last_seen, "r2");
    EXPECT_EQ(gap().last_torch, "2.13.0");
}

TEST_F(GapLogTest, OnlyTheSameOrANewerTorchReopensAGap) {
    meets_with("r1", "2.9.0");
    closes("r2", "2.13.0");
    EXPECT_EQ(gap().status, "fixed");
    EXPECT_EQ(gap().closed_by, "r2");
    meets_with("r3", "2.12.0");
    scans("2.14.0");
    EXPECT_EQ(gap().status, "fixed");
    EXPECT_EQ(gap().closed_by, "r2");
    meets_with("r4", "2.13.0");
    EXPECT_EQ(gap().status, "open");
    EXPECT_FALSE(gap().closed_by);
}

TEST_F(GapLogTest, ScansAndRunsKeepManualFields) {
    meets_with("r1", "2.13.0");
    ASSERT_TRUE(log.set(kGraph, "status", "fixed"));
    meets_with("r2", "2.13.0");
    EXPECT_EQ(gap().status, "fixed");
    ASSERT_TRUE(log.set(kGraph, "status", "open"));
    ASSERT_TRUE(log.set(kGraph, "description", "mine"));
    closes("r3", "2.13.0");
    EXPECT_EQ(gap().status, "open");
    scans("2.13.0");
    EXPECT_EQ(gap().facts.description, "mine");
}

TEST_F(GapLogTest, ScansAndRunsKeepAManualStatusOfAClosedGap) {
    meets_with("r1", "2.13.0");
    closes("r2", "2.13.0");
    ASSERT_TRUE(log.set(kGraph, "status", "fixed"));
    EXPECT_FALSE(gap().closed_by);
    meets_with("r3", "2.13.0");
    EXPECT_EQ(gap().status, "fixed");
}

TEST_F(GapLogTest, ALaterScanClosesAGapThatOnlyScansFound) {
    scans("2.13.0");
    scans("2.12.0", false);
    EXPECT_EQ(gap().status, "open") << "an older torch says nothing";
    ASSERT_TRUE(log.put_scan({}, "xpu", "2.14.0"));
    EXPECT_EQ(gap().status, "open") << "nor does another device";
    scans("2.14.0", false);
    EXPECT_EQ(gap().status, "fixed");
    EXPECT_EQ(gap().closed_by, "scan");
    meets_with("r1", "2.13.0");
    EXPECT_EQ(gap().status, "fixed");
    ASSERT_TRUE(log.set(kGraph, "issue", "https://example.org/1"));
    meets_with("r2", "2.14.0");
    EXPECT_EQ(gap().status, "open");
    scans("2.15.0", false);
    EXPECT_EQ(gap().status, "open") << "runs met it";
}

TEST_F(GapLogTest, ANewerScanReopensAGapThatAScanClosed) {
    scans("2.13.0");
    scans("2.14.0", false);
    scans("2.13.0");
    EXPECT_EQ(gap().status, "fixed");
    scans("2.15.0");
    EXPECT_EQ(gap().status, "open");
    ASSERT_TRUE(log.set(kGraph, "status", "planned"));
    scans("2.16.0", false);
    EXPECT_EQ(gap().status, "planned");
}

}  // namespace
}  // namespace compat::store
