#include "reports/porting/porting.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "parsers/attempt.h"
#include "reports/porting/pages.h"
#include "runner/base/files.h"
#include "tests/paths.h"

namespace compat::reports {
namespace {

using nlohmann::json;
using parsers::State;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kEigh =
    "The operator 'aten::_linalg_eigh.eigenvalues' is not currently implemented for the MPS "
    "device.";
constexpr const char* kSvd =
    "The operator 'aten::_svd' is not currently implemented for the MPS device.";
constexpr const char* kDouble =
    "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
    "Please use float32 instead.";

// A failure with its diagnosis.
FailureView failure(const std::string& type, const std::string& message,
                    State state = State::errored) {
    parsers::ModuleRecord record;
    parsers::CaseRecord& test = record.cases.emplace_back();
    test.id = "m.py::T::t";
    test.state = state;
    test.failure.emplace();
    test.failure->type = type;
    test.failure->message = message;
    test.failure->frames = {{"/suite/m.py", 7, "t"}};
    parsers::diagnose(record);
    FailureView view;
    view.type = type;
    view.message = message;
    view.key_line = test.failure->key_line();
    view.signature = test.failure->signature;
    view.cause = name_of(test.failure->diagnosis->cause);
    view.rule = test.failure->diagnosis->rule;
    view.frames = {{"m.py", 7, "t", true, "https://forge.example/m.py#L7"}};
    return view;
}

CaseView test(const std::string& name, State state, std::optional<FailureView> why = {}) {
    CaseView view;
    view.id = "m.py::T::" + name;
    view.url = "https://forge.example/m.py#L1";
    view.state = state;
    view.used_accelerator = true;
    view.failure = std::move(why);
    return view;
}

CaseView skipped(const std::string& name, const std::string& reason) {
    CaseView view = test(name, State::skipped);
    view.reason = reason;
    return view;
}

using Tests = std::vector<CaseView>;

RunView run_of(Column column) {
    RunView run;
    run.id = fmt::format("alpha-{}", row_of(column).name);
    run.suite = "alpha";
    run.complete = true;
    run.exit_code = 0;
    run.shim = row_of(column).shim;
    run.device = "cpu";
    if (!row_of(column).simulated.empty()) run.simulated = row_of(column).simulated;
    run.policy = row_of(column).policy;
    run.fallback = row_of(column).fallback;
    run.torch = "2.13.0";
    run.commit = "0123abcd";
    return run;
}

GapHit fell_back(const std::string& name, const std::string& symbol, std::int64_t count = 1) {
    GapHit hit;
    hit.key = {symbol, GapKind::fallback, "mps", true};
    hit.test = "m.py::T::" + name;
    hit.count = count;
    return hit;
}

void put(PortingBuilder& builder, Column column, const Tests& tests,
         const std::vector<GapHit>& hits = {}, std::int64_t collected = -1) {
    ModuleView module;
    module.path = "m.py";
    module.cases = tests;
    ReportModel model;
    model.run = run_of(column);
    model.totals.collected = collected < 0 ? static_cast<std::int64_t>(tests.size()) : collected;
    for (const CaseView& t : tests) ++model.totals.states[static_cast<size_t>(t.state)];
    builder.begin(column, model.run);
    builder.add(module);
    builder.end(model, hits, "../report.md");
}

PortingView compared(const Tests& cpu, const Tests& cuda, const Tests& mps, const Tests& strict,
                     const std::vector<GapHit>& hits = {}, const Tests& kept_going = {}) {
    PortingBuilder builder("alpha_1", "alpha");
    put(builder, Column::cpu, cpu);
    put(builder, Column::cuda, cuda);
    put(builder, Column::mps, mps, hits);
    put(builder, Column::mps_strict, strict);
    if (!kept_going.empty()) {
        RunView run = run_of(Column::mps_strict);
        run.id = "alpha-keep-going";
        run.keep_going = true;
        ModuleView module;
        module.cases = kept_going;
        builder.begin_keep_going(run, "../report.md");
        builder.add_keep_going(module);
    }
    return builder.finish();
}

PortingView on_cuda(const Tests& cpu, const Tests& cuda) {
    PortingBuilder builder("alpha_1", "alpha");
    put(builder, Column::cpu, cpu);
    put(builder, Column::cuda, cuda);
    return builder.finish();
}

const PortedTest& find(const PortingView& view, const std::string& name) {
    for (const PortedTest& t : view.tests)
        if (t.id == "m.py::T::" + name) return t;
    throw std::out_of_range(name);
}

TEST(Porting, EveryPairOfStatesHasItsChange) {
    const auto kind = [](State state) {
        using enum State;
        if (state == failed || state == errored || state == crashed || state == timed_out)
            return 'b';
        return state == skipped || state == not_run ? 'i' : 'g';
    };
    const std::map<std::string, Change> expected{
        {"gb", Change::lost},      {"gi", Change::no_longer}, {"bg", Change::gained},
        {"bi", Change::no_longer}, {"ig", Change::runs_now},  {"ib", Change::fails_now},
        {"gg", Change::otherwise}, {"bb", Change::otherwise}, {"ii", Change::otherwise}};
    for (size_t a = 0; a < parsers::kStateNames.size(); ++a)
        for (size_t b = 0; b < parsers::kStateNames.size(); ++b) {
            const auto cpu = static_cast<State>(a), cuda = static_cast<State>(b);
            const PortingView view = on_cuda({test("t", cpu)}, {test("t", cuda)});
            EXPECT_TRUE(view.accounting.closed) << name_of(cpu) << " " << name_of(cuda);
            if (a == b) {
                EXPECT_THAT(view.tests, IsEmpty());
                continue;
            }
            ASSERT_THAT(view.tests, SizeIs(1));
            ASSERT_THAT(view.tests[0].differences, SizeIs(1));
            EXPECT_EQ(view.tests[0].differences[0].change, expected.at({kind(cpu), kind(cuda)}))
                << name_of(cpu) << " " << name_of(cuda);
        }
}

TEST(Porting, EveryTestIsCountedInEveryColumn) {
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
        PerColumn<Tests> columns;
        for (Tests& tests : columns)
            for (int i = 0; i < 30; ++i) {
                if (random() % 6 == 0) continue;  // not collected
                const auto state = static_cast<State>(random() % parsers::kStateNames.size());
                std::optional<FailureView> why;
                if (needs_attention(state))
                    why = failure("RuntimeError", random() % 2 ? kEigh : "broken", state);
                tests.push_back(test(fmt::format("t{}", i), state, why));
            }
        const PortingView view = compared(columns[0], columns[1], columns[2], columns[3]);
        EXPECT_THAT(view.accounting.mismatches, IsEmpty());
        for (const ColumnRow& row : kColumns) {
            if (row.column == Column::cpu) continue;
            const auto at = static_cast<size_t>(row.column);
            std::int64_t differ = 0, causes = 0;
            for (const PortedTest& t : view.tests)
                for (const Difference& d : t.differences) differ += d.column == row.column;
            for (const CauseOfDifferences& cause : view.causes) causes += cause.counts[at];
            const auto& groups = view.columns[at].groups;
            EXPECT_EQ(differ, view.columns[at].differ);
            EXPECT_EQ(causes, differ);
            EXPECT_EQ(std::accumulate(groups.begin(), groups.end(), std::int64_t{0}), differ);
        }
    }
}

TEST(Porting, MismatchesNameBothFigures) {
    PortingBuilder builder("alpha_1", "alpha");
    put(builder, Column::cpu, {test("a", State::passed)});
    put(builder, Column::cuda, {test("a", State::passed), test("a", State::failed)});
    put(builder, Column::mps, {test("a", State::passed)}, {}, 5);
    const PortingView view = builder.finish();
    EXPECT_FALSE(view.accounting.closed);
    std::vector<std::string> lines;
    for (const AccountingMismatch& m : view.accounting.mismatches)
        lines.push_back(m.module + ": " + m.message);
    EXPECT_THAT(lines, Contains("CUDA *simulated*: m.py::T::a is there more than once"));
    EXPECT_THAT(lines,
                Contains(HasSubstr("bare Mac *simulated*, fallback on: tests compared and tests "
                                   "that the run collected: 1 against 5")));
}

TEST(Porting, ARefusedSymbolIsOneCause) {
    const Tests cpu{test("a", State::passed), test("b", State::passed), test("c", State::passed)};
    const Tests strict{
        test("a", State::errored, failure("NotImplementedError", kEigh)),
        test("b", State::errored, failure("NotImplementedError", std::string(kEigh) + " More.")),
        test("c", State::errored, failure("TypeError", kDouble))};
    const PortingView view = compared(cpu, cpu, cpu, strict);
    ASSERT_THAT(view.causes, SizeIs(2));
    EXPECT_EQ(view.causes[0].gap->symbol, "aten::_linalg_eigh.eigenvalues");
    EXPECT_EQ(view.causes[0].judgement, "device_limit");
    EXPECT_EQ(view.causes[0].counts, (PerColumn<std::int64_t>{0, 0, 0, 2, 0}));
    EXPECT_EQ(view.causes[1].gap->symbol, "float64");
    EXPECT_THAT(view.causes[1].advice, HasSubstr("float32 for float64"));
    EXPECT_EQ(find(view, "a").differences[0].place, "m.py:7");
    EXPECT_EQ(find(view, "a").differences[0].place_url, "https://forge.example/m.py#L7");
}

// The code under test caught the refusal and broke later.
TEST(Porting, AFailureAfterARefusalNamesIt) {
    const Tests cpu{test("a", State::passed), test("b", State::passed), test("c", State::passed)};
    const auto lost = failure("UnboundLocalError", "local variable 'x'");
    const Tests mps{test("a", State::errored, lost), test("b", State::errored, lost),
                    test("c", State::errored, failure("TypeError", kDouble))};
    GapHit caught = fell_back("a", "float64");
    caught.key.kind = GapKind::dtype_unsupported;
    GapHit reported = caught;
    reported.test = "m.py::T::c";
    const PortingView view =
        compared(cpu, cpu, mps, cpu, {caught, reported, fell_back("b", "aten::x")});
    ASSERT_THAT(view.causes, SizeIs(3));
    const auto cause = [&](const char* name) {
        return view.causes[find(view, name).differences[0].cause];
    };
    EXPECT_THAT(cause("a").title, HasSubstr("'x', after float64 was refused"));
    EXPECT_EQ(cause("a").judgement, "unexplained");
    EXPECT_THAT(cause("a").advice, HasSubstr("caught"));
    EXPECT_THAT(cause("b").title, Not(HasSubstr("refused")));
    EXPECT_EQ(cause("c").judgement, "device_limit");
}

// One message at two lines of a function is one mistake, in two functions it is two.
TEST(Porting, ErrorsOfTheCodeAreSeparatedByFunction) {
    const Tests cpu{test("a", State::passed), test("b", State::passed), test("c", State::passed)};
    Tests cuda;
    for (const auto& [name, line, function] :
         {std::tuple{"a", 4, "load"}, {"b", 9, "save"}, {"c", 12, "save"}}) {
        cuda.push_back(test(name, State::errored, failure("KeyError", "'x'")));
        cuda.back().failure->frames.back().line = line;
        cuda.back().failure->frames.back().function = function;
    }
    const PortingView view = on_cuda(cpu, cuda);
    ASSERT_THAT(view.causes, SizeIs(2));
    EXPECT_EQ(view.causes[0].tests, 2);
    EXPECT_THAT(view.causes[0].places, SizeIs(2));
    EXPECT_EQ(view.causes[1].places[0].place, "m.py:4");
}

// A test that starts the script sees only that it ended.
TEST(Porting, AnErrorInAnotherProcessIsTheSameCause) {
    const char* const mixed =
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 "
        "and cpu!";
    FailureView direct = failure("RuntimeError", mixed);
    direct.frames = {{"train.py", 12, "step", true, ""}};
    FailureView started =
        failure("CalledProcessError",
                fmt::format("Command 'python train.py' returned non-zero exit status 1.\n"
                            "Traceback (most recent call last):\n"
                            "  File \"/suite/train.py\", line 14, in step\n    y = x + z\n"
                            "RuntimeError: {}\n",
                            mixed));
    const PortingView view =
        on_cuda({test("a", State::passed), test("b", State::passed)},
                {test("a", State::errored, direct), test("b", State::errored, started)});
    ASSERT_THAT(view.causes, SizeIs(1));
    EXPECT_EQ(view.causes[0].tests, 2);
}

TEST(Porting, AMixOfDevicesInOneFunctionIsOneCauseHoweverADeviceWordsIt) {
    const auto mixed = [](const char* message, const char* function) {
        FailureView view = failure("RuntimeError", message);
        view.frames = {{"lib.py", 12, function, true, ""}};
        return view;
    };
    const char* const on_cuda =
        "Expected all tensors to be on the same device, but got index is on cpu, different from "
        "other tensors on cuda:0 (when checking argument in method wrapper_CUDA_gather)";
    const char* const on_mps =
        "Expected all tensors to be on the same device, but found at least two devices, mps:0 and "
        "cpu!";
    const Tests cpu{test("a", State::passed), test("b", State::passed)};
    const Tests cuda{test("a", State::errored, mixed(on_cuda, "f")), cpu[1]};
    const Tests mps{test("a", State::errored, mixed(on_mps, "f")),
                    test("b", State::errored, mixed(on_mps, "g"))};
    const PortingView view = compared(cpu, cuda, mps, mps);
    ASSERT_THAT(view.causes, SizeIs(2));
    EXPECT_TRUE(breaks_alike(view.causes[0]));
    EXPECT_FALSE(breaks_alike(view.causes[1]));
}

TEST(Porting, AnAssertionAboutAProcessHasTheTitleOfItsError) {
    const FailureView direct = failure("KeyError", "'a'");
    const FailureView started = failure(
        "AssertionError",
        "Traceback (most recent call last):\n    File \"/suite/m.py\", line 14, in t\n      x['a']\n"
        "  KeyError: 'a'\n  \nassert 1 == 0\n +  where 1 = CompletedProcess(returncode=1)");
    const PortingView view =
        on_cuda({test("a", State::passed), test("b", State::passed)},
                {test("a", State::errored, started), test("b", State::errored, direct)});
    ASSERT_THAT(view.causes, SizeIs(1));
    EXPECT_EQ(view.causes[0].title, "KeyError: 'a'");
}

TEST(Porting, ATitleSaysSomething) {
    const auto title = [](const char* type, const char* message) {
        const PortingView view =
            on_cuda({test("a", State::passed)},
                    {test("a", State::failed, failure(type, message, State::failed))});
        return view.causes.at(0).title;
    };
    EXPECT_EQ(title("AssertionError", "assert False\n +  where False = close(x, y)"),
              "AssertionError: assert False, where False = close(x, y)");
    EXPECT_EQ(title("AssertionError", "assert False"), "an assertion fails in m.py:t");
    EXPECT_EQ(title("AssertionError", "False is not true"), "an assertion fails in m.py:t");
    EXPECT_EQ(title("BackendError", "backend='x' raised:\nKeyError: 'y'"),
              "BackendError: backend='x' raised: KeyError: 'y'");
}

TEST(Porting, ACauseListsTheLinesAtWhichMostTestsBreak) {
    Tests cpu, cuda;
    for (int i = 0; i < 12; ++i) {
        cpu.push_back(test(fmt::format("t{}", i), State::passed));
        CaseView broken =
            test(fmt::format("t{}", i), State::errored, failure("TypeError", kDouble));
        broken.failure->frames.back().line = i < 6 ? 40 : i;
        cuda.push_back(broken);
    }
    const PortingView view = compared(cpu, cpu, cuda, cuda);
    ASSERT_THAT(view.causes, SizeIs(1));
    ASSERT_THAT(view.causes[0].places, SizeIs(kExamples));
    EXPECT_EQ(view.causes[0].places[0].place, "m.py:40");
    EXPECT_EQ(view.causes[0].places[0].tests, 6);
    EXPECT_EQ(view.causes[0].places[1].tests, 1);
}

TEST(Porting, AnErrorIsOneCauseOnBothDevices) {
    const Tests cpu{test("a", State::passed), test("b", State::passed)};
    const auto broken_on = [](const std::string& device) {
        const auto asserted = fmt::format("'{}' != 'cpu'", device);
        return Tests{
            test("a", State::errored,
                 failure("RuntimeError",
                         fmt::format("Expected all tensors to be on the same device, but found "
                                     "at least two devices, {}:0 and cpu!",
                                     device))),
            test("b", State::failed, failure("AssertionError", asserted, State::failed))};
    };
    const PortingView view = compared(cpu, broken_on("cuda"), broken_on("mps"), broken_on("mps"));
    ASSERT_THAT(view.causes, SizeIs(2));
    for (const CauseOfDifferences& cause : view.causes) {
        EXPECT_EQ(cause.counts, (PerColumn<std::int64_t>{0, 1, 1, 1, 0})) << cause.title;
        EXPECT_EQ(cause.tests, 1);
        EXPECT_TRUE(breaks_alike(cause));
    }
    EXPECT_THAT((std::vector{view.causes[0].judgement, view.causes[1].judgement}),
                testing::UnorderedElementsAre("device_handling", "device_asserted"));
}

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
    EXPECT_EQ(unblocked_words(cause), "1 to 2 tests");
    std::vector<std::string> behind;
    for (const ObstacleBehind& obstacle : cause.behind)
        behind.push_back(fmt::format("{}: {}", obstacle.title, obstacle.tests));
    EXPECT_THAT(behind, testing::UnorderedElementsAre(
                            "float64 on mps: this dtype is not supported: 1", "KeyError: 'x': 1"));
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

TEST(Porting, WhatBreaksOnEveryDeviceComesFirst) {
    Tests good, cuda, mps;
    for (const char* name : {"a", "b", "c"}) {
        good.push_back(test(name, State::passed));
        cuda.push_back(good.back());
        mps.push_back(test(name, State::errored, failure("TypeError", kDouble)));
    }
    good.push_back(test("alike", State::passed));
    cuda.push_back(test("alike", State::errored, failure("KeyError", "'x'")));
    mps.push_back(cuda.back());
    const PortingView view = compared(good, cuda, mps, mps);
    ASSERT_THAT(view.causes, SizeIs(2));
    EXPECT_EQ(view.causes[0].title, "KeyError: 'x'");
    EXPECT_EQ(view.causes[1].tests, 3);
}

// A run on plain CPU with other random numbers, one list of tests for each stream.
PortingView with_streams(const Tests& cpu, const Tests& cuda, const std::vector<Tests>& streams) {
    PortingBuilder builder("alpha_1", "alpha");
    put(builder, Column::cpu, cpu);
    put(builder, Column::cuda, cuda);
    RunView run = run_of(Column::cpu);
    run.id = "alpha-seeds";
    run.seeds = static_cast<int>(streams.size());
    builder.begin_random(run, "../report.md");
    for (const Tests& stream : streams) {
        ModuleView attempt;
        attempt.cases = stream;
        builder.add_random(attempt);
    }
    return builder.finish();
}

TEST(Porting, ATestThatBreaksSoWithOtherRandomNumbersIsRandom) {
    const auto not_close = [](int line, const std::string& type = "AssertionError") {
        FailureView view = failure(type, fmt::format("{} and 2 are not close", line), State::failed);
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
    EXPECT_EQ(of("refused"), std::tuple("device_limit", 0, 0)) << "random numbers explain no refusal";
    EXPECT_EQ(stream_words(find(view, "same").differences.front()),
              "fails with 2 of 3 random streams on plain CPU");
    EXPECT_EQ(stream_words(find(view, "never").differences.front()),
              "does not fail so with any of 3 random streams on plain CPU");
    EXPECT_EQ(stream_words(find(view, "refused").differences.front()), "");
    EXPECT_FALSE(is_to_fix(view.causes[find(view, "same").differences.front().cause]));
    RunView seeds = run_of(Column::cpu);
    seeds.seeds = 3;
    EXPECT_EQ(column_of(seeds), std::nullopt);
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
        EXPECT_EQ(cause.unblocked_tests + cause.perhaps_unblocked_tests, 0);
}

TEST(Porting, CausesThatUnblockMostAreFirstAndThoseOutsideThePortLast) {
    const Tests cpu{test("a", State::passed), test("b", State::passed), test("c", State::passed),
                    test("d", State::passed), test("e", State::passed)};
    const auto refused = [] {
        return failure("NotImplementedError",
                       "torch.cuda.CUDAGraph is not available on this device: why [symbol: "
                       "torch.cuda.CUDAGraph]");
    };
    const auto mismatch = [](const char* op) {
        return failure("RuntimeError",
                       fmt::format("{}: Expected all tensors to be on the same device", op));
    };
    const PortingView view = on_cuda(
        cpu, {test("a", State::errored, refused()), test("b", State::errored, refused()),
              test("c", State::errored, refused()), test("d", State::errored, mismatch("mm")),
              test("e", State::errored, mismatch("mm"))});
    ASSERT_THAT(view.causes, SizeIs(2));
    EXPECT_EQ(view.causes[0].judgement, "device_handling");
    EXPECT_EQ(view.causes[1].judgement, "simulator");
    EXPECT_EQ(find(view, "a").differences[0].cause, 1u) << "indices follow the order of the causes";
}

TEST(Porting, TestsOfABrokenModuleHaveItsCause) {
    CaseView module = test("x", State::errored, failure("TypeError", kDouble));
    module.id = "m.py::<module>";
    module.pseudo = true;
    const Tests cpu{test("a", State::passed), test("b", State::passed)};
    const PortingView view = compared(cpu, cpu, {module}, {module});
    ASSERT_THAT(view.causes, SizeIs(1));
    EXPECT_EQ(view.causes[0].counts, (PerColumn<std::int64_t>{0, 0, 3, 3, 0}));
    EXPECT_EQ(view.causes[0].perhaps_unblocked_tests, 2) << "a module is no test";
    EXPECT_EQ(view.at(Column::mps).count(Change::missing), 2);
    EXPECT_EQ(view.at(Column::mps).count(Change::added), 1);
}

TEST(Porting, GainsAndLossesAreSeparateGroups) {
    const PortingView view = on_cuda(
        {skipped("runs", "needs CUDA"), test("host", State::passed),
         test("fixed", State::failed, failure("KeyError", "'x'")), test("here", State::passed)},
        {test("runs", State::passed), skipped("host", "only on the CPU"),
         test("fixed", State::passed), test("there", State::passed)});
    std::vector<std::string> lines;
    for (const CauseOfDifferences& cause : view.causes)
        lines.push_back(fmt::format("{}: {}", name_of(cause.group), cause.title));
    EXPECT_THAT(lines, testing::UnorderedElementsAre("gain: skipped on plain CPU: needs CUDA",
                                                     "idle: skipped: only on the CPU",
                                                     "gain: failed on plain CPU: KeyError: 'x'",
                                                     "idle: collected on plain CPU alone",
                                                     "gain: collected on a device alone"));
    EXPECT_TRUE(std::none_of(view.causes.begin(), view.causes.end(), is_to_fix));
}

TEST(Porting, FlakyTestsAreNotBlamedOnTheDevice) {
    CaseView flaky = test("a", State::passed);
    flaky.flaky = true;
    const PortingView view = on_cuda(
        {flaky}, {test("a", State::failed, failure("AssertionError", "1 != 2", State::failed))});
    ASSERT_THAT(view.causes, SizeIs(1));
    EXPECT_EQ(view.causes[0].judgement, "flaky");
    EXPECT_FALSE(is_to_fix(view.causes[0]));
}

TEST(Porting, TestsBrokenOnPlainCpuAreNoDifference) {
    const Tests broken{
        test("a", State::failed, failure("AssertionError", "1 != 2", State::failed))};
    const PortingView view = compared(broken, broken, broken, broken);
    EXPECT_THAT(view.tests, IsEmpty());
    EXPECT_EQ(view.at(Column::mps).broken_alike, 1);
}

TEST(Porting, TestsThatNeedCudaAreComparedWithCudaIfTheyBreakOnMps) {
    const auto no_cuda = [] {
        return failure("AssertionError", "Torch not compiled with CUDA enabled");
    };
    const auto broken = [&](const char* name) { return test(name, State::errored, no_cuda()); };
    const Tests cpu{broken("double"), broken("eigh"), broken("fine"), broken("graph")};
    const auto graph = test("graph", State::errored, failure("NotImplementedError", "CUDAGraph"));
    const Tests cuda{test("double", State::passed), test("eigh", State::passed),
                     test("fine", State::passed), graph};
    const auto doubled = test("double", State::errored, failure("TypeError", kDouble));
    const Tests mps{doubled, test("eigh", State::passed), test("fine", State::passed), graph};
    const Tests strict{doubled, test("eigh", State::errored, failure("NotImplementedError", kEigh)),
                       test("fine", State::passed), graph};
    const PortingView view = compared(cpu, cuda, mps, strict);
    EXPECT_THAT(view.accounting.mismatches, IsEmpty());
    EXPECT_EQ(view.at(Column::cuda).count(Change::gained), 3);
    EXPECT_EQ(view.at(Column::mps).count(Change::gained), 2);
    EXPECT_EQ(view.at(Column::mps).count(Change::lost), 1);
    EXPECT_EQ(view.at(Column::mps_strict).count(Change::lost), 2);
    EXPECT_EQ(view.at(Column::mps_strict).broken_alike, 0);
    const auto to_fix = std::count_if(view.causes.begin(), view.causes.end(), is_to_fix);
    EXPECT_EQ(to_fix, 3);
    const auto doubles = std::find_if(view.causes.begin(), view.causes.end(), [](const auto& c) {
        return c.gap && c.gap->symbol == "float64";
    });
    EXPECT_EQ(doubles->perhaps_unblocked_tests, 1);
    ASSERT_THAT(view.fallbacks, SizeIs(1));
    EXPECT_EQ(view.fallbacks[0].depend, 1);
}

// A Mac runs the tests: sending their CUDA requests to MPS is what breaks them.
TEST(Porting, FailuresOfRedirectionAloneAreNoneOfTheDevice) {
    const auto doubled = failure("TypeError", kDouble);
    const Tests cpu{test("asserts", State::passed), test("doubles", State::passed),
                    skipped("needs_cuda", "no CUDA"), test("limit", State::passed)};
    const Tests mac{test("asserts", State::passed), test("doubles", State::passed),
                    skipped("needs_cuda", "no CUDA"), test("limit", State::errored, doubled)};
    Tests sent{
        test("asserts", State::failed, failure("AssertionError", "'cuda' != 'mps'", State::failed)),
        test("doubles", State::errored, doubled), test("needs_cuda", State::errored, doubled),
        test("limit", State::errored, doubled)};
    sent[1].redirected_at = "pkg/device.py:31";
    PortingBuilder builder("alpha_1", "alpha");
    put(builder, Column::cpu, cpu);
    put(builder, Column::mps_strict, mac);
    put(builder, Column::cuda_on_mps, sent);
    const PortingView view = builder.finish();
    EXPECT_TRUE(view.accounting.closed);
    const auto judgement = [&](const char* name) {
        return view.causes[find(view, name).differences.back().cause].judgement;
    };
    EXPECT_EQ(judgement("asserts"), "redirection");
    EXPECT_EQ(judgement("doubles"), "redirection");
    EXPECT_EQ(judgement("needs_cuda"), "device_limit") << "a Mac does not run it";
    EXPECT_EQ(judgement("limit"), "device_limit");
    EXPECT_EQ(find(view, "doubles").differences[0].place, "pkg/device.py:31");
    EXPECT_EQ(std::count_if(view.causes.begin(), view.causes.end(), is_to_fix), 1);
}

// A bare Mac does not take the way that breaks; CUDA does, and breaks as well.
TEST(Porting, WhatBreaksOnCudaTooIsTheCodesOwn) {
    const auto mixed = [](const std::string& device) {
        return failure("RuntimeError",
                       "Expected all tensors to be on the same device, but found at least two "
                       "devices, " + device + ":0 and cpu!");
    };
    const Tests good{test("mixes", State::passed), test("other", State::passed)};
    PortingBuilder builder("alpha_1", "alpha");
    put(builder, Column::cpu, good);
    put(builder, Column::cuda,
        {test("mixes", State::errored, mixed("cuda")),
         test("other", State::errored, failure("ValueError", "no such card"))});
    put(builder, Column::mps_strict, good);
    put(builder, Column::cuda_on_mps,
        {test("mixes", State::errored, mixed("mps")), test("other", State::errored, mixed("mps"))});
    const PortingView view = builder.finish();
    const auto judgement = [&](const char* name) {
        return view.causes[find(view, name).differences.back().cause].judgement;
    };
    EXPECT_EQ(judgement("mixes"), "device_handling");
    EXPECT_EQ(judgement("other"), "redirection") << "another error on CUDA";
    EXPECT_TRUE(breaks_alike(view.causes[find(view, "mixes").differences[0].cause]));
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
    builder.begin_keep_going(run, "../report.md");
    ModuleView module;
    module.cases = {kept};
    builder.add_keep_going(module);
    const PortingView view = builder.finish();
    const PortedTest& a = find(view, "a");
    const auto& lacks = view.causes[a.differences.back().cause];
    ASSERT_TRUE(lacks.gap);
    EXPECT_EQ(unblocked_words(lacks), "0 tests");
    ASSERT_THAT(lacks.behind, SizeIs(1));
    EXPECT_EQ(lacks.behind[0].title, "float64 on mps: this dtype is not supported");
    EXPECT_EQ(view.kept_going[0].column, Column::cuda_on_mps);
}

TEST(Porting, WhatOnlyAGpuHasIsSaidToBeNotSimulated) {
    const PortingView view = compared(
        {skipped("t", "no CUDA")},
        {test("t", State::errored,
              failure("NotImplementedError", "torch.cuda.CUDAGraph is not available on this device: "
                                             "ops run as they are called [symbol: torch.cuda.CUDAGraph]"))},
        {skipped("t", "no CUDA")}, {skipped("t", "no CUDA")});
    const auto& cause = view.causes[find(view, "t").differences[0].cause];
    EXPECT_EQ(cause.judgement, "simulator");
    EXPECT_EQ(cause.title, "torch.cuda.CUDAGraph is not simulated on cuda");
}

// It never ran on plain CPU, so that breaking there says nothing.
TEST(Porting, ATestThatAsksForADeviceAndBreaksOnItIsNotAlike) {
    const auto absent = [] {
        return failure("AssertionError", "Torch not compiled with CUDA enabled");
    };
    const auto mixed = failure("RuntimeError",
                               "Expected all tensors to be on the same device, but found at least "
                               "two devices, cuda:0 and cpu!");
    const Tests cpu{test("mixes", State::errored, absent()),
                    test("own", State::failed, failure("AssertionError", "1 != 2", State::failed))};
    const Tests cuda{test("mixes", State::errored, mixed), cpu[1]};
    const PortingView view = compared(cpu, cuda, cpu, cpu);
    EXPECT_TRUE(view.accounting.closed);
    EXPECT_EQ(view.at(Column::cuda).count(Change::fails_now), 1);
    EXPECT_EQ(view.at(Column::cuda).broken_alike, 1) << "own";
    const PortedTest& mixes = find(view, "mixes");
    EXPECT_EQ(view.causes[mixes.differences[0].cause].judgement, "device_handling");
    EXPECT_EQ(mixes.states[0], State::errored);
}

TEST(Porting, ATestWithItsDeviceInItsIdIsOneTest) {
    const auto ran_on = [](const std::string& device, State state) {
        return test(
            "t[" + device + "-float32]", state,
            needs_attention(state) ? std::optional(failure("TypeError", kDouble)) : std::nullopt);
    };
    const Tests mps{ran_on("cpu", State::passed), ran_on("mps", State::errored)};
    const PortingView view =
        compared({ran_on("cpu", State::passed)},
                 {ran_on("cuda", State::passed), ran_on("cuda:0", State::passed)}, mps, mps);
    EXPECT_TRUE(view.accounting.closed);
    const PortedTest& both = find(view, "t[{device}-float32]");
    EXPECT_EQ(both.states[1], State::passed);
    EXPECT_EQ(both.differences[0].change, Change::lost);
    EXPECT_EQ(both.differences[0].column, Column::mps);
    EXPECT_EQ(find(view, "t[cpu-float32]").differences[0].change, Change::added);
    EXPECT_EQ(find(view, "t[cuda:0-float32]").differences[0].change, Change::added);
}

TEST(Porting, AMissingColumnIsNamedAndTheOthersAreCompared) {
    PortingBuilder builder("alpha_1", "alpha");
    put(builder, Column::cpu, {test("a", State::passed)});
    put(builder, Column::cuda, {test("a", State::failed, failure("KeyError", "'x'"))});
    builder.note_missing(Column::mps, "interrupted before it began");
    builder.note_missing(Column::mps_strict, "interrupted before it began");
    const PortingView view = builder.finish();
    EXPECT_TRUE(view.compared);
    EXPECT_TRUE(view.accounting.closed);
    EXPECT_EQ(view.at(Column::cuda).differ, 1);
    std::string page;
    porting_markdown(view, 1 << 20, [&](std::string_view bytes) { page += bytes; });
    EXPECT_THAT(page,
                HasSubstr("bare Mac *simulated*, fallback off is missing (`interrupted before it "
                          "began`): `runner SUITE --simulate mps --policy none --fallback off`"));

    PortingBuilder alone("alpha_2", "alpha");
    alone.note_missing(Column::cpu, "disk full");
    put(alone, Column::cuda, {test("a", State::passed)});
    EXPECT_FALSE(alone.finish().compared);
}

TEST(Porting, ARefusalCountsAsUseOfTheAccelerator) {
    CaseView host = test("host", State::passed);
    host.used_accelerator = false;
    CaseView refused = test("refused", State::errored, failure("TypeError", kDouble));
    refused.used_accelerator = false;
    const PortingView view = compared({host}, {host}, {host, refused}, {host});
    EXPECT_EQ(view.at(Column::mps).used_accelerator, 1);
    EXPECT_EQ(view.at(Column::cuda).used_accelerator, 0);
}

TEST(ColumnOf, FollowsFromTheSettingsOfTheRun) {
    for (const ColumnRow& row : kColumns) EXPECT_EQ(column_of(run_of(row.column)), row.column);
    RunView redirected = run_of(Column::cpu);
    redirected.shim = true;
    redirected.policy = "missing";
    EXPECT_EQ(column_of(redirected), std::nullopt);
    RunView with_fallback = run_of(Column::cuda_on_mps);
    with_fallback.fallback = true;
    EXPECT_EQ(column_of(with_fallback), std::nullopt);
    RunView real = run_of(Column::cpu);
    real.device = "cuda";
    EXPECT_EQ(column_of(real), std::nullopt);
    RunView imported = run_of(Column::cpu);
    imported.imported = true;
    EXPECT_EQ(column_of(imported), std::nullopt);
}

class Pages : public testing::Test {
  protected:
    std::string markdown(std::size_t max_bytes = 1 << 20) const {
        std::string text;
        porting_markdown(view, max_bytes, [&](std::string_view bytes) { text += bytes; });
        return text;
    }
    json file() const {
        std::string text;
        porting_json(view, [&](std::string_view bytes) { text += bytes; });
        return json::parse(text);
    }

    Tests cpu{test("eigh", State::passed), test("x|`y`", State::passed),
              skipped("cuda", "needs | CUDA")};
    Tests strict{
        test("eigh", State::errored, failure("NotImplementedError", kEigh)),
        test("x|`y`", State::failed, failure("AssertionError", "a | <b>\n# c", State::failed)),
        skipped("cuda", "needs | CUDA")};
    Tests cuda{test("eigh", State::passed), test("x|`y`", State::passed),
               test("cuda", State::passed)};
    PortingView view =
        compared(cpu, cuda, cpu, strict, {fell_back("eigh", "aten::_linalg_eigh.eigenvalues", 2)});
};

TEST_F(Pages, TheFileMatchesItsSchema) {
    const json document = json::parse(*read_file(std::filesystem::path(COMPAT_SOURCE_DIR) /
                                                 "reports/porting.schema.json"));
    valijson::Schema schema;
    valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(document),
                                            schema);
    const auto schema_errors = [&](const json& written) {
        valijson::ValidationResults results;
        valijson::Validator validator;
        std::string text;
        if (validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(written), &results))
            return text;
        for (const auto& error : results) text += error.description + "\n";
        return text;
    };
    const json written = file();
    EXPECT_EQ(schema_errors(written), "");
    for (const auto& [key, value] : written.items()) {
        json without = written;
        without.erase(key);
        EXPECT_NE(schema_errors(without), "") << key;
    }
    json wrong = written;
    wrong["causes"][0]["judgement"] = "a guess";
    EXPECT_NE(schema_errors(wrong), "");
}

