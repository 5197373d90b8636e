// Uses of CUDA in Python code: the sites that runner/harness/scan found in syntax trees, limited to
// the functions of one version of torch. Pure. Not for functions that torch lacks (gap_scan.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"

namespace compat::analysis {

// Whether a site ran, by a record; unknown: the site leaves no event when it runs.
enum class Ran { unknown, no, yes, refused };
inline constexpr std::array<std::string_view, 4> kRanNames{"unknown", "not_run", "ran", "refused"};

struct CudaSite {
    std::string file;
    int line = 0, column = 0;           // from 1
    int first_line = 0, last_line = 0;  // of the call around it
    std::string symbol;                 // "torch.cuda.Stream", ".cuda()", "nccl"
    std::string category, action;       // names in the scan's lists
    std::string source;                 // the line, trimmed
    std::string write;                  // the replacement; empty: this torch has none
    std::string torch;                  // the first version with the replacement; empty: any
    std::string fix;                    // how --fix writes it; empty: it does not
    std::string fix_torch;              // the first version with what --fix writes
    bool guarded = false;               // it runs on CUDA alone
    bool suppressed = false;            // by a comment
    // From a record (scan_record.h).
    bool recorded = false;  // it leaves an event when it runs
    Ran ran = Ran::unknown;
    std::int64_t count = 0;  // events
};

// Events of one line in a record.
struct RanEvent {
    std::string file;
    int line = 0;
    std::string kind, op, from, to;  // as in the record
    std::int64_t count = 0;
};

struct ScanAction {
    std::string name, title, what;
    bool changes = false;  // its sites are to be changed
};

struct UnreadFile {
    std::string file;
    int line = 0;  // 0: unknown
    std::string reason;
};

struct CudaScan {
    std::string python;  // version, whose syntax was understood
    std::string code;    // in `# noqa: CODE`
    std::string torch;   // the version that replacements are for; empty: any
    int files = 0;
    std::vector<ScanAction> actions;      // in the order to show
    std::vector<std::string> categories;  // in the order to show
    std::vector<UnreadFile> unread;
    std::vector<CudaSite> sites;  // by file and line
    bool has_record = false;
    std::vector<RanEvent> found_by_running;  // at lines without a device; most frequent first
};

// Errors: environment, for output that is not a scan or has a newer format.
[[nodiscard]] Expected<CudaScan> parse_cuda_scan(std::string_view output);

// Whether `version` ("2.13.0+cpu") is `since` ("2.8") or newer.
[[nodiscard]] bool has_version(std::string_view version, std::string_view since);

// Takes back replacements that this version of torch lacks.
void limit_to_torch(CudaScan& scan, std::string_view version);

[[nodiscard]] const ScanAction& action_of(const CudaScan& scan, const CudaSite& site);

// The sites with one action that are not suppressed.
struct ScanGroup {
    const ScanAction* action = nullptr;
    std::vector<const CudaSite*> sites;  // by category in the scan's order; of each, what ran first
    std::array<std::int64_t, kRanNames.size()> by_ran{};

    [[nodiscard]] std::int64_t count(Ran ran) const { return by_ran[static_cast<std::size_t>(ran)]; }
};
// In the order of the actions, without empty ones. `scan` has to outlive them.
[[nodiscard]] std::vector<ScanGroup> groups_of(const CudaScan& scan);

// A site that is not suppressed and has an action that changes code.
[[nodiscard]] bool is_to_change(const CudaScan& scan, const CudaSite& site);

}  // namespace compat::analysis
