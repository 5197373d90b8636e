// The API gap log: what code written for CUDA wants and another device does not have, one symbol or
// operator and kind each. What a gap is, where gaps show in a run's records, and how they are
// ranked. Pure. Not for finding them in torch itself (gap_scan.h) nor for keeping them
// (runner/store/gaps.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/record.h"

namespace compat::analysis {

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

// Which gap: at most one of these is in the log.
struct GapKey {
    std::string symbol;  // "torch.cuda.CUDAGraph", "aten::_fft_r2c", "float64"
    GapKind kind = GapKind::missing_symbol;
    std::string device;  // the target: "mps", "cpu"

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
    parsers::Location location;
    std::int64_t count = 1;
    bool blocks = false;  // the test failed of it

    friend bool operator==(const GapHit&, const GapHit&) = default;
};

// From the shim's record (refusals, stubs, fallbacks) and from what failures say of operators,
// dtypes and names that are missing, also in imported logs. `device`: the run's target. A text that
// names another device ("the MPS device", "the 'CUDA' backend") is of that one.
[[nodiscard]] std::vector<GapHit> gap_hits(const parsers::ModuleRecord& record,
                                           std::string_view device);

// What a failure's text says; `test` and `location` are left empty.
[[nodiscard]] std::vector<GapHit> gaps_in(const parsers::Failure& failure, std::string_view device);

// A gap's facts where only a hit is known of it.
[[nodiscard]] GapFacts facts_of(const GapKey& key);

struct Blocked {
    std::int64_t tests = 0;            // that failed of it
    std::int64_t unblocked_alone = 0;  // of these, those that no other gap is known to block
};
[[nodiscard]] std::map<GapKey, Blocked> blocked_by(const std::vector<GapHit>& hits);

}  // namespace compat::analysis