TEST_F(Pages, ShowTheSameNumbers) {
    const json written = file();
    const std::string page = markdown();
    EXPECT_EQ(written["columns"][3]["differ"], 2);
    EXPECT_THAT(page,
                HasSubstr("| [bare Mac *simulated*, fallback off](../report.md) | 3 | 0 | 1 | 1 | "
                          "1 | 2 | 2 | 0 | 0 | 0 | 3 |"));
    EXPECT_EQ(written["columns"][1]["groups"]["gain"], 1);
    EXPECT_EQ(written["decided_by_fallback"], 2);
    EXPECT_EQ(written["causes"][written["tests"][0]["differences"][0]["cause"].get<size_t>()]["gap"]
                     ["symbol"],
              "aten::_linalg_eigh.eigenvalues");
    EXPECT_EQ(written["tests"][0]["states"]["mps_strict"], "errored");
    EXPECT_THAT(page, HasSubstr("| 1 | 1 | 2 | `aten::_linalg_eigh.eigenvalues` |"))
        << "the table of fallbacks";
}

TEST_F(Pages, TextFromTestsIsEscaped) {
    const std::string page = markdown();
    EXPECT_THAT(page, Not(HasSubstr("\n# c")));
    EXPECT_THAT(page, HasSubstr("skipped on plain CPU: needs | CUDA"));
    // Every row of a table has the number of cells of its head.
    size_t cells = 0;
    for (size_t begin = 0; begin < page.size();) {
        const size_t end = std::min(page.find('\n', begin), page.size());
        const std::string line = page.substr(begin, end - begin);
        begin = end + 1;
        size_t bars = 0;
        for (size_t i = 0; i < line.size(); ++i)
            bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
        if (!line.starts_with('|')) {
            cells = 0;
            continue;
        }
        if (cells == 0) cells = bars;
        EXPECT_EQ(bars, cells) << line;
    }
}

