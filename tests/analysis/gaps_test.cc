#include "runner/analysis/gaps.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compat::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

parsers::Failure failure_of(std::string message) {
    parsers::Failure failure;
    failure.type = "RuntimeError";
    failure.message = std::move(message);
    failure.frames = {{"/s/tests/test_a.py", 3, "test"}, {"/s/lib.py", 9, "f"}};
    return failure;
}

TEST(GapsIn, FindsTheGapThatATextNames) {
    const struct {
        const char* message;
        std::vector<GapKey> keys;
    } kTable[] = {
        {"torch.cuda.CUDAGraph is not available on this device: it needs a CUDA device [symbol: "
         "torch.cuda.CUDAGraph]",
         {{"torch.cuda.CUDAGraph", GapKind::missing_symbol, "cpu"}}},
        {"The operator 'aten::_fft_r2c' is not currently implemented for the MPS device. If you "
         "want",
         {{"aten::_fft_r2c", GapKind::op_unsupported, "mps"}}},
        {"Could not run 'aten::empty.memory_format' with arguments from the 'SparseMPS' backend.",
         {{"aten::empty.memory_format", GapKind::op_unsupported, "mps"}}},
        {"\"addmm_impl_cpu_\" not implemented for 'Half'",
         {{"addmm_impl_cpu_", GapKind::dtype_unsupported, "cpu"}}},
        {"Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support "
         "float64. Please",
         {{"float64", GapKind::dtype_unsupported, "mps"}}},
        {"module 'torch.mps' has no attribute 'ipc_collect'",
         {{"torch.mps.ipc_collect", GapKind::missing_symbol, "cpu"}}},
        {"AttributeError: module 'torch._C' has no attribute '_cuda_getDevice'",
         {{"torch._C._cuda_getDevice", GapKind::shim_defect, "cpu"}}},
        {"Could not run 'aten::mm' with arguments from the 'AutogradNestedTensorCUDA' backend.",
         {{"aten::mm", GapKind::op_unsupported, "cuda"}}},
        {"Could not run 'aten::mm' with arguments from the 'SparseCsrCPU' backend.",
         {{"aten::mm", GapKind::op_unsupported, "cpu"}}},
        {"Could not run 'new_compressed_tensor' from the 'mps:0' device.)",
         {{"new_compressed_tensor", GapKind::op_unsupported, "mps"}}},
        {"Could not run 'aten::item' with arguments from the 'Meta' backend.", {}},
        {"Trying to convert ComplexDouble to the MPS backend but it does not have support for",
         {{"ComplexDouble", GapKind::dtype_unsupported, "mps"}}},
        {"ComplexDouble is not supported on MPS",
         {{"ComplexDouble", GapKind::dtype_unsupported, "mps"}}},
        {"torch.bfloat16 is not supported on MPS",
         {{"bfloat16", GapKind::dtype_unsupported, "mps"}}},
        {"FlashAttention is not supported on MPS", {}},
        {"Operation 'abs_out_mps()' does not support input type 'int64' in MPS backend.",
         {{"abs_out_mps", GapKind::dtype_unsupported, "mps"}}},
        {"MPS does not support cumsum_out_mps op with int64 input. Support has been added",
         {{"cumsum_out_mps", GapKind::dtype_unsupported, "mps"}}},
        {"MPS device does not support linear for non-float inputs",
         {{"linear", GapKind::dtype_unsupported, "mps"}}},
        {"MPS does not support this", {}},
        {"module 'torch.backends.mps' has no attribute 'preferred_linalg_library'",
         {{"torch.backends.mps.preferred_linalg_library", GapKind::missing_symbol, "cpu"}}},
        {"module 'torch' has no attribute 'symeig'", {}},
        {"module 'torch.nn' has no attribute 'Odd'", {}},
        {"expected [symbol: torch.cuda.CUDAGraph] in the text", {}},
        {"module 'numpy' has no attribute 'float'", {}},
        {"1 != 2", {}},
    };
    for (const auto& row : kTable) {
        std::vector<GapKey> keys;
        for (const GapHit& hit : gaps_in(failure_of(row.message), {"cpu", false}))
            keys.push_back(hit.key);
        EXPECT_EQ(keys, row.keys) << row.message;
    }
}

TEST(GapsIn, IgnoresAssertions) {
    for (const char* type :
         {"AssertionError", "unittest.case.AssertionError", "Failed", "Failure"}) {
        auto failure = failure_of("\"mm\" not implemented for 'Half'");
        EXPECT_EQ(gaps_in(failure, {"cpu", false}).size(), 1U);
        failure.type = type;
        EXPECT_THAT(gaps_in(failure, {"cpu", false}), IsEmpty()) << type;
    }
}

