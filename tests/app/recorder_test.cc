#include "runner/app/recorder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/temp_tree.h"

namespace compat::app {
namespace {

using nlohmann::json;
using parsers::State;
using testing::ElementsAre;
using enum AttemptKind;

// What one test did: it passed, failed in a library at that line, or in its own module.
constexpr int kPasses = 0, kOwn = -1;
using Tests = std::map<std::string, int>;

Assignment first(size_t module) { return {module, 1, whole, {}}; }

class RecorderTest : public testing::Test {
  protected:
    void SetUp() override {
        store::RunInfo info;
        info.id = info.suite = info.series = "r";
        ASSERT_TRUE(store.begin_run(info));
        modules = {{"a.py", {}}, {"b.py", {}}, {"c.py", {}}};
    }

    Recorder recorder(std::int64_t maxfail = 0) {
        Recorder::Settings settings;
        settings.limits.maxfail = maxfail;
        return {store, "r", tree.root(), settings, modules};
    }

    // The files of an attempt that ended in order, or was cut off where `ended` is false.
    void write(size_t module, int number, bool forked, const Tests& tests, bool ended = true) {
        const std::string& path = modules[module].path;
        const auto names = attempt_names(path, number, whole);
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
        for (const auto& [name, line] : tests)
            add({{"event", "collected"}, {"id", path + "::" + name}, {"name", name}});
        add({{"event", "ready"}, {"collected", tests.size()}});
        for (const auto& [name, line] : tests) {
            const std::string id = path + "::" + name;
            add({{"event", "start"}, {"id", id}, {"time", 0}});
            json end{{"event", "end"}, {"id", id}, {"phase", "call"}, {"duration_s", 0}};
            end["state"] = line == kPasses ? "passed" : "errored";
            const json frame{{"file", line == kOwn ? "/r/" + path : "/r/lib.py"},
                             {"line", line == kOwn ? 7 : line},
                             {"function", "f"}};
            if (line != kPasses)
                end["failure"] = {{"type", "OSError"},
                                  {"message", "no hub"},
                                  {"traceback", ""},
                                  {"phase", "call"},
                                  {"frames", json{frame}}};
            add(end);
        }
        if (ended) add({{"event", "finish"}, {"collected", tests.size()}, {"ended", tests.size()}});
        tree.write(names.log);
        tree.write(names.events, events);
    }

