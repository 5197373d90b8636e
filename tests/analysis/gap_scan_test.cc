// Small scans; tests/e2e/test_gaps.py checks a whole torch.
#include "runner/analysis/scan/gap_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace compat::analysis {
namespace {

constexpr const char* kYaml = R"(
# comments
- func: composite(Tensor self) -> Tensor
- func: both(Tensor self) -> Tensor
  dispatch:
    CPU, CUDA: both_kernel
    MPS: both_mps
- func: lonely.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, CUDA: kernel
- func: lonely(Tensor self) -> Tensor
  structured_delegate: lonely.out
- func: explicit(Tensor self) -> Tensor
  dispatch:
    CUDA: kernel
    CompositeExplicitAutograd: other
- func: cpu_alone(Tensor self) -> Tensor
  dispatch:
    CPU: kernel
- func: _cudnn_rnn(Tensor input) -> Tensor
  dispatch:
    CUDA: _cudnn_rnn
)";

TEST(Operators, HaveTheKernelsOfTheirDispatchSection) {
    const auto operators = operators_of(kYaml);
    ASSERT_TRUE(operators) << to_line(operators.error());
    std::vector<std::string> lines;
    for (const Operator& op : *operators)
        lines.push_back(op.name + (op.has_kernel(device_kind("cuda")) ? " cuda" : "") +
                        (op.has_kernel(device_kind("mps")) ? " mps" : "") +
                        (op.composite ? " composite" : ""));
    EXPECT_THAT(lines, ::testing::ElementsAre(
                           "composite composite", "both cuda mps", "lonely.out cuda", "lonely cuda",
                           "explicit cuda composite", "cpu_alone", "_cudnn_rnn cuda"));
}

TEST(Operators, AreNotReadFromOtherText) {
    for (const char* text : {"", "a: b", "- x", "- func: [", "\t"})
        EXPECT_FALSE(operators_of(text)) << text;
}

constexpr const char* kScan = R"scan(torch says hello
{"format": 1, "torch": "2.13.0", "git": null, "native_functions": "/x.yaml",
 "masquerade": {"torch.cuda.CUDAGraph": "refused"},
 "modules": {
  "torch.cuda": {
   "CUDAGraph": {"kind": "class", "signature": null},
   "synchronize": {"kind": "function", "signature": "(device=None) -> None"},
   "manual_seed": {"kind": "function", "signature": "(seed: int) -> None"},
   "empty_cache": {"kind": "function", "signature": "() -> None"},
   "current_device": {"kind": "function", "signature": "() -> int"},
   "memory_cached": {"kind": "function", "signature": "(device=None)"},
   "has_half": {"kind": "value", "signature": null}},
  "torch.mps": {
   "synchronize": {"kind": "function", "signature": "() -> None"},
   "manual_seed": {"kind": "function", "signature": "(seed) -> None"}},
  "torch.accelerator": {
   "empty_cache": {"kind": "function", "signature": "()"},
   "current_device_index": {"kind": "function", "signature": "() -> int"}}}})scan";

std::string one_line(std::string text) {
    const size_t first = text.find('\n');
    std::replace(text.begin() + static_cast<long>(first) + 1, text.end(), '\n', ' ');
    return text + "\n";
}

TEST(Scan, ListsWhatTheDeviceLacks) {
    const auto scan = parse_api_scan(one_line(kScan));
    ASSERT_TRUE(scan) << to_line(scan.error());
    EXPECT_EQ(scan->torch, "2.13.0");
    std::vector<std::string> lines;
    for (const GapFacts& gap : gaps_of(*scan, operators_of(kYaml).value(), "mps"))
        lines.push_back(gap.key.symbol + " " + std::string(name_of(gap.key.kind)) + " " +
                        std::string(name_of(gap.severity)) + " " + gap.equivalent);
    EXPECT_THAT(
        lines,
        ::testing::ElementsAre(
            "aten::_cudnn_rnn op_unsupported note ", "aten::lonely op_unsupported major ",
            "aten::lonely.out op_unsupported major ", "torch.cuda.CUDAGraph missing_symbol minor ",
            "torch.cuda.has_half missing_symbol note ",
            // This torch lacks the known counterpart.
            "torch.cuda.memory_cached missing_symbol minor ",
            "torch.cuda.synchronize signature_differs note torch.mps.synchronize"));
}

TEST(Scan, DescribesHowTheRedirectionTreatsASymbol) {
    const auto gaps = gaps_of(parse_api_scan(one_line(kScan)).value(), {}, "mps");
    EXPECT_EQ(gaps[0].description,
              "torch.cuda.CUDAGraph has no counterpart on mps; the redirection refuses it");
}

TEST(Scan, OtherOutputIsAnError) {
    for (const char* text : {"", "hello", "{}", R"({"format": 2})", "[1]"})
        EXPECT_FALSE(parse_api_scan(text)) << text;
}

}  // namespace
}  // namespace compat::analysis
