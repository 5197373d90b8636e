#include "runner/analysis/confirmed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace compat::analysis {
namespace {

using parsers::CaseRecord;
using parsers::Failure;
using parsers::ModuleRecord;
using parsers::State;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kModule = "tests/test_a.py";

Failure failure() {
    Failure made;
    made.type = "OSError";
    made.message = "We couldn't connect to 'https://hub'\nCheck your connection.";
    made.frames = {{"/r/tests/test_a.py", 7, "test"}, {"/r/src/lib/hub.py", 493, "load"}};
    made.traceback =
        "Traceback (most recent call last):\n  File \"/r/src/lib/hub.py\", line 493\nOSError: We";
    return made;
}

std::string chained(const char* words, const std::string& origin) {
    return "Traceback (most recent call last):\n  File \"/r/tests/test_a.py\", line 7, in test\n   "
           " x()\n"
           "  File \"/r/src/lib/net.py\", line 5, in get\n    raise NotThere()\n" +
           origin + "\n" + words +
           "\nTraceback (most recent call last):\n  File \"/r/src/lib/hub.py\"";
}
constexpr const char* kDirect =
    "\nThe above exception was the direct cause of the following exception:\n";
constexpr const char* kDuring =
    "\nDuring handling of the above exception, another exception occurred:\n";

TEST(Origin, IsTheSameForTheSameWordsFromTheSameLine) {
    struct Row {
        const char* what;
        std::function<void(Failure&)> change;
        bool same;
    };
    const std::vector<Row> table{
        {"nothing", [](Failure&) {}, true},
        {"how the test came there", [](Failure& f) { f.frames.erase(f.frames.begin()); }, true},
        {"the phase", [](Failure& f) { f.phase = parsers::Phase::setup; }, true},
        {"how it was counted", [](Failure& f) { f.counted = State::errored; }, true},
        {"the type", [](Failure& f) { f.type = "ConnectionError"; }, false},
        {"a later line of the message", [](Failure& f) { f.message += " 2"; }, false},
        {"the line", [](Failure& f) { f.frames.back().line = 494; }, false},
        {"the file", [](Failure& f) { f.frames.back().file = "/r/src/lib/hubs.py"; }, false},
        {"what led to it", [](Failure& f) { f.traceback = chained(kDirect, "NotThere: x"); },
         false},
    };
    for (const Row& row : table) {
        Failure changed = failure();
        row.change(changed);
        EXPECT_EQ(origin_of(changed, kModule) == origin_of(failure(), kModule), row.same)
            << row.what;
        EXPECT_NE(origin_of(changed, kModule), "") << row.what;
    }
}

TEST(Origin, WhatLedToItIsComparedButNotTheWayThere) {
    const auto of = [](std::string traceback) {
        Failure made = failure();
        made.traceback = std::move(traceback);
        return origin_of(made, kModule);
    };
    auto elsewhere = chained(kDirect, "NotThere: x");
    elsewhere.replace(elsewhere.find("test_a.py\", line 7"), 18, "test_b.py\", line 9");
    EXPECT_EQ(of(elsewhere), of(chained(kDirect, "NotThere: x")));
    EXPECT_EQ(of(chained(kDuring, "NotThere: x")), of(chained(kDirect, "NotThere: x")));
    EXPECT_NE(of(chained(kDirect, "NotThere: y")), of(chained(kDirect, "NotThere: x")));
    const auto in_pytest = [&](const char* source, const char* origin) {
        return of(std::string("    def test():\n>       ") + source +
                  "\n\ntests/test_a.py:5:\n\nE   " + origin + "\n\nsrc/lib/net.py:5: NotThere\n" +
                  kDirect + "\n    def test():\n");
    };
    EXPECT_EQ(in_pytest("x()", "NotThere: x"), in_pytest("y()", "NotThere: x"));
    EXPECT_NE(in_pytest("x()", "NotThere: x"), in_pytest("x()", "NotThere: y"));
}

TEST(Origin, SomeFailuresSpeakForThemselvesAlone) {
    const std::vector<std::function<void(Failure&)>> changes{
        [](Failure& f) { f.type = "AssertionError"; },
        [](Failure& f) { f.type = "lib.errors.AssertionError"; },
        [](Failure& f) { f.type = "Failed"; },
        [](Failure& f) { f.counted = State::failed; },
        [](Failure& f) { f.type = "ExceptionGroup"; },
        [](Failure& f) { f.type.clear(); },
        [](Failure& f) { f.message.clear(); },
        [](Failure& f) { f.message.assign(5000, 'x'); },
        [](Failure& f) { f.frames.clear(); },
        [](Failure& f) { f.frames.pop_back(); },
        [](Failure& f) { f.frames.back().file = kModule; },
        [](Failure& f) { f.frames.back().file = "<string>"; },
        [](Failure& f) { f.frames.back().line = 0; },
    };
    for (size_t i = 0; i < changes.size(); ++i) {
        Failure changed = failure();
        changes[i](changed);
        EXPECT_EQ(origin_of(changed, kModule), "") << "row " << i;
    }
    Failure near = failure();
    near.frames.back().file = "/r/other_tests/test_a.py";
    EXPECT_NE(origin_of(near, kModule), "");
}

CaseRecord test(std::string id, State state, std::vector<Failure> failures = {}) {
    CaseRecord made;
    made.id = std::move(id);
    made.state = state;
    if (!failures.empty()) made.failure = failures.front();
    for (size_t i = 1; i < failures.size(); ++i) made.also.push_back(failures[i]);
    return made;
}

Failure other() {
    Failure made = failure();
    made.frames.back().line = 12;
    return made;
}

Failure assertion() {
    Failure made = failure();
    made.type = "AssertionError";
    return made;
}

TEST(Origins, AreOfAllThatBrokeATest) {
    const auto of = [](const CaseRecord& t) { return origins_of(t, kModule); };
    EXPECT_THAT(of(test("a", State::errored, {failure()})), SizeIs(1));
    EXPECT_THAT(of(test("a", State::failed, {failure(), failure()})), SizeIs(1));
    EXPECT_THAT(of(test("a", State::errored, {failure(), other()})), SizeIs(2));
    EXPECT_THAT(of(test("a", State::errored, {failure(), assertion()})), IsEmpty());
    EXPECT_THAT(of(test("a", State::errored, {assertion(), failure()})), IsEmpty());
    EXPECT_THAT(of(test("a", State::failed)), IsEmpty()) << "it says not why";
    for (const State state : {State::passed, State::xfailed, State::xpassed, State::crashed})
        EXPECT_THAT(of(test("a", state, {failure()})), IsEmpty()) << name_of(state);
    auto subs = test("a", State::failed);
    subs.subcases = {{"(i=1)", State::errored, "", failure()}, {"(i=2)", State::passed, "", {}}};
    EXPECT_THAT(of(subs), SizeIs(1));
    subs.subcases.push_back({"(i=3)", State::failed, "", assertion()});
    EXPECT_THAT(of(subs), IsEmpty());
    subs.subcases.back() = {"(i=3)", State::failed, "", {}};
    EXPECT_THAT(of(subs), IsEmpty());
}

ModuleRecord module(std::vector<CaseRecord> tests) {
    ModuleRecord made;
    made.path = kModule;
    made.cases = std::move(tests);
    return made;
}

class Knowledge : public testing::Test {
  protected:
    [[nodiscard]] bool believes(std::vector<Failure> failures) const {
        return confirmed.covers(
            origins_of(test("x", State::errored, std::move(failures)), kModule));
    }
    Confirmed confirmed;
};

TEST_F(Knowledge, IsWhatFreshProcessesHad) {
    EXPECT_FALSE(believes({failure()}));
    confirmed.learn(module({test("a", State::errored, {failure()})}), nullptr);
    EXPECT_TRUE(believes({failure()}));
    EXPECT_FALSE(believes({failure(), other()}));
    EXPECT_FALSE(believes({assertion()}));
    confirmed.learn(module({test("b", State::errored, {other()})}), nullptr);
    EXPECT_TRUE(believes({failure(), other()}));
}

TEST_F(Knowledge, DoubtsForEverWhatOneTestHadInAForkAlone) {
    const auto fork = module({test("a", State::errored, {failure()})});
    for (const auto& fresh : {test("a", State::passed), test("a", State::crashed),
                              test("a", State::skipped), test("a", State::errored, {other()})}) {
        Confirmed knowledge;
        const auto origins = origins_of(fork.cases[0], kModule);
        knowledge.learn(fork, nullptr);
        EXPECT_TRUE(knowledge.covers(origins));
        knowledge.learn(module({fresh}), &fork);
        EXPECT_FALSE(knowledge.covers(origins)) << name_of(fresh.state);
        EXPECT_FALSE(knowledge.covers(origins, {origins.begin(), origins.end()}));
        knowledge.learn(fork, nullptr);
        EXPECT_FALSE(knowledge.covers(origins)) << "once is enough";
    }
    Confirmed knowledge;
    knowledge.learn(fork, &fork);
    knowledge.learn(module({test("a", State::not_run), test("b", State::passed)}), &fork);
    EXPECT_TRUE(knowledge.covers(origins_of(fork.cases[0], kModule)));
}

TEST_F(Knowledge, CountsWhatIsToCome) {
    const auto origins = origins_of(test("a", State::errored, {failure(), other()}), kModule);
    EXPECT_FALSE(confirmed.covers(origins, {origins.front()}));
    EXPECT_TRUE(confirmed.covers(origins, {origins.front(), origins.back()}));
    EXPECT_FALSE(confirmed.covers({}, {origins.front()}));
}

}  // namespace
}  // namespace compat::analysis
