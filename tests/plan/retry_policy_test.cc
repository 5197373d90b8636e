#include "runner/plan/retry_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace compat::plan {
namespace {

using testing::ElementsAre;
using enum AttemptKind;
using enum Fate;

Attempt attempt(AttemptKind kind, std::vector<Row> rows) {
    Attempt made;
    made.kind = kind;
    made.rows = std::move(rows);
    if (kind != whole)
        for (const Row& row : made.rows)
            if (!row.pseudo) made.asked.push_back(row.id);
    return made;
}
Attempt forked(Attempt of) {
    of.forked = true;
    return of;
}
Attempt stopped(Attempt of) {
    of.stopped = true;
    return of;
}
Attempt unknown(Attempt of) {
    of.known = false;
    return of;
}

TEST(RetryPolicy, StartsWithTheWholeModule) {
    EXPECT_EQ(next_attempt({}, {}), (AttemptRequest{whole, {}}));
    EXPECT_EQ(next_attempt({attempt(whole, {{"m::a", good}, {"m::b", bad}})}, {}), std::nullopt);
    EXPECT_EQ(next_attempt({attempt(whole, {})}, {}), std::nullopt);
}

TEST(RetryPolicy, AfterACrashTheRestRunsThenTheCrashedTestAlone) {
    std::vector<Attempt> so_far{
        attempt(whole, {{"m::a", good}, {"m::b", died}, {"m::c", unreached}, {"m::d", unreached}})};
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{rest, {"m::c", "m::d"}}));
    so_far.push_back(attempt(rest, {{"m::c", died}, {"m::d", unreached}}));
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{rest, {"m::d"}}));
    so_far.push_back(attempt(rest, {{"m::d", bad}}));
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{alone, {"m::b"}}));
    so_far.push_back(attempt(alone, {{"m::b", died}}));
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{alone, {"m::c"}}));
    so_far.push_back(attempt(alone, {{"m::c", good}}));
    EXPECT_EQ(next_attempt(so_far, {}), std::nullopt);
}

TEST(RetryPolicy, StopsAfterTheRestartsAndSaysSo) {
    std::vector<Attempt> so_far{attempt(whole, {{"m::a", died}, {"m::b", unreached}})};
    EXPECT_EQ(next_attempt(so_far, {.restarts = 0})->kind, alone);
    EXPECT_THAT(not_run_reasons(so_far, {.restarts = 0}).reason_for("m::other"),
                testing::HasSubstr("limits.restarts"));
    EXPECT_EQ(not_run_reasons(so_far, {.restarts = 1}).reason_for("m::other"), "");
}

TEST(RetryPolicy, AFixtureThatCrashesTwiceEndsItsTests) {
    const Row fixture{"m::B::<setUpClass>", died, true};
    std::vector<Attempt> so_far{attempt(
        whole, {{"m::A::x", good}, {"m::B::x", unreached}, {"m::C::x", unreached}, fixture})};
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{rest, {"m::B::x", "m::C::x"}}));
    so_far.push_back(attempt(rest, {{"m::B::x", unreached}, {"m::C::x", unreached}, fixture}));
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{rest, {"m::C::x"}}));
    EXPECT_EQ(not_run_reasons(so_far, {}).reason_for("m::B::x"),
              "its fixture ended the process twice");
    EXPECT_EQ(not_run_reasons(so_far, {}).reason_for("m::C::x"), "");
    so_far.push_back(attempt(rest, {{"m::C::x", good}}));
    EXPECT_EQ(next_attempt(so_far, {}), std::nullopt);
    EXPECT_EQ(not_run_reasons(so_far, {}).reason_for("m::B::x"),
              "its fixture ended the process twice");
}

TEST(RetryPolicy, AModuleFixtureThatCrashesTwiceEndsTheModule) {
    const Row fixture{"m::<setUpModule>", died, true};
    std::vector<Attempt> so_far{attempt(whole, {{"m::a", unreached}, fixture})};
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{rest, {"m::a"}}));
    so_far.push_back(attempt(rest, {{"m::a", unreached}, fixture}));
    EXPECT_EQ(next_attempt(so_far, {}), std::nullopt);
}