TEST(GapsIn, AnAssertionAboutAProcessNamesItsGap) {
    const std::string error =
        "Traceback (most recent call last):\n  File \"/s/train.py\", line 5, in step\n"
        "RuntimeError: \"mm\" not implemented for 'Half'\n\nassert 1 == 0\n";
    auto failure = failure_of(error + " +  where 1 = CompletedProcess(returncode=1)");
    failure.type = "AssertionError";
    const auto hits = gaps_in(failure, {"cpu", false});
    ASSERT_EQ(hits.size(), 1U);
    EXPECT_EQ(hits[0].file, "/s/train.py");
    failure.message = error;
    EXPECT_THAT(gaps_in(failure, {"cpu", false}), IsEmpty()) << "nothing says that a process ended";
}

TEST(GapsIn, TheSiteIsTheSuitesLineAndNotALibrarys) {
    auto failure = failure_of("\"mm\" not implemented for 'Half'");
    const std::string library = "/v/lib/python3.11/site-packages/_pytest/_io/saferepr.py";
    failure.frames.push_back({library, 3, "f"});
    EXPECT_EQ(gaps_in(failure, {"cpu", false}).at(0).file, "/s/lib.py");
    parsers::ModuleRecord record;
    auto& test = record.cases.emplace_back();
    test.id = "a.py::t";
    test.state = parsers::State::errored;
    test.failure = failure_of("The operator 'aten::mm' is not currently implemented for the MPS device");
    auto& event = record.device_events.emplace_back();
    event.kind = "refusal";
    event.op = "aten::mm";
    event.test = test.id;
    event.location = {library, 3};
    const auto hits = gap_hits(record, {"mps", true});
    ASSERT_EQ(hits.size(), 1U);
    EXPECT_TRUE(hits[0].blocks);
    EXPECT_EQ(hits[0].file, "/s/lib.py") << "the shim knows only the caller of torch";
    EXPECT_EQ(hits[0].line, 9);
    test.failure->frames.clear();
    EXPECT_EQ(gap_hits(record, {"mps", true}).at(0).file, library);
}

TEST(GapsIn, OnlyTheTargetIsSimulated) {
    const auto keys = [](const char* device) {
        return gaps_in(failure_of(
                           fmt::format("Could not run 'aten::mm' from the '{}' backend", device)),
                       {"mps", true})
            .at(0)
            .key;
    };
    EXPECT_EQ(keys("MPS"), (GapKey{"aten::mm", GapKind::op_unsupported, "mps", true}));
    EXPECT_EQ(keys("CPU"), (GapKey{"aten::mm", GapKind::op_unsupported, "cpu", false}));
}

TEST(GapsIn, ADtypeIsAGapOfTheDeviceOfTheKernel) {
    const auto device = [](const char* kernel, const Target& target) {
        const auto hits =
            gaps_in(failure_of(fmt::format("\"{}\" not implemented for 'Half'", kernel)), target);
        EXPECT_EQ(hits.size(), 1U);
        return hits.at(0).key.device + (hits[0].key.simulated ? " simulated" : "");
    };
    const Target mac{"mps", false}, simulated{"mps", true};
    for (const Target& target : {mac, simulated}) {
        EXPECT_EQ(device("addmm_impl_cpu_", target), "cpu");
        EXPECT_EQ(device("geqrf_cpu", target), "cpu");
        EXPECT_EQ(device("triu_tril_cuda_template", target), "cuda");
    }
    EXPECT_EQ(device("softmax_lastdim_kernel_impl", mac), "mps") << "it may be a Mac's";
    EXPECT_EQ(device("softmax_lastdim_kernel_impl", simulated), "cpu");
    EXPECT_EQ(device("cpublas_axpy_impl", mac), "mps") << "no word of it names a device";
}

parsers::CaseRecord test_of(std::string id, parsers::State state, std::string message) {
    parsers::CaseRecord test;
    test.id = std::move(id);
    test.state = state;
    test.failure = failure_of(std::move(message));
    return test;
}

