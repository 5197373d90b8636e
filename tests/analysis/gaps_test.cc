// Which gaps a failure's text and a shim's record tell of, and how they are ranked.
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

TEST(GapsIn, AreWhatTheTextNames) {
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

parsers::CaseRecord test_of(std::string id, parsers::State state, std::string message) {
    parsers::CaseRecord test;
    test.id = std::move(id);
    test.state = state;
    test.failure = failure_of(std::move(message));
    return test;
}

TEST(GapHits, OfFailuresBlockAndOfTheRecordDoNot) {
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

TEST(BlockedBy, CountsATestForAGapAloneOnlyWhereNoOtherBlocksIt) {
    const GapKey a{"a", GapKind::op_unsupported, "mps"}, b{"b", GapKind::op_unsupported, "mps"};
    const auto hit = [](const GapKey& key, const char* test, bool blocks = true) {
        GapHit made;
        made.key = key;
        made.test = test;
        made.blocks = blocks;
        return made;
    };
    const auto blocked = blocked_by(
        {hit(a, "t1"), hit(a, "t1"), hit(a, "t2"), hit(b, "t2"), hit(b, "t3", false), hit(b, "")});
    EXPECT_EQ(blocked.at(a).tests, 2);
    EXPECT_EQ(blocked.at(a).unblocked_alone, 1);
    EXPECT_EQ(blocked.at(b).tests, 1);
    EXPECT_EQ(blocked.at(b).unblocked_alone, 0);
}

TEST(Closes, WhereWhatItBlockedPasses) {
    const std::set<std::string> blocked{"t1", "t2"};
    EXPECT_TRUE(closes(blocked, {{"t1", "t2"}, {}}, false));
    EXPECT_TRUE(closes(blocked, {{"t1"}, {"t3"}}, false));
    EXPECT_FALSE(closes(blocked, {{"t1"}, {"t2"}}, false));
    EXPECT_FALSE(closes(blocked, {{"t3"}, {}}, false));
    EXPECT_FALSE(closes(blocked, {{"t1", "t2"}, {}}, true));
}

TEST(FactsOf, AreThereForEveryKind) {
    for (size_t i = 0; i < kGapKindNames.size(); ++i) {
        const GapFacts facts = facts_of({"x", static_cast<GapKind>(i), "mps"});
        EXPECT_THAT(facts.description, ::testing::HasSubstr("x ")) << kGapKindNames[i];
    }
}

}  // namespace
}  // namespace compat::analysis