TEST(RetryPolicy, CrashesBetweenTestsContinueWhileTestsEnd) {
    const Row death{"m::<module>", died, true};
    std::vector<Attempt> so_far{
        attempt(whole, {{"m::a", good}, {"m::b", unreached}, {"m::c", unreached}, death}),
        attempt(rest, {{"m::b", good}, {"m::c", unreached}, death})};
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{rest, {"m::c"}}));
    so_far.push_back(attempt(rest, {{"m::c", unreached}, death}));
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{rest, {"m::c"}}));
    so_far.push_back(attempt(rest, {{"m::c", unreached}, death}));
    EXPECT_EQ(next_attempt(so_far, {}), std::nullopt);
    EXPECT_EQ(not_run_reasons(so_far, {}).reason_for("m::other"),
              "the process died twice before any test");
}

TEST(RetryPolicy, TestsThatAreNotCollectedAgainAreGivenUp) {
    std::vector<Attempt> so_far{attempt(whole, {{"m::a", died}, {"m::b[1]", unreached}}),
                                attempt(rest, {})};
    EXPECT_EQ(next_attempt(so_far, {})->kind, alone);
    EXPECT_EQ(not_run_reasons(so_far, {}).reason_for("m::other"), "the framework stops before it");
}

TEST(RetryPolicy, AFailedCollectionIsFinal) {
    const auto broken = unknown(attempt(whole, {{"m::<module>", bad, true}, {"m::a", unreached}}));
    EXPECT_EQ(next_attempt({broken}, {}), std::nullopt);
    EXPECT_EQ(not_run_reasons({broken}, {}).reason_for("m::other"), "collection failed");
    EXPECT_EQ(next_attempt({broken}, {.retries = 1}), (AttemptRequest{whole, {}}));
    EXPECT_EQ(next_attempt({broken, broken}, {.retries = 1}), std::nullopt);
}

TEST(RetryPolicy, WithSeedsWholeAttemptsFollowEachOther) {
    const AttemptLimits seeds{.seeds = 3};
    std::vector<Attempt> so_far{forked(attempt(whole, {{"m::a", good}, {"m::b", bad}}))};
    EXPECT_EQ(next_attempt(so_far, seeds), (AttemptRequest{whole, {}}));
    so_far.push_back(stopped(attempt(whole, {{"m::a", unreached}, {"m::b", unreached}})));
    EXPECT_EQ(next_attempt(so_far, seeds), (AttemptRequest{whole, {}})) << "an interrupt";
    so_far.push_back(forked(attempt(whole, {{"m::a", good}, {"m::b", good}})));
    EXPECT_EQ(next_attempt(so_far, seeds), (AttemptRequest{whole, {}}));
    so_far.push_back(forked(attempt(whole, {{"m::a", bad}, {"m::b", bad}})));
    EXPECT_EQ(next_attempt(so_far, seeds), std::nullopt) << "nothing is confirmed or retried";
    EXPECT_EQ(next_attempt({attempt(whole, {{"m::a", died}})}, seeds), std::nullopt);
    EXPECT_EQ(next_attempt({unknown(attempt(whole, {}))}, seeds), std::nullopt);
}

TEST(RetryPolicy, ForkedFailuresAreConfirmed) {
    std::vector<Attempt> so_far{
        forked(attempt(whole, {{"m::a", good}, {"m::b", bad}, {"m::c", bad}, {"m::d", died}}))};
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{alone, {"m::d"}}));
    so_far.push_back(attempt(alone, {{"m::d", died}}));
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{again, {"m::b", "m::c"}}));
    so_far.push_back(attempt(again, {{"m::b", bad}, {"m::c", bad}}));
    EXPECT_EQ(next_attempt(so_far, {}), std::nullopt);
}