TEST(GapHits, OnlyHitsOfFailuresBlock) {
    parsers::ModuleRecord record;
    record.framework = "unittest";
    record.cases = {test_of("a::t1", parsers::State::errored, "[symbol: torch.cuda.CUDAGraph]"),
                    test_of("a::t2", parsers::State::xfailed, "[symbol: torch.cuda.CUDAGraph]")};
    record.device_events = {
        {"a::t3", "fallback", "aten::nonzero", "mps", "cpu", {"/s/lib.py", 4}, 7},
        {"a::t3", "redirect", "aten::zeros", "cuda", "cpu", {"/s/lib.py", 5}, 1}};
    const auto hits = gap_hits(record, {"mps", true});
    ASSERT_EQ(hits.size(), 2U);
    EXPECT_EQ(hits[0].key, (GapKey{"torch.cuda.CUDAGraph", GapKind::missing_symbol, "mps", true}));
    EXPECT_EQ(hits[0].test, "a::t1");
    EXPECT_EQ(hits[0].file + fmt::format(":{}", hits[0].line), "/s/lib.py:9");
    EXPECT_TRUE(hits[0].blocks);
    EXPECT_EQ(hits[1].key, (GapKey{"aten::nonzero", GapKind::fallback, "mps", true}));
    EXPECT_EQ(hits[1].count, 7);
    EXPECT_FALSE(hits[1].blocks);
}

TEST(GapHits, ARefusalInRecordAndTextCountsOnce) {
    parsers::ModuleRecord record;
    record.framework = "unittest";
    record.cases = {test_of("a::t1", parsers::State::errored, "[symbol: torch.cuda.CUDAGraph]")};
    record.device_events = {
        {"a::t1", "refusal", "torch.cuda.CUDAGraph", "", "", {"/s/lib.py", 4}, 2},
        {"a::t2", "refusal", "torch.cuda.CUDAGraph", "", "", {"/s/lib.py", 4}, 1}};
    const auto hits = gap_hits(record, {"cpu", false});
    ASSERT_EQ(hits.size(), 2U);
    EXPECT_EQ(hits[0].count, 2);
    EXPECT_TRUE(hits[0].blocks);
    EXPECT_EQ(hits[1].test, "a::t2");
    EXPECT_FALSE(hits[1].blocks) << "it was caught";
}

TEST(GapHits, RecordAndTextNameARefusedDtypeAlike) {
    parsers::ModuleRecord record;
    record.cases = {test_of("a::t1", parsers::State::errored,
                            "Cannot convert a MPS Tensor to float64 dtype as the MPS framework "
                            "doesn't support float64."),
                    test_of("a::t2", parsers::State::errored,
                            "Trying to convert ComplexDouble to the MPS backend but it does not")};
    record.device_events = {
        {"a::t1", "refusal", "float64", "mps:0", "cpu", {"/s/lib.py", 4}, 3},
        {"a::t2", "refusal", "ComplexDouble", "mps:0", "cpu", {"/s/lib.py", 5}, 1}};
    const auto hits = gap_hits(record, {"mps", true});
    ASSERT_EQ(hits.size(), 2U);
    EXPECT_EQ(hits[0].key, (GapKey{"float64", GapKind::dtype_unsupported, "mps", true}));
    EXPECT_EQ(hits[0].count, 3);
    EXPECT_EQ(hits[1].key, (GapKey{"ComplexDouble", GapKind::dtype_unsupported, "mps", true}));
    EXPECT_TRUE(hits[0].blocks && hits[1].blocks);
}

TEST(GapHits, ARefusedOperatorIsAGapOfTheDevice) {
    parsers::ModuleRecord record;
    record.device_events = {
        {"a::t", "refusal", "aten::_fft_r2c", "mps:0", "cpu", {"/s/a.py", 4}, 1},
        {"a::t", "refusal", "torchvision::nms", "mps:0", "cpu", {"/s/a.py", 5}, 1},
        {"a::t", "refusal", "torch.cuda.CUDAGraph", "", "", {"/s/a.py", 6}, 1}};
    std::vector<GapKind> kinds;
    for (const GapHit& hit : gap_hits(record, {"mps", true})) kinds.push_back(hit.key.kind);
    EXPECT_THAT(kinds, ElementsAre(GapKind::op_unsupported, GapKind::op_unsupported,
                                   GapKind::missing_symbol));
}

