#include "runner/run/recording/recorder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runner/archive/run_record.h"
#include "runner/store/store_impl.h"
#include "tests/support/temp_tree.h"

namespace compat::run {
namespace {

using nlohmann::json;
using parsers::State;
using testing::ElementsAre;
using enum AttemptKind;

using Tests = std::map<std::string, State>;  // by name

Assignment first(size_t module) { return {module, 1, whole, {}, true}; }

class RecorderTest : public testing::Test {
  protected:
    void SetUp() override {
        store::RunInfo info;
        info.id = info.suite = info.series = "r";
        ASSERT_TRUE(store.begin_run(info));
        modules = {{"a.py", {}}, {"b.py", {}}, {"c.py", {}}};
    }

    Recorder recorder(std::int64_t maxfail = 0) {
        return recorder({.limits = {.maxfail = maxfail}});
    }
    Recorder recorder(Recorder::Settings settings) {
        return {store, "r", tree.root(), settings, modules};
    }
    // One that confirms each signature once, with all modules under way.
    Recorder confirming_once(plan::AttemptLimits limits = {}) {
        auto made = recorder({.limits = limits, .confirmation = {.confirm_all = false}});
        for (size_t module = 0; module < modules.size(); ++module)
            EXPECT_TRUE(made.resume_module(module, {}).next);
        EXPECT_TRUE(made.begin().empty());
        return made;
    }

    // The files of an attempt that ended in order, or was cut off where `ended` is false.
    void write(size_t module, int number, bool forked, const Tests& tests, bool ended = true) {
        const std::string& path = modules[module].path;
        const auto names = archive::attempt_names(path, number, whole);
        std::string events;
        int seq = 0;
        const auto add = [&](json line) {
            line["pid"] = 1;
            line["seq"] = seq++;
            events += line.dump() + "\n";
        };
        json session{{"event", "session"}, {"format", 1}, {"framework", "unittest"}};
        if (forked) session["forked"] = true;
        add(session);
        for (const auto& [name, state] : tests)
            add({{"event", "collected"}, {"id", path + "::" + name}, {"name", name}});
        add({{"event", "ready"}, {"collected", tests.size()}});
        for (const auto& [name, state] : tests) {
            if (state == State::not_run) continue;
            const std::string id = path + "::" + name;
            add({{"event", "start"}, {"id", id}, {"time", 0}});
            json end{{"event", "end"}, {"id", id}, {"phase", "call"}, {"duration_s", 0}};
            end["state"] = name_of(state);
            if (state != State::passed)
                end["failure"] = {
                    {"type", "OSError"},
                    {"message", messages.contains(name) ? messages.at(name) : message},
                    {"traceback", ""},
                    {"frames",
                     json::array(
                         {{{"file", "/src/library/hub.py"}, {"line", 3}, {"function", "load"}}})},
                    {"phase", "call"}};
            add(end);
        }
        if (ended) add({{"event", "finish"}, {"collected", tests.size()}, {"ended", tests.size()}});
        tree.write(names.log);
        tree.write(names.events, events);
    }

    std::vector<Step> all_steps(Recorder& recorder, const Assignment& assignment,
                                const Tests& tests, ProcessEnd end = ProcessEnd::exited(1),
                                bool forked = true) {
        exec::JobFinished finished;
        finished.forked = assignment.may_fork && forked;
        const bool good = std::all_of(tests.begin(), tests.end(), [](const auto& test) {
            return test.second == State::passed;
        });
        if (good && end.kind == ProcessEnd::Kind::exited) end = ProcessEnd::exited(0);
        finished.end = std::move(end);
        write(assignment.module, assignment.number, finished.forked, tests,
              finished.end.kind == ProcessEnd::Kind::exited);
        return recorder.job_finished(assignment, finished);
    }
    Step ended(Recorder& recorder, const Assignment& assignment, const Tests& tests,
               ProcessEnd end = ProcessEnd::exited(1)) {
        auto steps = all_steps(recorder, assignment, tests, std::move(end));
        EXPECT_EQ(steps.size(), 1u);
        return std::move(steps.front());
    }

