#include "reports/porting/porting.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "reports/porting/pages.h"
#include "tests/reports/porting_sample.h"

namespace compat::reports::porting_samples {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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
    EXPECT_THAT(lines, Contains("CUDA: m.py::T::a is there more than once"));
    EXPECT_THAT(lines, Contains(HasSubstr("MPS: tests compared and tests "
                                          "that the run collected: 1 against 5")));
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
    EXPECT_EQ(view.at(Column::mps).upstream, 1);
    ASSERT_THAT(view.upstream, SizeIs(1));
    EXPECT_EQ(view.upstream[0].id, broken[0].id);
    EXPECT_EQ(view.upstream[0].key_line, "AssertionError: 1 != 2");
    EXPECT_EQ(view.upstream[0].columns, (PerColumn<bool>{false, true, true, true, false}));
}

TEST(Porting, ATestBrokenInOneStateByAnotherErrorIsNotUpstream) {
    const auto broken = [](const char* message) {
        return Tests{test("a", State::failed, failure("AssertionError", message, State::failed))};
    };
    const PortingView view =
        compared(broken("1 != 2"), broken("a is not b"), broken("1 != 2"), broken("a is not b"));
    EXPECT_EQ(view.at(Column::cuda).broken_alike, 1);
    EXPECT_EQ(view.at(Column::cuda).upstream, 0);
    EXPECT_EQ(view.at(Column::mps).upstream, 1);
}

TEST(Porting, AttributesDifferencesByTheOtherColumns) {
    const Tests good{test("eigh", State::passed), test("odd", State::passed)};
    const auto odd = failure("ValueError", "odd");
    const Tests strict{
        test("eigh", State::failed, failure("AssertionError", "1 != 2", State::failed)),
        test("odd", State::errored, odd)};
    const PortingView view = compared(good, good, {good[0], strict[1]}, strict);
    const auto& eigh = find(view, "eigh").differences[0].attribution;
    ASSERT_TRUE(eigh);
    EXPECT_EQ(eigh->cause, "op_missing") << "it caught the refusal, and passes with fallback";
    EXPECT_EQ(eigh->rule, "passes-with-fallback");
    EXPECT_EQ(eigh->run, "alpha-mps");
    for (const Difference& difference : find(view, "odd").differences) {
        ASSERT_TRUE(difference.attribution);
        EXPECT_EQ(difference.attribution->rule, "device-only");
        EXPECT_EQ(view.causes[difference.cause].attribution->rule, "device-only");
    }
}

TEST(Porting, GeneratedWeightsAreBlamedOnlyWherePlainCpuFailsWithThem) {
    const auto with = [](const char* name, State state, bool generated = true) {
        const auto why = failure("AssertionError", "1.0 != 2.0 within 3 places (1.0 difference)",
                                 State::failed, generated);
        CaseView view =
            test(name, state, state == State::failed ? std::optional(why) : std::nullopt);
        if (generated) view.generated = {{"models/org/m"}, 1};
        return view;
    };
    const PortingView view =
        on_cuda({with("everywhere", State::failed), with("device", State::passed),
                 with("real", State::passed, false)},
                {with("everywhere", State::failed), with("device", State::failed),
                 with("real", State::failed)});
    EXPECT_THAT(view.upstream, IsEmpty()) << "no project is at fault for missing weights";
    ASSERT_THAT(view.tests, SizeIs(2));
    const auto difference = [&](const char* name) { return find(view, name).differences[0]; };
    EXPECT_EQ(difference("device").attribution->rule, "device-only");
    EXPECT_NE(difference("device").attribution->cause, "hub") << "plain CPU passes with the same";
    EXPECT_NE(view.causes[difference("device").cause].judgement, "environment");
    EXPECT_NE(view.causes[difference("device").cause].diagnosis, "hub");
    // Plain CPU had the real ones: nobody knows.
    EXPECT_EQ(difference("real").attribution->cause, "hub");
    EXPECT_EQ(view.causes[difference("real").cause].judgement, "environment");
    EXPECT_TRUE(find(view, "device").generated);
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

// A module's row, in columns where it breaks. Breaking alike is no difference, and is named.
TEST(Porting, ModulesThatCannotBeLoadedAreNamedWithTheirColumns) {
    const auto module = [](const std::string& name, std::optional<FailureView> why) {
        ModuleView view;
        view.path = name + ".py";
        CaseView row = test(name, why ? State::errored : State::passed, why);
        row.pseudo = why.has_value();
        row.id = view.path + (why ? "::<module>" : "::T::t");
        view.outcome = why ? parsers::ModuleOutcome::load_error : parsers::ModuleOutcome::completed;
        view.cases = {row};
        return view;
    };
    const auto lacks = failure("ModuleNotFoundError", "No module named 'x'");
    PortingBuilder builder("alpha_1", "alpha");
    for (const Column column : {Column::cpu, Column::cuda, Column::mps}) {
        ReportModel model;
        model.run = run_of(column);
        builder.begin(column, model.run);
        for (const auto& view :
             {module("both", lacks),
              module("gain", column == Column::cpu ? std::optional(lacks) : std::nullopt),
              module("loss", column == Column::mps ? std::optional(lacks) : std::nullopt)}) {
            builder.add(view);
            ++model.totals.collected;
        }
        builder.end(model, {}, "../report.md");
    }
    const PortingView view = builder.finish();
    EXPECT_TRUE(view.accounting.closed);
    ASSERT_THAT(view.unloaded, SizeIs(3));
    EXPECT_EQ(view.unloaded[0].module, "both.py");
    EXPECT_EQ(format_columns(view.unloaded[0], view), "every run");
    EXPECT_EQ(format_columns(view.unloaded[1], view), "CPU");
    EXPECT_EQ(format_columns(view.unloaded[2], view), "MPS");
    EXPECT_EQ(describe_unloaded(view), "2 on CPU, 1 on CUDA, 2 on MPS");
    EXPECT_THAT(describe_verdict(view), HasSubstr("3 modules could not be loaded"));
    EXPECT_EQ(view.at(Column::cuda).count(Group::gain), 2) << "the module and its test";
    EXPECT_EQ(view.at(Column::cuda).differ, 2);
    EXPECT_EQ(view.at(Column::mps).count(Group::loss), 2);
    std::string page;
    porting_markdown(view, 1 << 20, [&](std::string_view bytes) { page += bytes; });
    EXPECT_THAT(page.substr(0, page.find("| run |")),
                HasSubstr("| [`both.py`](https://forge.example/m.py#L1) | every run | "
                          "`ModuleNotFoundError: No module named 'x'` |"));
}

TEST(PortingUnloaded, IsNoGainWhereTheRunEndedBeforeTheModule) {
    PortingBuilder builder("alpha_1", "alpha");
    for (const Column column : {Column::cpu, Column::cuda}) {
        ReportModel model;
        model.run = run_of(column);
        model.run.complete = column == Column::cpu;
        builder.begin(column, model.run);
        if (column == Column::cpu) {
            ModuleView view;
            view.path = "m.py";
            CaseView row = test("m", State::errored, failure("ModuleNotFoundError", "No module"));
            row.pseudo = true;
            row.id = "m.py::<module>";
            view.outcome = parsers::ModuleOutcome::load_error;
            view.cases = {row};
            builder.add(view);
            ++model.totals.collected;
        }
        builder.end(model, {}, "../report.md");
    }
    const PortingView view = builder.finish();
    EXPECT_EQ(view.at(Column::cuda).count(Group::gain), 0);
    EXPECT_EQ(view.at(Column::cuda).count(Group::idle), 1);
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

}  // namespace
}  // namespace compat::reports::porting_samples