TEST_F(Pages, ShowTheCommandThatReproducesAFailure) {
    strict[0].reproduce = Reproduce{"runner suites/alpha --simulate mps 'm.py::T::eigh'", "env …"};
    view = compared(cpu, cpu, cpu, strict);
    const std::string command = "runner suites/alpha --simulate mps 'm.py::T::eigh'";
    EXPECT_THAT(markdown(), HasSubstr("\n  `" + command + "`\n"));
    EXPECT_EQ(file()["tests"][0]["differences"][0]["reproduce"], command);
}

TEST_F(Pages, ListTheFirstTenCausesAndFoldTheRest) {
    Tests good, bad;
    for (int i = 0; i < 12; ++i) {
        good.push_back(test(fmt::format("t{}", i), State::passed));
        bad.push_back(test(fmt::format("t{}", i), State::errored,
                           failure(fmt::format("Error{}", static_cast<char>('A' + i)), "x")));
    }
    view = compared(good, bad, good, good);
    const std::string page = markdown();
    EXPECT_THAT(page, HasSubstr("| 10 | up to 1 test |"));
    const size_t fold = page.find("<details><summary>2 more</summary>");
    EXPECT_LT(page.find("| 10 | "), fold);
    EXPECT_GT(page.find("| 11 | "), fold);
    EXPECT_LT(page.find("| 12 | "), page.find("</details>"));
}