TEST(RetryPolicy, DeferredFailuresDoNotBlockOthers) {
    Row deferred{"m::b", bad};
    deferred.deferred = true;
    std::vector<Attempt> so_far{forked(attempt(whole, {deferred, {"m::c", bad}, {"m::d", died}}))};
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{alone, {"m::d"}}));
    so_far.push_back(attempt(alone, {{"m::d", died}}));
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{again, {"m::c"}}));
    EXPECT_EQ(next_attempt(so_far, {.retries = 1}), (AttemptRequest{again, {"m::b", "m::c"}}));
    so_far.push_back(attempt(again, {{"m::c", good}}));
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{whole, {}}));
    so_far.back() = attempt(again, {{"m::c", bad}});
    EXPECT_EQ(next_attempt(so_far, {}), std::nullopt);
}

TEST(RetryPolicy, TheWholeModuleDecidesWhenForkAndFreshProcessDiffer) {
    std::vector<Attempt> so_far{
        forked(attempt(whole, {{"m::a", good}, {"m::b", bad}, {"m::c", bad}})),
        attempt(again, {{"m::b", bad}, {"m::c", good}})};
    EXPECT_EQ(next_attempt(so_far, {}), (AttemptRequest{whole, {}}));
    auto depends_on_order = so_far;
    depends_on_order.push_back(attempt(whole, {{"m::a", good}, {"m::b", bad}, {"m::c", bad}}));
    EXPECT_EQ(next_attempt(depends_on_order, {}), std::nullopt) << "as it would be without a fork";
    EXPECT_EQ(next_attempt(depends_on_order, {.retries = 1}),
              (AttemptRequest{again, {"m::b", "m::c"}}));
    auto depends_on_the_fork = so_far;
    depends_on_the_fork.push_back(attempt(whole, {{"m::a", good}, {"m::b", bad}, {"m::c", good}}));
    EXPECT_EQ(next_attempt(depends_on_the_fork, {}), std::nullopt);
}

TEST(RetryPolicy, AForkThatFailedOutsideItsTestsIsRepeated) {
    for (const Fate fate : {bad, died}) {
        const auto fork =
            forked(attempt(whole, {{"m::a", good}, {"m::A::<tearDownClass>", fate, true}}));
        EXPECT_EQ(next_attempt({fork}, {}), (AttemptRequest{whole, {}}));
        EXPECT_EQ(next_attempt({fork, attempt(whole, {{"m::a", good}})}, {}), std::nullopt);
    }
    EXPECT_EQ(next_attempt({forked(unknown(attempt(whole, {})))}, {}), (AttemptRequest{whole, {}}));
}

TEST(RetryPolicy, RetriesAreLimitedAndRunAlone) {
    const AttemptLimits twice{.retries = 2};
    std::vector<Attempt> so_far{attempt(whole, {{"m::a", bad}, {"m::b", bad}})};
    EXPECT_EQ(next_attempt(so_far, twice), (AttemptRequest{again, {"m::a", "m::b"}}));
    so_far.push_back(attempt(again, {{"m::a", bad}, {"m::b", good}}));
    EXPECT_EQ(next_attempt(so_far, twice), (AttemptRequest{again, {"m::a"}}));
    so_far.push_back(attempt(again, {{"m::a", bad}}));
    EXPECT_EQ(next_attempt(so_far, twice), (AttemptRequest{alone, {"m::b"}}));
    so_far.push_back(attempt(alone, {{"m::b", good}}));
    EXPECT_EQ(next_attempt(so_far, twice), std::nullopt);
}

