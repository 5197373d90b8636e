// Tests by which causes differences are grouped, and their order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/porting_sample.h"

namespace compat::reports::porting_samples {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

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
    const FailureView started =
        failure("AssertionError",
                "Traceback (most recent call last):\n    File \"/suite/m.py\", line 14, in t\n     "
                " x['a']\n"
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
                       "devices, " +
                           device + ":0 and cpu!");
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

TEST(Porting, WhatOnlyAGpuHasIsSaidToBeNotSimulated) {
    const PortingView view =
        compared({skipped("t", "no CUDA")},
                 {test("t", State::errored,
                       failure("NotImplementedError",
                               "torch.cuda.CUDAGraph is not available on this device: "
                               "ops run as they are called [symbol: torch.cuda.CUDAGraph]"))},
                 {skipped("t", "no CUDA")}, {skipped("t", "no CUDA")});
    const auto& cause = view.causes[find(view, "t").differences[0].cause];
    EXPECT_EQ(cause.judgement, "simulator");
    EXPECT_EQ(cause.title, "torch.cuda.CUDAGraph is not simulated on cuda");
}

}  // namespace
}  // namespace compat::reports::porting_samples