TEST_F(Pages, LinkTheRunsThatKeepGoing) {
    const FailureView doubled = failure("TypeError", kDouble);
    CaseView kept = test("t", State::passed);
    kept.refusals = {{std::string("TypeError: ") + kDouble, "m.py:2", ""}};
    const Tests good{test("t", State::passed)}, bad{test("t", State::errored, doubled)};
    view = compared(good, good, bad, bad, {}, {kept});
    EXPECT_THAT(markdown(), HasSubstr("[MPS without fallback](../report.md)"));
    EXPECT_EQ(file()["kept_going"][0]["run"], "alpha-keep-going");
    EXPECT_EQ(file()["kept_going"][0]["column"], "mps_strict");
}

TEST_F(Pages, AShortPageKeepsTheFirstCauses) {
    const std::string page = markdown(2500);
    EXPECT_LT(page.size(), markdown().size());
    EXPECT_THAT(page, HasSubstr("## What to fix first"));
}

TEST_F(Pages, ThePageWarnsIfNoTestUsedAnAccelerator) {
    const Tests used = cpu;
    for (CaseView& t : cpu) t.used_accelerator = false;
    view = compared(cpu, cpu, cpu, cpu);
    EXPECT_THAT(markdown(), HasSubstr("# Porting `alpha`: no test used CUDA or MPS\n"));
    EXPECT_THAT(markdown(), HasSubstr("says nothing about it"));
    EXPECT_EQ(verdict_words(compared(cpu, used, cpu, cpu)),
              "nothing to fix was found on CUDA; no test used MPS");
    EXPECT_EQ(verdict_words(compared(cpu, cpu, cpu, used)),
              "nothing to fix was found on MPS; no test used CUDA");
}

