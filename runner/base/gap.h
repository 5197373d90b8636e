// A gap of the API gap log: a symbol or operator that code for CUDA uses and another device lacks.
// Values only. Not here: finding gaps (runner/analysis), storing them (runner/store) and showing
// them (reports, runner/cli).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace compat {

enum class GapKind {
    missing_symbol,     // a CUDA API without a counterpart on the device
    signature_differs,  // the counterpart has other parameters
    op_unsupported,     // an operator without a kernel
    dtype_unsupported,  // the kernel or the device lacks this dtype
    fallback,           // an operator ran on the CPU instead
    behaviour_differs,  // set manually
    stubbed,            // the redirection accepts the call without its effect
    shim_defect         // the redirection lacks something that torch needs from CUDA
};
inline constexpr std::array<std::string_view, 8> kGapKindNames{
    "missing_symbol", "signature_differs", "op_unsupported", "dtype_unsupported",
    "fallback",       "behaviour_differs", "stubbed",        "shim_defect"};
[[nodiscard]] constexpr std::string_view name_of(GapKind k) {
    return kGapKindNames[static_cast<size_t>(k)];
}

enum class Severity { blocker, major, minor, note };
inline constexpr std::array<std::string_view, 4> kSeverityNames{"blocker", "major", "minor",
                                                                "note"};
[[nodiscard]] constexpr std::string_view name_of(Severity s) {
    return kSeverityNames[static_cast<size_t>(s)];
}

// Runs and scans set only open and fixed.
inline constexpr std::array<std::string_view, 5> kGapStatusNames{"open", "planned", "fixed",
                                                                 "wontfix", "upstream"};

// Identifies a gap; unique in the log.
struct GapKey {
    std::string symbol;  // "torch.cuda.CUDAGraph", "aten::_fft_r2c", "float64"
    GapKind kind = GapKind::missing_symbol;
    std::string device;  // the target: "mps", "cpu"
    bool simulated = false;

    friend auto operator<=>(const GapKey&, const GapKey&) = default;
};

// Facts about a gap, from torch itself or from its first hit.
struct GapFacts {
    GapKey key;
    std::string equivalent;  // what to call instead; empty: unknown
    std::string description;
    Severity severity = Severity::minor;
    std::string action;

    friend bool operator==(const GapFacts&, const GapFacts&) = default;
};

// Where a run met a gap.
struct GapHit {
    GapKey key;
    std::string test;  // case id; empty: outside a test
    std::string file;  // absolute in the child; empty: unknown
    int line = 0;
    std::int64_t count = 1;  // 0: the test it blocked passed without it
    bool blocks = false;     // the test failed because of it
    // How a test that it blocks does pass: "passes with fallback on"; empty: not known.
    std::string diagnosis{};

    friend bool operator==(const GapHit&, const GapHit&) = default;
};

// A test that failed because of a gap and has not passed since.
struct BlockedTest {
    GapKey gap;
    std::string suite;
    std::string test;  // case id
    // Failed on the same device as the run in question, and equally simulated or not.
    bool same_target = true;

    friend bool operator==(const BlockedTest&, const BlockedTest&) = default;
};

}  // namespace compat
