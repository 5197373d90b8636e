// Tests what the runs beside the columns say: what stands behind a failure, and random numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/porting/pages.h"
#include "tests/reports/porting_sample.h"

namespace compat::reports::porting_samples {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST(Porting, FallbacksAreListedWithTheTestsThatNeedThem) {
    const auto eigh = [] { return failure("NotImplementedError", kEigh); };
    const Tests cpu{test("alone", State::passed), test("then_svd", State::passed),
                    test("then_double", State::passed)};
    const Tests mps{test("alone", State::passed), test("then_svd", State::passed),
                    test("then_double", State::errored, failure("TypeError", kDouble))};
    const Tests strict{test("alone", State::errored, eigh()),
                       test("then_svd", State::errored, eigh()),
                       test("then_double", State::errored, eigh())};
    const std::string op = "aten::_linalg_eigh.eigenvalues";
    const PortingView view =
        compared(cpu, cpu, mps, strict,
                 {fell_back("alone", op, 3), fell_back("then_svd", op),
                  fell_back("then_svd", "aten::_svd"), fell_back("then_double", op)});
    ASSERT_THAT(view.fallbacks, SizeIs(2));
    EXPECT_EQ(view.fallbacks[0].symbol, op);
    EXPECT_EQ(view.fallbacks[0].depend, 2);
    EXPECT_EQ(view.fallbacks[0].tests, 3);
    EXPECT_EQ(view.fallbacks[0].count, 5);
    EXPECT_EQ(view.fallbacks[1].depend, 0);
    EXPECT_EQ(view.decided_by_fallback, 2);
}

// A test stops at the first refusal. The run that keeps going shows what else it meets.
TEST(Porting, ACauseUnblocksTheTestsThatMeetNothingElse) {
    const auto eigh = [] { return failure("NotImplementedError", kEigh); };
    const std::string refused_eigh = std::string("NotImplementedError: ") + kEigh;
    const std::string refused_double = std::string("TypeError: ") + kDouble;
    Tests cpu, mps, strict, kept;
    const auto add = [&](const char* name, std::vector<RefusalView> refusals, State state,
                         std::optional<FailureView> why = {}) {
        cpu.push_back(test(name, State::passed));
        mps.push_back(test(name, State::passed));
        strict.push_back(test(name, State::errored, eigh()));
        kept.push_back(test(name, state, std::move(why)));
        kept.back().refusals = std::move(refusals);
    };
    add("alone", {{refused_eigh, "m.py:1", ""}, {refused_eigh, "m.py:2", ""}}, State::passed);
    add("then_double", {{refused_eigh, "m.py:1", ""}, {refused_double, "m.py:2", ""}},
        State::passed);
    add("then_bug", {{refused_eigh, "m.py:1", ""}}, State::errored, failure("KeyError", "'x'"));
    add("ends_there", {}, State::errored, eigh());
    kept.push_back(test("not_run_again", State::not_run));
    const PortingView view = compared(cpu, cpu, mps, strict, {}, kept);
    ASSERT_THAT(view.causes, SizeIs(1));
    const CauseOfDifferences& cause = view.causes[0];
    EXPECT_EQ(cause.tests, 4);
    EXPECT_EQ(cause.unblocked_tests, 1);
    EXPECT_EQ(cause.perhaps_unblocked_tests, 1);
    EXPECT_EQ(describe_unblocked(cause), "1 to 2 tests");
    std::vector<std::string> behind;
    for (const ObstacleBehind& obstacle : cause.behind)
        behind.push_back(fmt::format("{}: {}", obstacle.title, obstacle.tests));
    EXPECT_THAT(behind, testing::UnorderedElementsAre(
                            "float64 on mps: this dtype is not supported: 1", "KeyError: 'x': 1"));
}

TEST(Porting, NamesTheLinesThatStandBehindTheFirst) {
    const std::string refused = std::string("TypeError: ") + kDouble;
    const auto doubled = [] { return failure("TypeError", kDouble); };  // at m.py:7
    Tests cpu, mps, kept;
    for (const char* const name : {"a", "b", "c"}) {
        cpu.push_back(test(name, State::passed));
        mps.push_back(test(name, State::errored, doubled()));
        kept.push_back(test(name, State::passed));
        kept.back().refusals = {{refused, "m.py:7", "#7"},
                                {refused, "m.py:9", "#9"},
                                {refused, "m.py:9", "#9"},
                                {refused, "lib.py:3", ""}};
    }
    kept[0].refusals.push_back({refused, "m.py:8", "#8"});
    kept[0].refusals.push_back({std::string("NotImplementedError: ") + kEigh, "m.py:6", "#6"});
    const PortingView view = compared(cpu, cpu, mps, mps, {}, kept);
    ASSERT_THAT(view.causes, SizeIs(1));
    std::vector<std::string> behind;
    for (const BreakingPlace& place : view.causes[0].places_behind)
        behind.push_back(fmt::format("{} {}: {}", place.place, place.url, place.tests));
    EXPECT_THAT(behind, ElementsAre("m.py:9 #9: 3", "m.py:8 #8: 1"))
        << "not the line that is known, another cause's, nor one of an installed package";
    std::string page;
    porting_markdown(view, 1 << 20, [&](std::string_view bytes) { page += bytes; });
    const std::string words =
        "[`m.py:7`](https://forge.example/m.py#L7) (3 tests); also behind it: [`m.py:9`](#9) (3 "
        "tests), [`m.py:8`](#8) (1 test)";
    EXPECT_THAT(page, HasSubstr("| " + words + " |")) << "in the table";
    EXPECT_THAT(page, HasSubstr("Where: " + words + ".\n"));
}

// With fallback the operator runs on the CPU: it is no obstacle there.
TEST(Porting, AMissingOperatorStandsInTheWayOnlyWithoutFallback) {
    const auto doubled = failure("TypeError", kDouble);
    CaseView kept = test("a", State::passed);
    kept.refusals = {{std::string("NotImplementedError: ") + kEigh, "m.py:1", ""},
                     {std::string("TypeError: ") + kDouble, "m.py:2", ""}};
    const PortingView view = compared({test("a", State::passed)}, {test("a", State::passed)},
                                      {test("a", State::errored, doubled)},
                                      {test("a", State::errored, doubled)}, {}, {kept});
    ASSERT_THAT(view.causes, SizeIs(1));
    EXPECT_EQ(view.causes[0].unblocked, (PerColumn<std::int64_t>{0, 0, 1, 0, 0}));
}

TEST(Porting, ATestThatBreaksSoWithOtherRandomNumbersIsRandom) {
    const auto not_close = [](int line, const std::string& type = "AssertionError") {
        FailureView view =
            failure(type, fmt::format("{} and 2 are not close", line), State::failed);
        view.frames[0].line = line;
        view.signature = fmt::format("line {}", line);
        return view;
    };
    const auto good = [](const std::string& name) { return test(name, State::passed); };
    const auto bad = [](const std::string& name, const FailureView& why) {
        return test(name, State::failed, why);
    };
    const Tests cpu{good("same"), good("never"), good("elsewhere"), good("other_type"),
                    good("refused")};
    const FailureView refused = failure("TypeError", kDouble);
    Tests cuda = cpu;
    for (CaseView& t : cuda) t = bad(t.id.substr(9), not_close(7));
    cuda[4] = test("refused", State::errored, refused);
    Tests stream = cpu;
    stream[0] = bad("same", not_close(7));
    stream[2] = bad("elsewhere", not_close(9));
    stream[3] = bad("other_type", not_close(7, "ValueError"));
    stream[4] = test("refused", State::errored, refused);
    Tests skipping{skipped("same", "no numbers")};
    const PortingView view = with_streams(cpu, cuda, {cpu, stream, skipping, stream});
    const auto of = [&](const std::string& name) {
        const Difference& difference = find(view, name).differences.front();
        return std::tuple(view.causes[difference.cause].judgement, difference.failed_streams,
                          difference.streams);
    };
    EXPECT_EQ(of("same"), std::tuple("random", 2, 3));
    EXPECT_EQ(of("never"), std::tuple("unexplained", 0, 3));
    EXPECT_EQ(of("elsewhere"), std::tuple("unexplained", 0, 3)) << "another line of the suite";
    EXPECT_EQ(of("other_type"), std::tuple("unexplained", 0, 3));
    EXPECT_EQ(of("refused"), std::tuple("device_limit", 0, 0))
        << "random numbers explain no refusal";
    EXPECT_EQ(describe_streams(find(view, "same").differences.front()),
              "fails with 2 of 3 random streams on plain CPU");
    EXPECT_EQ(describe_streams(find(view, "never").differences.front()),
              "does not fail so with any of 3 random streams on plain CPU");
    EXPECT_EQ(describe_streams(find(view, "refused").differences.front()), "");
    EXPECT_FALSE(is_to_fix(view.causes[find(view, "same").differences.front().cause]));
    RunView seeds = run_of(Column::cpu);
    seeds.seeds = 3;
    EXPECT_EQ(column_of(seeds), std::nullopt);
}

TEST(Porting, ATestThatBreaksWithAllRandomNumbersIsNotRandom) {
    const auto same = failure("AssertionError", "1.5 != 2.5", State::failed);
    const Tests good{test("a", State::passed)}, bad{test("a", State::failed, same)};
    const auto judged = [&](const std::vector<Tests>& streams) {
        const PortingView view = with_streams(good, bad, streams);
        const Difference& difference = find(view, "a").differences.front();
        return std::tuple(view.causes[difference.cause].judgement, describe_streams(difference));
    };
    EXPECT_EQ(judged({bad, bad, bad}),
              std::tuple("unexplained",
                         "fails with 3 of 3 random streams on plain CPU, so random "
                         "numbers do not decide"));
    const Tests idle{skipped("a", "no numbers")};
    EXPECT_EQ(std::get<0>(judged({bad, idle, bad})), "unexplained") << "of those that ran it";
    EXPECT_EQ(std::get<0>(judged({bad, bad, good})), "random");
}

// A test that breaks on plain CPU and is good on CUDA is compared with CUDA on a Mac.
TEST(Porting, WhatBreaksSoOnPlainCpuIsNotAskedOfRandomNumbers) {
    const auto at = [](FailureView why, int line) {
        why.frames[0].line = line;
        why.signature = fmt::format("{} {}", why.type, line);
        return why;
    };
    const auto not_close = failure("AssertionError", "1 and 2 are not close", State::failed);
    const auto absent = failure("AssertionError", "Torch not compiled with CUDA enabled");
    const auto type_error = failure("TypeError", "object of type 'int' has no len()");
    const Tests cpu{test("same", State::failed, at(not_close, 7)),
                    test("type_error", State::errored, type_error),
                    test("needs_a_device", State::errored, absent),
                    test("elsewhere", State::failed, at(failure("ValueError", "x"), 7))};
    const Tests mps{test("same", State::failed, at(not_close, 7)),
                    test("type_error", State::errored, type_error),
                    test("needs_a_device", State::failed, at(not_close, 8)),
                    test("elsewhere", State::failed, at(not_close, 9))};
    Tests cuda, some;
    for (const char* const name : {"same", "type_error", "needs_a_device", "elsewhere"}) {
        cuda.push_back(test(name, State::passed));
        some.push_back(test(name, State::passed));
    }
    PortingBuilder builder("alpha_1", "alpha");
    put(builder, Column::cpu, cpu);
    put(builder, Column::cuda, cuda);
    put(builder, Column::mps_strict, mps);
    RunView run = run_of(Column::cpu);
    run.seeds = 2;
    builder.begin_further(run, "../report.md");
    for (const Tests& stream : {mps, some}) {
        ModuleView attempt;
        attempt.cases = stream;
        builder.add_further(attempt);
    }
    const PortingView view = builder.finish();
    const auto of = [&](const std::string& name) {
        const Difference& difference = find(view, name).differences.back();
        return std::tuple(view.causes[difference.cause].judgement, difference.perhaps_random,
                          difference.streams);
    };
    EXPECT_EQ(of("same"), std::tuple("unexplained", false, 0));
    EXPECT_EQ(of("type_error"), std::tuple("unexplained", false, 0));
    EXPECT_EQ(of("needs_a_device"), std::tuple("unexplained", false, 0));
    EXPECT_EQ(of("elsewhere"), std::tuple("random", true, 2));
}

TEST(Porting, ThePageSaysHowToCompleteARunBesideTheColumns) {
    const auto differs = failure("AssertionError", "1 != 2", State::failed);
    PortingView view = with_streams({test("a", State::passed)}, {test("a", State::failed, differs)},
                                    {{test("a", State::not_run)}});
    const auto page = [&] {
        std::string text;
        porting_markdown(view, 1 << 20, [&](std::string_view bytes) { text += bytes; });
        return text;
    };
    EXPECT_THAT(page(), Not(HasSubstr("alpha-seeds")));
    view.random->run.complete = false;
    EXPECT_THAT(page(), HasSubstr("\n- plain CPU, with other random numbers, is not complete: "
                                  "`runner resume alpha-seeds`\n\nThen compare again: "
                                  "`runner porting --runs alpha-cpu,alpha-cuda,RUN,RUN,RUN,"
                                  "alpha-seeds`\n"));
    FurtherRun& kept = view.kept_going.emplace_back(*view.random);
    kept.column = Column::cuda;
    kept.run.id = "alpha-keep-going";
    EXPECT_THAT(page(),
                HasSubstr("\n- CUDA *simulated*, going on where it refuses, is not complete: "
                          "`runner resume alpha-keep-going`\n"));
}

TEST(Porting, ATestWithTwoCausesIsUnblockedByNeither) {
    CaseView both = test("a", State::errored, failure("NotImplementedError", kSvd));
    both.failure->also = {failure("TypeError", kDouble)};
    const PortingView view =
        compared({test("a", State::passed)}, {test("a", State::passed)}, {both}, {both});
    const Difference& difference = find(view, "a").differences[0];
    EXPECT_THAT(difference.causes, SizeIs(2));
    EXPECT_EQ(view.causes[difference.cause].gap->symbol, "aten::_svd");
    for (const CauseOfDifferences& cause : view.causes)
        EXPECT_EQ(describe_unblocked(cause), "0 alone: 1 test meets another cause, too");
}

TEST(Porting, ZeroUnblockedTestsAreExplained) {
    CauseOfDifferences cause;
    cause.tests = 3;
    EXPECT_EQ(describe_unblocked(cause), "0 tests");
    cause.blocked_tests = 1;
    EXPECT_EQ(describe_unblocked(cause), "0 alone: 1 test meets another cause, too");
    cause.blocked_tests = 2;
    EXPECT_EQ(describe_unblocked(cause), "0 alone: 2 tests meet another cause, too");
    cause.blocked_tests = 3;
    EXPECT_EQ(describe_unblocked(cause), "0 alone: 3 tests meet another cause, too");
    cause.perhaps_unblocked_tests = 1;
    EXPECT_EQ(describe_unblocked(cause), "up to 1 test");
}

// A bare Mac ends at the request for CUDA. Where it is sent to MPS, more can be seen.
TEST(Porting, CudaCodeSentToMpsKeepsGoingOnItsOwn) {
    const auto absent = failure("AssertionError", "Torch not compiled with CUDA enabled");
    const auto eigh = failure("NotImplementedError", kEigh);
    const Tests on_host{test("a", State::errored, absent)};
    CaseView kept = test("a", State::passed);
    kept.refusals = {{std::string("NotImplementedError: ") + kEigh, "m.py:1", ""},
                     {std::string("TypeError: ") + kDouble, "m.py:2", ""}};
    PortingBuilder builder("alpha_1", "alpha");
    put(builder, Column::cpu, on_host);
    put(builder, Column::cuda, {test("a", State::passed)});
    put(builder, Column::mps_strict, on_host);
    put(builder, Column::cuda_on_mps, {test("a", State::errored, eigh)});
    RunView run = run_of(Column::cuda_on_mps);
    run.keep_going = true;
    builder.begin_further(run, "../report.md");
    ModuleView module;
    module.cases = {kept};
    builder.add_further(module);
    const PortingView view = builder.finish();
    const PortedTest& a = find(view, "a");
    const auto& lacks = view.causes[a.differences.back().cause];
    ASSERT_TRUE(lacks.gap);
    EXPECT_EQ(describe_unblocked(lacks), "0 alone: 1 test meets another cause, too");
    ASSERT_THAT(lacks.behind, SizeIs(1));
    EXPECT_EQ(lacks.behind[0].title, "float64 on mps: this dtype is not supported");
    EXPECT_EQ(view.kept_going[0].column, Column::cuda_on_mps);
}

}  // namespace
}  // namespace compat::reports::porting_samples