TEST_F(Pages, ListInputDifferences) {
    EXPECT_THAT(view.input_differences, testing::IsEmpty());
    EXPECT_THAT(markdown(), Not(HasSubstr("not alike")));
    PortingBuilder builder("alpha_1", "alpha");
    for (const Column column : {Column::cpu, Column::cuda, Column::mps}) {
        RunView run = run_of(column);
        run.dirty = column == Column::cuda;
        run.selection = column == Column::mps ? "b" : "a";
        run.command = column == Column::cpu ? "runner x --shim off" : "runner x | y";
        builder.begin(column, run);
        ReportModel model;
        model.run = run;
        builder.end(model, {}, "../report.md");
    }
    view = builder.finish();
    ASSERT_THAT(view.input_differences, SizeIs(2));
    EXPECT_EQ(input_difference_words(view.input_differences[0]),
              "commit: 0123abcd on CPU, MPS; 0123abcd (changed since) on CUDA");
    EXPECT_THAT(markdown(), HasSubstr("**The runs are not alike:**"));
    EXPECT_THAT(
        markdown(),
        HasSubstr("- `tests asked for: runner x --shim off on CPU; runner x | y on CUDA, MPS`\n"));
    const auto stored = file();
    EXPECT_EQ(stored["unlike"][1]["values"]["mps"], "runner x | y");
    EXPECT_EQ(stored["unlike"][1]["values"]["mps_strict"], nullptr);
}

}  // namespace
}  // namespace compat::reports
