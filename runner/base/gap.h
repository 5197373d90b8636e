// A gap of the API gap log: what code written for CUDA wants and another device does not have, one
// symbol or operator and kind each. Values only, for those who find gaps (runner/analysis), keep
// them (runner/store) and show them (reports, runner/cli).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace compat {

enum class GapKind {
    missing_symbol,     // a name of CUDA's API that the device has no counterpart of
    signature_differs,  // there is one, called otherwise
    op_unsupported,     // an operator without a kernel
    dtype_unsupported,  // a kernel, or the device, without this dtype
    fallback,           // an operator that ran on the CPU instead
    behaviour_differs,  // set by hand
    stubbed,            // answered by the redirection, without its effect
    shim_defect         // the redirection answers for CUDA and lacks what torch then asks for
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

// Of these only open and fixed are ever set by a run or a scan.
inline constexpr std::array<std::string_view, 5> kGapStatusNames{"open", "planned", "fixed",
                                                                 "wontfix", "upstream"};

// Which gap: at most one of these is in the log.
struct GapKey {
    std::string symbol;  // "torch.cuda.CUDAGraph", "aten::_fft_r2c", "float64"
    GapKind kind = GapKind::missing_symbol;
    std::string device;  // the target: "mps", "cpu"
    bool simulated = false;

    friend auto operator<=>(const GapKey&, const GapKey&) = default;
};

// What is known of a gap from torch itself or from its first hit.
struct GapFacts {
    GapKey key;
    std::string equivalent;  // what to call instead; empty: nothing is known
    std::string description;
    Severity severity = Severity::minor;
    std::string action;

    friend bool operator==(const GapFacts&, const GapFacts&) = default;
};

// Where a run met a gap.
struct GapHit {
    GapKey key;
    std::string test;  // case id; empty: outside any test
    std::string file;  // absolute as the child saw it; empty: unknown
    int line = 0;
    std::int64_t count = 1;  // 0: the test, which it had blocked, passed without it
    bool blocks = false;     // the test failed of it

    friend bool operator==(const GapHit&, const GapHit&) = default;
};

// A test that failed of a gap and has not passed since.
struct BlockedTest {
    GapKey gap;
    std::string suite;
    std::string test;  // case id
    // In a run on the device of the run that is asked about, simulated or not as that.
    bool same_target = true;

    friend bool operator==(const BlockedTest&, const BlockedTest&) = default;
};

}  // namespace compat