TEST(RetryPolicy, AStoppedAttemptContinuesWhereItStopped) {
    EXPECT_EQ(next_attempt({stopped(unknown(attempt(whole, {{"m::a", unreached}})))}, {}),
              (AttemptRequest{whole, {}}));
    std::vector<Attempt> so_far{
        stopped(attempt(whole, {{"m::a", good}, {"m::b", unreached}, {"m::c", unreached}}))};
    EXPECT_EQ(next_attempt(so_far, {.restarts = 1}), (AttemptRequest{rest, {"m::b", "m::c"}}));
    so_far.push_back(stopped(attempt(rest, {{"m::b", unreached}, {"m::c", unreached}})));
    EXPECT_EQ(next_attempt(so_far, {.restarts = 1}), (AttemptRequest{rest, {"m::b", "m::c"}}));
    so_far.push_back(attempt(rest, {{"m::b", good}, {"m::c", died}}));
    EXPECT_EQ(next_attempt(so_far, {.restarts = 1}), (AttemptRequest{alone, {"m::c"}}));
    so_far.push_back(stopped(attempt(alone, {{"m::c", unreached}})));
    EXPECT_EQ(next_attempt(so_far, {.restarts = 1}), (AttemptRequest{alone, {"m::c"}}));
}

TEST(RetryPolicy, WithMaxfailFailuresAreRepeatedBeforeTheRest) {
    const AttemptLimits first{.retries = 1, .maxfail = 1};
    std::vector<Attempt> so_far{attempt(whole, {{"m::a", bad}, {"m::b", unreached}})};
    EXPECT_EQ(next_attempt(so_far, first), (AttemptRequest{again, {"m::a"}}));
    const auto still = [&](Fate fate) {
        auto all = so_far;
        all.push_back(attempt(again, {{"m::a", fate}}));
        if (fate == good) all.push_back(attempt(alone, {{"m::a", good}}));
        return next_attempt(all, first);
    };
    EXPECT_EQ(still(bad), std::nullopt);
    EXPECT_EQ(still(good), (AttemptRequest{rest, {"m::b"}}));
}

// Whatever a module does, the planner ends, no test runs alone more than once, and each test is
// reached or its being left is explained.
TEST(RetryPolicy, TerminatesForAnyBehaviour) {
    const std::vector<Fate> fates{good, bad, died, unreached};
    for (unsigned seed = 0; seed < 2000; ++seed) {
        unsigned state = seed * 2654435761u + 1;
        const auto draw = [&](unsigned below) {
            state = state * 1664525u + 1013904223u;
            return (state >> 16) % below;
        };
        const AttemptLimits limits{.restarts = static_cast<int>(draw(4)),
                                   .retries = static_cast<int>(draw(3)),
                                   .maxfail = static_cast<std::int64_t>(draw(3))};
        std::vector<std::string> all;
        for (unsigned i = 0; i < 1 + draw(6); ++i) all.push_back("m::t" + std::to_string(i));
        std::vector<Attempt> so_far;
        std::map<std::string, int> alone_runs;
        while (auto next = next_attempt(so_far, limits)) {
            ASSERT_LT(so_far.size(), 60u) << "seed " << seed;
            Attempt made;
            made.kind = next->kind;
            made.asked = next->only;
            made.forked = so_far.empty() && draw(2) == 0;
            made.known = draw(8) != 0;
            bool dead = false;
            for (const auto& id : next->kind == whole ? all : next->only) {
                const Fate fate = dead ? unreached : fates[draw(3)];
                if (fate == died) dead = true;
                made.rows.push_back({id, fate});
            }
            if (draw(5) == 0) made.rows.push_back({"m::<module>", draw(2) ? bad : died, true});
            if (next->kind == alone) ++alone_runs[next->only.front()];
            so_far.push_back(std::move(made));
        }
        for (const auto& [id, runs] : alone_runs) EXPECT_EQ(runs, 1) << "seed " << seed;
        std::set<std::string> reached;
        for (const auto& made : so_far)
            for (const auto& row : made.rows)
                if (row.fate != unreached) reached.insert(row.id);
        for (const auto& id : all)
            if (!reached.contains(id) && limits.maxfail == 0) {
                EXPECT_NE(not_run_reasons(so_far, limits).reason_for(id), "")
                    << "seed " << seed << " " << id;
            }
    }
}

}  // namespace
}  // namespace compat::plan
