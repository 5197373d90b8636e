// Uses of CUDA in a suite's own code, summed up for the page of `runner porting`. Not for the scan
// itself (runner/analysis/scan/cuda_scan.h), which `runner scan` prints whole.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reports/links.h"
#include "runner/analysis/scan/cuda_scan.h"

namespace compat::reports {

struct CudaUseView {
    std::string place;  // "file:line", relative to the suite's root
    std::string url;
    std::string symbol;  // "torch.cuda.Stream", ".cuda()", "nccl"
    std::string source;  // the line
    std::string write;   // the replacement; empty: this torch has none
    analysis::Ran ran = analysis::Ran::unknown;
    std::int64_t count = 0;  // events
};

// The places with one thing to do; those that a comment suppresses are left out.
struct CudaUseGroup {
    std::string action, title, what;
    bool changes = false;
    std::int64_t places = 0;
    std::array<std::int64_t, analysis::kRanNames.size()> by_ran{};
    std::vector<std::pair<std::string, std::int64_t>> categories;  // most places first
    std::vector<CudaUseView> first;  // kFirstUses at most, only if `changes`; what ran comes first

    [[nodiscard]] std::int64_t count(analysis::Ran ran) const {
        return by_ran[static_cast<std::size_t>(ran)];
    }
};
inline constexpr std::size_t kFirstUses = 3;

struct CudaUses {
    std::string unknown;  // why the code was not scanned; empty: it was
    std::string root;     // the folder that was scanned
    std::int64_t files = 0, places = 0, to_change = 0, suppressed = 0;
    std::int64_t files_with_places = 0;
    std::int64_t unread = 0;  // files that could not be scanned
    bool has_record = false;  // whether a run says what ran
    std::vector<CudaUseGroup> groups;
};

// `scan` names files relative to the links' root, which is `root`.
[[nodiscard]] CudaUses cuda_uses_of(const analysis::CudaScan& scan, std::string root,
                                    LinkResolver& links);

// "12 places in 4 of 9 files name CUDA, 7 are to change".
[[nodiscard]] std::string describe_cuda_uses(const CudaUses& uses);

// "ran 24", "refused", "did not run"; empty: unknown.
[[nodiscard]] std::string describe_whether_ran(const CudaUseView& use);

// A section of the page.
[[nodiscard]] std::string cuda_uses_markdown(const CudaUses& uses);

}  // namespace compat::reports