TEST(CountBlocked, UnblockedAloneHasNoOtherGapInThatRun) {
    const GapKey a{"a", GapKind::op_unsupported, "mps"}, b{"b", GapKind::op_unsupported, "mps"};
    const auto hit = [](const GapKey& key, const char* test, bool blocks = true) {
        GapHit made;
        made.key = key;
        made.test = test;
        made.blocks = blocks;
        return made;
    };
    const auto blocked = count_blocked({{hit(a, "t1"), hit(a, "t1"), hit(a, "t2"), hit(b, "t2"),
                                         hit(b, "t3", false), hit(b, "")}});
    EXPECT_EQ(blocked.at(a).tests, 2);
    EXPECT_EQ(blocked.at(a).unblocked_alone, 1);
    EXPECT_EQ(blocked.at(b).tests, 1);
    EXPECT_EQ(blocked.at(b).unblocked_alone, 0);

    // Gaps of another run, on another device, do not block tests of the first.
    const GapKey c{"a", GapKind::op_unsupported, "cuda"},
        host{"a", GapKind::dtype_unsupported, "cpu"};
    const auto two = count_blocked(
        {{hit(a, "t1"), hit(a, "t2"), hit(host, "t2")}, {hit(c, "t1"), hit(host, "t2")}});
    EXPECT_EQ(std::pair(two.at(a).tests, two.at(a).unblocked_alone), std::pair(2L, 1L));
    EXPECT_EQ(std::pair(two.at(c).tests, two.at(c).unblocked_alone), std::pair(1L, 1L));
    EXPECT_EQ(std::pair(two.at(host).tests, two.at(host).unblocked_alone), std::pair(1L, 1L))
        << "one test in two runs, in one of them alone";
}

class ProgressOfGaps : public ::testing::Test {
  protected:
    // The ids of the tests that count as passed, then "closed" if the gap is.
    std::vector<std::string> closed_tests() const {
        const GapProgress progress = progress_of_gaps(blocked, run);
        std::vector<std::string> words;
        for (const GapHit& hit : progress.passed) {
            EXPECT_EQ(hit.count, 0);
            EXPECT_FALSE(hit.blocks);
            words.push_back(hit.test);
        }
        for (const GapKey& key : progress.closed) {
            EXPECT_EQ(key, gap);
            words.emplace_back("closed");
        }
        return words;
    }

    GapKey gap{"torch.cuda.CUDAGraph", GapKind::missing_symbol, "mps"};
    std::vector<BlockedTest> blocked{{gap, "s", "a::t1"}, {gap, "s", "a::t2"}};
    LaterRun run{"s", {}, {}};
};

TEST_F(ProgressOfGaps, AGapIsClosedIfAllTestsThatItBlockedPass) {
    run.passed = {"a::t1", "a::t2", "a::t3"};
    EXPECT_THAT(closed_tests(), ElementsAre("a::t1", "a::t2", "closed"));
}

TEST_F(ProgressOfGaps, ATestThatDidNotRunOrPassKeepsItOpen) {
    run.passed = {"a::t1"};
    EXPECT_THAT(closed_tests(), ElementsAre("a::t1"));
    run.passed = {"a::t3"};
    EXPECT_THAT(closed_tests(), IsEmpty());
    blocked.clear();
    EXPECT_THAT(closed_tests(), IsEmpty()) << "nothing was blocked, nothing is proven";
}

TEST_F(ProgressOfGaps, ATestOfAnotherSuiteKeepsItOpen) {
    run.passed = {"a::t1", "a::t2"};
    blocked.push_back({gap, "other", "a::t1"});
    EXPECT_THAT(closed_tests(), ElementsAre("a::t1", "a::t2"));
}

TEST_F(ProgressOfGaps, ABlockedTestOnAnotherDeviceKeepsItOpen) {
    run.passed = {"a::t1", "a::t2"};
    blocked[1].same_target = false;
    EXPECT_THAT(closed_tests(), ElementsAre("a::t1"));
}

TEST_F(ProgressOfGaps, AGapThatTheRunMetStaysOpen) {
    run.passed = {"a::t1", "a::t2"};
    GapHit caught;
    caught.key = gap;
    caught.test = "a::t3";
    run.hits = {caught};
    EXPECT_THAT(closed_tests(), ElementsAre("a::t1", "a::t2"));
    run.hits[0].test = "a::t1";
    EXPECT_THAT(closed_tests(), ElementsAre("a::t2"));
}

TEST_F(ProgressOfGaps, APseudoRowPassesWithATestBelowIt) {
    blocked = {{gap, "s", "a.py::<module>"}};
    run.passed = {"b.py::t"};
    EXPECT_THAT(closed_tests(), IsEmpty());
    run.passed = {"a.py::T::t"};
    EXPECT_THAT(closed_tests(), ElementsAre("a.py::<module>", "closed"));
}

TEST(FactsOf, DescribesEveryKind) {
    for (size_t i = 0; i < kGapKindNames.size(); ++i) {
        const GapFacts facts = facts_of({"x", static_cast<GapKind>(i), "mps"});
        EXPECT_THAT(facts.description, ::testing::HasSubstr("x ")) << kGapKindNames[i];
    }
}

}  // namespace
}  // namespace compat::analysis