    std::vector<Step> ended(Recorder& recorder, const Assignment& assignment, const Tests& tests,
                            exec::Outcome outcome = exec::Exited{1}) {
        exec::JobFinished finished;
        finished.forked = assignment.number == 1;
        finished.outcome = std::move(outcome);
        write(assignment.module, assignment.number, finished.forked, tests);
        return recorder.job_finished(assignment, finished);
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
    store::Store store = *store::Store::in_memory();
    std::vector<PlannedModule> modules;
};

std::string words(const std::vector<Step>& steps) {
    std::string all;
    for (const Step& step : steps) {
        if (step.next)
            all += fmt::format("{} {} {}; ", step.next->module, name_of(step.next->kind),
                               step.next->only.size());
        else if (step.done)
            all += step.done->path + " done; ";
        else
            all += "waits; ";
    }
    return all;
}

std::string states(const ModuleDone& done) {
    std::string all;
    for (const auto& test : done.verdicts.record.cases)
        all += fmt::format("{}={} ", test.name, name_of(test.state));
    return all;
}

TEST_F(RecorderTest, OneConfirmationSpeaksForEqualFailures) {
    auto r = recorder();
    EXPECT_EQ(words(ended(r, first(0), {{"x", 5}})), "0 again 1; ");
    EXPECT_EQ(words(ended(r, first(1), {{"y", 5}, {"z", kPasses}})), "waits; ");
    const auto steps = ended(r, {0, 2, again, {"a.py::x"}}, {{"x", 5}});
    ASSERT_EQ(words(steps), "a.py done; b.py done; ");
    EXPECT_EQ(states(*steps[1].done), "y=errored z=passed ");
    EXPECT_EQ(words(ended(r, first(2), {{"x", 5}})), "c.py done; ") << "known by now";
    EXPECT_TRUE(r.cut_short().empty());
    EXPECT_FALSE(r.left_something());
}

TEST_F(RecorderTest, WhatPassesFreshIsDoubtedEverywhere) {
    auto r = recorder();
    EXPECT_EQ(words(ended(r, first(0), {{"x", 5}})), "0 again 1; ");
    EXPECT_EQ(words(ended(r, first(1), {{"y", 5}})), "waits; ");
    EXPECT_EQ(words(ended(r, {0, 2, again, {"a.py::x"}}, {{"x", kPasses}})),
              "0 whole 0; 1 again 1; ");
    EXPECT_EQ(words(ended(r, first(2), {{"y", 5}})), "2 again 1; ")
        << "nobody waits for a doubted one";
    EXPECT_EQ(words(ended(r, {1, 2, again, {"b.py::y"}}, {{"y", 5}})), "b.py done; ");
    EXPECT_EQ(words(ended(r, {2, 2, again, {"c.py::y"}}, {{"y", 5}})), "c.py done; ");
}

TEST_F(RecorderTest, OnlyModulesWithNothingElseToConfirmWait) {
    auto r = recorder();
    EXPECT_EQ(words(ended(r, first(0), {{"x", 5}})), "0 again 1; ");
    EXPECT_EQ(words(ended(r, first(1), {{"x", 5}, {"y", kOwn}})), "1 again 2; ");
    EXPECT_EQ(words(ended(r, first(2), {{"x", 5}, {"y", 6}})), "2 again 2; ");
    EXPECT_EQ(words(ended(r, {0, 2, again, {"a.py::x"}}, {{"x", 5}})), "a.py done; ");
}

TEST_F(RecorderTest, KnownFailuresAreLeftOutOfAConfirmation) {
    auto r = recorder();
    (void)ended(r, first(0), {{"x", 5}});
    (void)ended(r, {0, 2, again, {"a.py::x"}}, {{"x", 5}});
    const auto steps = ended(r, first(1), {{"x", 5}, {"y", kOwn}});
    ASSERT_TRUE(steps[0].next);
    EXPECT_THAT(steps[0].next->only, ElementsAre("b.py::y"));
}

TEST_F(RecorderTest, AConfirmationThatSaysNothingIsMadeByAnother) {
    auto r = recorder();
    (void)ended(r, first(0), {{"x", 5}});
    EXPECT_EQ(words(ended(r, first(1), {{"y", 5}})), "waits; ");
    EXPECT_EQ(words(ended(r, first(2), {{"y", 5}})), "waits; ");
    const auto steps = ended(r, {0, 2, again, {"a.py::x"}}, {}, exec::SpawnFailed{"no memory"});
    EXPECT_EQ(words(steps), "a.py done; 1 again 1; waits; ");
    EXPECT_EQ(words(ended(r, {1, 2, again, {"b.py::y"}}, {{"y", 5}})), "b.py done; c.py done; ");
}

TEST_F(RecorderTest, ModulesThatWaitWhenARunStopsCountWithWhatTheForkSaid) {
    auto r = recorder(1);
    r.begin();
    (void)ended(r, first(0), {{"x", 5}});
    EXPECT_EQ(words(ended(r, first(1), {{"y", 5}, {"z", kPasses}})), "waits; ");
    EXPECT_FALSE(r.left_something());
    const auto done = r.cut_short();
    ASSERT_EQ(done.size(), 2u);
    EXPECT_EQ(states(done[1]), "y=errored z=passed ");
    EXPECT_TRUE(r.left_something()) << "a resume confirms them";
    EXPECT_TRUE(r.facts().unexpected);
}

TEST_F(RecorderTest, AResumeKnowsWhatIsStored) {
    auto before = recorder();
    (void)ended(before, first(0), {{"x", 5}});
    (void)ended(before, first(1), {{"y", 5}});
    (void)ended(before, {0, 2, again, {"a.py::x"}}, {{"x", 5}});
    auto r = recorder();
    for (size_t i = 0; i < 2; ++i) r.learn(stored(i));
    EXPECT_TRUE(r.take_up(1, stored(1)).done);
    EXPECT_TRUE(r.take_up(0, stored(0)).done);
}

TEST_F(RecorderTest, AnAttemptThatWasNeverStoredIsWhatItWas) {
    auto before = recorder();
    (void)ended(before, first(0), {{"x", 5}});
    (void)ended(before, {0, 2, again, {"a.py::x"}}, {{"x", 5}});
    store::JobResult fork = stored(0)[0];
    fork.record.path = "b.py";
    for (auto& test : fork.record.cases) test.id = "b.py::" + test.name;
    ASSERT_TRUE(store.save_job("r", fork));
    // It had begun before anybody knew: the planner would not ask for it now.
    write(1, 2, false, {{"x", kPasses}}, false);
    tree.write(attempt_names("b.py", 2, again).only, "b.py::x\n");
    auto r = recorder();
    for (size_t i = 0; i < 2; ++i) r.learn(stored(i));
    const Step step = r.take_up(1, stored(1));
    ASSERT_EQ(stored(1).size(), 2u);
    EXPECT_EQ(stored(1)[1].kind, again);
    EXPECT_THAT(stored(1)[1].only, ElementsAre("b.py::x"));
    ASSERT_TRUE(step.next) << "it passed fresh";
    EXPECT_EQ(step.next->kind, whole);
}

TEST_F(RecorderTest, AFileOfIdsWithoutItsAttemptIsForgotten) {
    const auto stale = tree.write(attempt_names("a.py", 1, rest).only, "a.py::x\n");
    EXPECT_EQ(recorder().take_up(0, {}).next->kind, whole);
    EXPECT_FALSE(std::filesystem::exists(stale));
}

TEST_F(RecorderTest, WhetherAnAttemptThatWasNeverStoredWasForkedItsEventsSay) {
    write(0, 1, true, {{"x", kOwn}}, false);
    write(1, 1, false, {{"x", kOwn}}, false);
    auto r = recorder();
    EXPECT_EQ(r.take_up(0, {}).next->kind, again);
    EXPECT_TRUE(r.take_up(1, {}).done);
    EXPECT_TRUE(stored(0)[0].record.forked);
    EXPECT_FALSE(stored(1)[0].record.forked);
}

}  // namespace
}  // namespace compat::app
