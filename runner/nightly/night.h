// A night: what became of each cell of a nightly.json, as summary.json and the terminal tell it.
// Values only. Not for running cells (nightly.h).
#pragma once

#include <array>
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

// How a test differs between two versions of torch in one night.
enum class TorchChange { regressed, changed, fixed };
inline constexpr std::array<std::string_view, 3> kTorchChanges{"regressed", "changed", "fixed"};

struct TorchDifference {
    std::string id;
    TorchChange change = TorchChange::regressed;
    std::optional<parsers::State> older, newer;  // empty: the run does not have the test
    std::string older_error, newer_error;        // key lines; may be empty
};

// A suite and column with two versions of torch (torch_pairs.h).
struct TorchPair {
    struct Side {
        std::string torch, run;
    };
    std::string suite, column;
    Side older, newer;
    std::array<std::int64_t, kTorchChanges.size()> counts{};
    std::vector<TorchDifference> tests{};  // in the order of TorchChange; at most kBlamedTests
};

// The version that suites::kNewestTorch means in a night.
struct NewestTorch {
    std::string version;   // empty: it is not known
    std::string listed{};  // a version of the file that accepts it, without cells of its own
    std::optional<Error> problem{};
};

struct Night {
    fs::path file;    // the nightly.json
    fs::path folder;  // of summary.json
    WallTime started{};
    std::optional<WallTime> finished;
    fs::path site;  // its first page; empty: not written
    std::optional<NewestTorch> newest_torch{};  // empty: the file does not ask for it
    std::vector<CellResult> cells;
    std::vector<TorchPair> torch_pairs{};
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
    std::string newest_torch{};                 // empty: it was not known, or not asked for
    std::map<std::string, std::string> runs{};  // of the cells that began, by series
};
[[nodiscard]] Expected<EarlierNight> read_summary(const fs::path& file);

// One line for each cell, then what is new, with its first bad run and what changed, and what is
// flaky.
[[nodiscard]] std::string summary_text(const Night& night);

}  // namespace compat::nightly
