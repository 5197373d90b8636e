// A night: what became of each cell of a nightly.json, as summary.json and the terminal tell it.
// Values only. Not for running cells (nightly.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/analysis/changes/change_class.h"
#include "runner/base/clock.h"
#include "runner/base/exit_code.h"
#include "runner/base/files/fs.h"
#include "runner/site/blame.h"
#include "runner/store/store.h"
#include "suites/nightly.h"

namespace compat::nightly {

// A test whose result nothing expects, and since when.
struct UnexpectedTest {
    std::string id;
    parsers::State state = parsers::State::failed;
    // Since when, in its series; empty: the run is not complete, so that no series has it.
    std::optional<site::BlameColumn> blame;
    bool is_new = false;    // the cell's run is the first bad one
    bool is_flaky = false;  // and does not fail the night
};

struct CellResult {
    suites::NightlyCell cell;
    bool begun = false;
    std::string began{};    // the id of its last run, which may have ended with an error
    std::string run{};      // empty: none is stored
    std::string problem{};  // why there is no run, or why it could not be compared; empty: none
    ExitCode code = ExitCode::ok;
    double seconds = 0;
    std::optional<store::RunSummary> stored{};
    std::string baseline{};  // the complete run before it; empty: none
    analysis::ClassCounts changes{};
    std::int64_t regressed = 0, fixed = 0;  // as in `changes`, flaky tests left out
    std::vector<UnexpectedTest> broken{};   // new ones first; at most kBlamedTests
    std::size_t all_broken = 0, flaky = 0;

    [[nodiscard]] std::string verdict() const;  // "as expected", "2 tests broke", …
};

// At most this many of a cell's broken tests are looked up in its past.
inline constexpr std::size_t kBlamedTests = 100;

struct Night {
    fs::path file;    // the nightly.json
    fs::path folder;  // of summary.json
    WallTime started{};
    std::optional<WallTime> finished;
    fs::path site;  // its first page; empty: not written
    std::vector<CellResult> cells;
    std::vector<std::string> problems;  // of the night as a whole
    ExitCode code = ExitCode::ok;
};

inline constexpr int kNightFormat = 1;

// Described by reports/schemas/night.schema.json.
[[nodiscard]] std::string summary_json(const Night& night);
// The part of an earlier summary.json that --resume needs. Errors: usage, if the text is not one.
struct EarlierNight {
    std::string file;
    WallTime started{};
    bool finished = false;
    std::map<std::string, std::string> runs{};  // of the cells that began, by series
};
[[nodiscard]] Expected<EarlierNight> read_summary(const fs::path& file);

// One line for each cell, then what is new, with its first bad run and what changed, and what is
// flaky.
[[nodiscard]] std::string summary_text(const Night& night);

}  // namespace compat::nightly
