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
    std::string torch;   // version; empty: the suite's own
    std::string series;  // "gpytorch-cuda-simulated": names its runs, and no other cell's
    std::vector<std::string> targets;
    std::vector<std::string> options;  // for pytest
    // By the key in a configuration file (config::SettingRow::key), as a flag's text.
    std::map<std::string, std::string> settings;
};

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

}  // namespace compat::suites