    [[nodiscard]] std::vector<store::JobResult> stored(size_t module) const {
        std::vector<store::JobResult> found;
        const auto seen = store.each_module("r", [&](store::StoredModule known) -> Expected<void> {
            if (known.path == modules[module].path) found = std::move(known.attempts);
            return {};
        });
        EXPECT_TRUE(seen);
        return found;
    }

    test::TempTree tree;
    std::string message = "no hub";               // of every failure
    std::map<std::string, std::string> messages;  // of a test's, by name
    store::Store store = *store::Store::temporary();
    std::vector<archive::PlannedModule> modules;
};

std::string states(const display::ModuleDone& done) {
    std::string all;
    for (const auto& test : done.verdicts.record.cases)
        all += fmt::format("{}={} ", test.name, name_of(test.state));
    return all;
}

TEST_F(RecorderTest, EachModuleConfirmsItsForkedFailures) {
    auto r = recorder();
    for (size_t module = 0; module < 2; ++module) {
        const Step step = ended(r, first(module), {{"x", State::errored}, {"y", State::passed}});
        ASSERT_TRUE(step.next);
        EXPECT_EQ(step.next->kind, again);
        EXPECT_THAT(step.next->only, ElementsAre(modules[module].path + "::x"));
    }
    const Step same = ended(r, {0, 2, again, {"a.py::x"}}, {{"x", State::errored}});
    ASSERT_TRUE(same.done);
    EXPECT_EQ(states(*same.done), "x=errored y=passed ");
    const Step passed = ended(r, {1, 2, again, {"b.py::x"}}, {{"x", State::passed}});
    ASSERT_TRUE(passed.next) << "the equal failure of the other is none of its own";
    EXPECT_EQ(passed.next->kind, whole);
}

const Tests kFails{{"x", State::errored}, {"y", State::passed}};
const Tests kPasses{{"x", State::passed}, {"y", State::passed}};

bool waits(const Step& step) { return !step.next && !step.done; }

TEST_F(RecorderTest, OneModuleConfirmsASignatureForAll) {
    auto r = confirming_once();
    EXPECT_TRUE(waits(ended(r, first(1), kFails)));
    EXPECT_TRUE(waits(ended(r, first(0), kFails)));
    const auto all_ran = all_steps(r, first(2), kPasses);
    ASSERT_EQ(all_ran.size(), 2u);
    EXPECT_TRUE(all_ran[0].done);
    ASSERT_TRUE(all_ran[1].next);
    EXPECT_EQ(all_ran[1].next->module, 0u) << "the first by path, whichever ended first";
    EXPECT_EQ(all_ran[1].next->number, 2);
    EXPECT_EQ(all_ran[1].next->kind, again);
    EXPECT_THAT(all_ran[1].next->only, ElementsAre("a.py::x"));
    const auto confirmed = all_steps(r, *all_ran[1].next, {{"x", State::errored}});
    ASSERT_EQ(confirmed.size(), 2u);
    for (const Step& step : confirmed) {
        ASSERT_TRUE(step.done);
        EXPECT_EQ(states(*step.done), "x=errored y=passed ");
    }
    EXPECT_EQ(confirmed[0].done->attempts, 2);
    EXPECT_EQ(confirmed[1].done->attempts, 1) << "believed";
    EXPECT_TRUE(r.close_unfinished_modules().empty());
}

TEST_F(RecorderTest, AfterADifferentResultEveryModuleConfirms) {
    auto r = confirming_once();
    (void)ended(r, first(0), kFails);
    (void)ended(r, first(1), kFails);
    const auto all_ran = all_steps(r, first(2), kFails);
    ASSERT_EQ(all_ran.size(), 2u);
    EXPECT_TRUE(waits(all_ran[0]));
    const Step differs = ended(r, *all_ran[1].next, {{"x", State::passed}});
    ASSERT_TRUE(differs.next);
    EXPECT_EQ(differs.next->kind, whole);
    const auto doubted = all_steps(r, *differs.next, kPasses);
    ASSERT_EQ(doubted.size(), 3u);
    ASSERT_TRUE(doubted[0].done);
    EXPECT_TRUE(doubted[0].done->verdicts.tests[0].fork_sensitive);
    for (const size_t module : {1, 2}) {
        ASSERT_TRUE(doubted[module].next);
        EXPECT_EQ(doubted[module].next->module, module);
        EXPECT_EQ(doubted[module].next->kind, again);
        EXPECT_TRUE(ended(r, *doubted[module].next, {{"x", State::errored}}).done);
    }
}

TEST_F(RecorderTest, FailuresThatAForkMayCauseAreConfirmedByTheirOwnModule) {
    message = "database is locked";
    auto r = confirming_once();
    for (size_t module = 0; module < 2; ++module) {
        const Step step = ended(r, first(module), kFails);
        ASSERT_TRUE(step.next);
        EXPECT_EQ(step.next->kind, again);
        EXPECT_THAT(step.next->only, ElementsAre(modules[module].path + "::x"));
    }
}

// Whether module 0 ends its confirmation before module 2 its first attempt, and y's state in it.
class ModuleUnderConfirmation : public RecorderTest,
                                public testing::WithParamInterface<std::tuple<bool, State>> {};

// Because of x module 0 confirms itself; it shares y with module 1, and nobody else has z.
TEST_P(ModuleUnderConfirmation, OthersAreChosenRegardless) {
    const auto [ends_early, repeated] = GetParam();
    messages = {{"x", "database is locked"}, {"z", "no such model"}};
    auto r = confirming_once();
    const Step itself = ended(r, first(0), {{"x", State::errored}, {"y", State::errored}});
    ASSERT_TRUE(itself.next);
    EXPECT_THAT(itself.next->only, ElementsAre("a.py::x", "a.py::y"));
    EXPECT_TRUE(itself.next->confirms);
    EXPECT_TRUE(waits(ended(r, first(1), {{"y", State::errored}, {"z", State::errored}})));
    if (ends_early) (void)all_steps(r, *itself.next, {{"x", State::errored}, {"y", repeated}});
    const auto all_ran = all_steps(r, first(2), kPasses);
    ASSERT_EQ(all_ran.size(), 2u);
    ASSERT_TRUE(all_ran[1].next);
    EXPECT_EQ(all_ran[1].next->module, 1u);
    EXPECT_THAT(all_ran[1].next->only, ElementsAre("b.py::z")) << "module 0 confirms y";
    EXPECT_TRUE(all_ran[1].next->confirms);
}

INSTANTIATE_TEST_SUITE_P(Recorder, ModuleUnderConfirmation,
                         testing::Combine(testing::Bool(),
                                          testing::Values(State::errored, State::passed)));

TEST_F(RecorderTest, AFreshFirstAttemptConfirmsEqualFailuresOfForks) {
    auto r = confirming_once();
    EXPECT_TRUE(waits(ended(r, first(1), kFails)));
    const auto own = all_steps(r, first(0), kFails, ProcessEnd::exited(1), /*forked=*/false);
    ASSERT_EQ(own.size(), 1u);
    ASSERT_TRUE(own[0].done) << "nothing to confirm";
    const auto all_ran = all_steps(r, first(2), kPasses);
    ASSERT_EQ(all_ran.size(), 2u);
    ASSERT_TRUE(all_ran[1].done);
    EXPECT_EQ(states(*all_ran[1].done), "x=errored y=passed ");
    EXPECT_EQ(all_ran[1].done->attempts, 1);
}

TEST_F(RecorderTest, FailuresThatOthersMayConfirmAreRetriedInForks) {
    messages = {{"z", "no such model"}};
    auto r = confirming_once({20, /*retries=*/1, 0});
    std::vector<Assignment> retries;
    for (size_t module = 0; module < 3; ++module) {
        const Step step =
            ended(r, first(module), module < 2 ? kFails : Tests{{"z", State::errored}});
        ASSERT_TRUE(step.next);
        EXPECT_EQ(step.next->kind, again);
        EXPECT_TRUE(step.next->may_fork);
        EXPECT_FALSE(step.next->confirms);
        retries.push_back(*step.next);
    }
    const Step flaky = ended(r, retries[2], {{"z", State::passed}});
    ASSERT_TRUE(flaky.next) << "forks that differ";
    EXPECT_EQ(flaky.next->kind, whole);
    EXPECT_FALSE(flaky.next->may_fork);
    EXPECT_TRUE(waits(ended(r, retries[1], {{"x", State::errored}})));
    const auto retried = all_steps(r, retries[0], {{"x", State::errored}});
    ASSERT_EQ(retried.size(), 2u);
    EXPECT_TRUE(waits(retried[0]));
    ASSERT_TRUE(retried[1].next) << "every fork has ended";
    EXPECT_EQ(retried[1].next->module, 0u);
    EXPECT_EQ(retried[1].next->number, 3);
    EXPECT_FALSE(retried[1].next->may_fork);
    const Step passed = ended(r, *flaky.next, {{"z", State::passed}});
    ASSERT_TRUE(passed.done);
    EXPECT_TRUE(passed.done->verdicts.tests[0].flaky);
    EXPECT_FALSE(passed.done->verdicts.tests[0].fork_sensitive);
    const auto confirmed = all_steps(r, *retried[1].next, {{"x", State::errored}});
    ASSERT_EQ(confirmed.size(), 2u);
    for (const Step& step : confirmed) ASSERT_TRUE(step.done);
    EXPECT_EQ(confirmed[0].done->attempts, 3);
    EXPECT_EQ(confirmed[1].done->attempts, 2) << "believed";
}

TEST_F(RecorderTest, WithRetriesAModuleConfirmsInItsRetryWhatOthersCannot) {
    message = "database is locked";
    auto r = confirming_once({20, /*retries=*/1, 0});
    const Step step = ended(r, first(0), kFails);
    ASSERT_TRUE(step.next);
    EXPECT_EQ(step.next->kind, again);
    EXPECT_FALSE(step.next->may_fork);
    EXPECT_TRUE(ended(r, *step.next, {{"x", State::errored}}).done);
}

// A failure that a fresh process of one run has shown needs none in the command's next run.
TEST_F(RecorderTest, AnEarlierRunsFreshProcessesConfirm) {
    message = "database is locked";
    Recorder::Settings settings{.confirmation = {.confirm_all = false}};
    const auto next_run = [&] {
        store = *store::Store::temporary();
        std::filesystem::remove_all(tree.root() / "modules");
        SetUp();
        auto made = recorder(settings);
        for (size_t module = 0; module < 3; ++module) (void)made.resume_module(module, {});
        (void)made.begin();
        return made;
    };
    {
        auto before = next_run();
        const Step own = ended(before, first(0), kFails);
        ASSERT_TRUE(own.next);
        EXPECT_TRUE(ended(before, *own.next, {{"x", State::errored}}).done);
        settings.confirmation.evidence = before.evidence();
    }
    for (const bool confirm_all : {false, true}) {
        message = "database is locked";
        settings.confirmation.confirm_all = confirm_all;
        auto r = next_run();
        EXPECT_EQ(ended(r, first(0), kFails).done.has_value(), !confirm_all);
        EXPECT_TRUE(ended(r, first(1), kFails).next) << "that test is another one";
    }
    settings.confirmation.confirm_all = false;
    auto r = next_run();
    message = "another file is locked";
    EXPECT_TRUE(ended(r, first(0), kFails).next);
}

TEST_F(RecorderTest, ARunThatGivesNoVerdictsConfirmsNothing) {
    message = "database is locked";
    const Recorder::Settings settings{
        .confirmation = {.confirm_all = false, .gives_verdicts = false}};
    auto r = recorder(settings);
    (void)r.resume_module(0, {});
    (void)r.begin();
    EXPECT_TRUE(ended(r, first(0), kFails).done);
}

class AttemptsBeforeTheChoice : public RecorderTest, public testing::WithParamInterface<bool> {};

// Module 0 crashes in its fork and fails with module 1's signature in the tests after the crash.
TEST_P(AttemptsBeforeTheChoice, DoNotChangeIt) {
    auto r = confirming_once();
    EXPECT_TRUE(waits(ended(r, first(1), kFails)));
    const Step rest =
        ended(r, first(0), {{"x", State::errored}, {"y", State::crashed}, {"z", State::not_run}},
              ProcessEnd::signaled(SIGSEGV));
    ASSERT_TRUE(rest.next);
    const auto step = [&] { return ended(r, *rest.next, {{"z", State::passed}}); };
    std::optional<Step> early;
    if (GetParam()) {
        early = step();
        while (early->next)
            early = ended(r, *early->next, {{"x", State::errored}, {"y", State::crashed}});
    }
    const auto all_ran = all_steps(r, first(2), kPasses);
    ASSERT_EQ(all_ran.size(), 2u);
    ASSERT_TRUE(all_ran[1].next);
    EXPECT_EQ(all_ran[1].next->module, 1u);
}

INSTANTIATE_TEST_SUITE_P(Recorder, AttemptsBeforeTheChoice, testing::Bool());

TEST_F(RecorderTest, WithMaxfailEveryModuleConfirmsAtOnce) {
    auto r = confirming_once({.maxfail = 2});
    const Step step = ended(r, first(0), kFails);
    ASSERT_TRUE(step.next);
    EXPECT_EQ(step.next->kind, again);
}

TEST_F(RecorderTest, AnotherModuleConfirmsWhenTheFirstCannot) {
    auto r = confirming_once();
    (void)ended(r, first(0), kFails);
    (void)ended(r, first(1), kFails);
    const auto all_ran = all_steps(r, first(2), kPasses);
    ASSERT_EQ(all_ran.size(), 2u);
    const auto nothing = all_steps(r, *all_ran[1].next, {{"x", State::not_run}});
    ASSERT_EQ(nothing.size(), 2u);
    EXPECT_TRUE(nothing[0].done);
    ASSERT_TRUE(nothing[1].next);
    EXPECT_EQ(nothing[1].next->module, 1u);
}

TEST_F(RecorderTest, ResumeConfirmsModulesThatWaitedWhenTheRunStopped) {
    auto r = confirming_once();
    (void)ended(r, first(0), kFails);
    (void)ended(r, first(1), kFails);
    EXPECT_EQ(r.close_unfinished_modules().size(), 2u);
    EXPECT_TRUE(r.tally().has_tests_to_resume);
    auto resumed = recorder({.confirmation = {.confirm_all = false}});
    for (size_t module = 0; module < 2; ++module)
        EXPECT_TRUE(waits(resumed.resume_module(module, stored(module))));
    const auto steps = resumed.begin();
    ASSERT_EQ(steps.size(), 1u);
    ASSERT_TRUE(steps[0].next);
    EXPECT_EQ(steps[0].next->module, 0u);
    EXPECT_EQ(all_steps(resumed, *steps[0].next, {{"x", State::errored}}).size(), 2u);

    auto later = recorder({.confirmation = {.confirm_all = false}});
    EXPECT_TRUE(later.resume_module(0, stored(0)).done);
    EXPECT_TRUE(waits(later.resume_module(1, stored(1))));
    const auto known = later.begin();
    ASSERT_EQ(known.size(), 1u);
    EXPECT_TRUE(known[0].done) << "the stored attempt of the other has confirmed it";
}

TEST_F(RecorderTest, ResumeRepeatsAnInterruptedConfirmation) {
    auto r = recorder(1);
    r.begin();
    (void)ended(r, first(0), {{"x", State::errored}});
    EXPECT_FALSE(r.tally().has_tests_to_resume);
    const Step step = ended(r, {0, 2, again, {"a.py::x"}}, {{"x", State::not_run}},
                            ProcessEnd::stopped("by a user"));
    ASSERT_TRUE(step.done);
    EXPECT_EQ(states(*step.done), "x=errored ") << "until then it counts";
    EXPECT_TRUE(r.tally().has_tests_to_resume);
    const Step resumed = recorder().resume_module(0, stored(0));
    ASSERT_TRUE(resumed.next);
    EXPECT_EQ(resumed.next->kind, again);
}

TEST_F(RecorderTest, StoppedModulesKeepTheirForkedResults) {
    auto r = recorder(1);
    r.begin();
    (void)ended(r, first(0), {{"x", State::errored}, {"y", State::passed}});
    EXPECT_FALSE(r.tally().has_tests_to_resume);
    const auto done = r.close_unfinished_modules();
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(states(done[0]), "x=errored y=passed ");
    EXPECT_TRUE(r.tally().has_tests_to_resume) << "a resume confirms it";
    EXPECT_TRUE(r.tally().facts.unexpected);
}

TEST_F(RecorderTest, AnUnstoredAttemptIsReadFromItsFiles) {
    write(0, 1, false, {{"x", State::errored}}, false);
    EXPECT_TRUE(recorder().resume_module(0, {}).done);
    // It began under `--retries`: the planner would not ask for it now.
    write(0, 2, false, {{"x", State::passed}}, false);
    tree.write(archive::attempt_names("a.py", 2, again).only, "a.py::x\n");
    const Step step = recorder().resume_module(0, stored(0));
    ASSERT_EQ(stored(0).size(), 2u);
    EXPECT_EQ(stored(0)[1].kind, again);
    EXPECT_THAT(stored(0)[1].only, ElementsAre("a.py::x"));
    ASSERT_TRUE(step.next) << "it passed apart";
    EXPECT_EQ(step.next->kind, alone);
}

// A run's database, and another process that holds it.
class BusyDatabaseTest : public RecorderTest {
  protected:
    void SetUp() override {
        RecorderTest::SetUp();
        auto opened = store::Store::open(tree.root() / "runner.db");
        ASSERT_TRUE(opened) << to_line(opened.error());
        store = std::move(*opened);
        store::RunInfo info;
        info.id = info.suite = info.series = "r";
        ASSERT_TRUE(store.begin_run(info));
        ASSERT_TRUE(archive::record_run(tree.root(), info));
        store.set_patience(Milliseconds{10});
        lock.emplace(other.impl().database);
    }

