// The file nightly.json: which suites run in which columns, night after night (JSON with comments,
// nightly.schema.json, docs/guide/nightly.md). Not here: running them (runner/nightly).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"

namespace compat::suites {

inline constexpr int kNightlyFormat = 1;

// A suite, a column and a version of torch: one run of each night. Paths are absolute, but for
// shipped suites.
struct NightlyCell {
    std::string suite;   // as for the command line
    std::string name;    // of the suite, for people: "gpytorch"
    std::string column;  // its name
    std::string torch;   // version, or kNewestTorch; empty: the suite's own
    std::string torch_version;  // that `torch` means; empty: not known yet, or the suite's own
    std::string series;  // "gpytorch-cuda-simulated": names its runs, and no other cell's
    std::vector<std::string> targets;
    std::vector<std::string> options;  // for pytest
    // By the key in a configuration file (config::SettingRow::key), as a flag's text.
    std::map<std::string, std::string> settings;

    // "cpu", "cpu, torch 2.13.0", "cpu, torch newest (2.15.0)"
    [[nodiscard]] std::string title() const;
};

// A value of "torch" that each night resolves anew.
inline constexpr std::string_view kNewestTorch = "newest";

struct Nightly {
    fs::path file;
    fs::path results, site;               // empty: not given
    std::vector<NightlyCell> cells;       // by suite, then column, then torch, in the file's order
    std::optional<std::int64_t> keep_runs, keep_days;
    std::vector<std::string> notify;  // argv; empty: nobody
};

// Parses the text of a nightly.json. `file`, absolute, is its name in errors, and paths start at
// its folder. Errors: suite, with file:line:column.
[[nodiscard]] Expected<Nightly> parse_nightly(std::string_view text, const fs::path& file);
[[nodiscard]] Expected<Nightly> load_nightly(const fs::path& file);

[[nodiscard]] bool asks_for_newest_torch(const Nightly& nightly);
// Makes `version` what kNewestTorch means. Cells of a listed version that accepts it go: the series
// of the newest torch needs a run each night. Returns the listed version; empty: no cell went.
std::string set_newest_torch(Nightly& nightly, const std::string& version);

}  // namespace compat::suites