    store::Store other = *store::Store::open(tree.root() / "runner.db");
    std::optional<store::Transaction> lock;
};

TEST_F(BusyDatabaseTest, TheRunContinuesAndStoresLater) {
    auto r = recorder();
    EXPECT_TRUE(ended(r, first(0), {{"x", State::passed}}, ProcessEnd::exited(0)).done);
    EXPECT_TRUE(ended(r, first(1), {{"x", State::errored}, {"y", State::passed}}).next);
    EXPECT_FALSE(r.fatal_error());
    EXPECT_EQ(r.stop(), "");
    const auto waits = r.save_pending();
    ASSERT_FALSE(waits);
    EXPECT_EQ(waits.error().kind, ErrorKind::busy);
    lock.reset();
    EXPECT_TRUE(r.save_pending());
    EXPECT_EQ(stored(0).size(), 1u);
    EXPECT_EQ(stored(1).size(), 1u);
    ended(r, {1, 2, again, {"b.py::x"}}, {{"x", State::passed}}, ProcessEnd::exited(0));
    EXPECT_EQ(stored(1).size(), 2u);
    EXPECT_FALSE(r.fatal_error());
}

TEST_F(BusyDatabaseTest, UnstoredAttemptsAreStoredFromTheFolder) {
    {
        auto r = recorder();
        ended(r, first(0), {{"x", State::passed}}, ProcessEnd::exited(0));
        ended(r, first(1), {{"x", State::errored}});
        ended(r, {1, 2, again, {"b.py::x"}}, {{"x", State::passed}}, ProcessEnd::exited(0));
    }
    lock.reset();
    EXPECT_EQ(stored(1).size(), 0u);
    ASSERT_TRUE(archive::store_recorded(store, tree.root()));
    ASSERT_TRUE(archive::store_recorded(store, tree.root()))
        << "what is stored is not stored again";
    ASSERT_EQ(stored(0).size(), 1u);
    ASSERT_EQ(stored(1).size(), 2u);
    EXPECT_EQ(stored(1)[1].kind, again);
    EXPECT_EQ(stored(1)[1].record.outcome, parsers::ModuleOutcome::completed);
}

TEST_F(RecorderTest, AnIdFileWithoutItsAttemptIsRemoved) {
    const auto stale = tree.write(archive::attempt_names("a.py", 1, rest).only, "a.py::x\n");
    EXPECT_EQ(recorder().resume_module(0, {}).next->kind, whole);
    EXPECT_FALSE(std::filesystem::exists(stale));
}

TEST_F(RecorderTest, TheEventsOfAnUnstoredAttemptSayThatItWasForked) {
    write(0, 1, true, {{"x", State::errored}}, false);
    write(1, 1, false, {{"x", State::errored}}, false);
    auto r = recorder();
    EXPECT_EQ(r.resume_module(0, {}).next->kind, again);
    EXPECT_TRUE(r.resume_module(1, {}).done);
    EXPECT_TRUE(stored(0)[0].record.forked);
    EXPECT_FALSE(stored(1)[0].record.forked);
}

}  // namespace
}  // namespace compat::run
