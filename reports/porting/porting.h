// Compares a suite's runs on plain CPU and on simulated devices (kColumns): which tests differ,
// why, and what to fix first. Values in, values out. Not for pages (pages.h) nor for how
// causes are judged (runner/analysis/judgement.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/model.h"
#include "reports/porting/cuda_uses.h"
#include "runner/analysis/comparison.h"
#include "runner/base/device_kind.h"
#include "runner/base/gap.h"

namespace compat::reports {

using compat::Column;
using compat::ColumnRow;
using compat::kBaseline;
using compat::kColumns;
using compat::row_of;
template <class T>
using PerColumn = std::array<T, kColumns.size()>;

// The row's words without emphasis.
[[nodiscard]] std::string format_column(const ColumnRow& row);

// The column to which a run belongs; empty: none.
[[nodiscard]] std::optional<Column> column_of(const RunView& run);

// Runs beside the columns: one that went on where the device refuses, and one on plain CPU with
// other random numbers.
enum class FurtherKind { past_refusals, random };
// Empty: it is neither.
[[nodiscard]] std::optional<FurtherKind> further_kind_of(const RunInfo& run);

using analysis::Change;

enum class Group { loss, idle, gain, other };
inline constexpr std::array<std::string_view, 4> kGroupNames{"loss", "idle", "gain", "other"};
// As heads of a table of columns.
inline constexpr std::array<std::string_view, 4> kGroupWords{"break", "do not run", "gain",
                                                             "other"};
[[nodiscard]] constexpr std::string_view name_of(Group g) {
    return kGroupNames[static_cast<size_t>(g)];
}

// A test whose state in a column differs from its baseline.
struct Difference {
    Column column = kBaseline;
    Change change = Change::lost;
    std::size_t cause = 0;              // index in PortingView::causes
    std::vector<std::size_t> causes{};  // of all its failures; the first is `cause`
    std::string key_line{};             // of the failure, or the reason for not running
    std::string place{};                // "file:line" of the suite's innermost frame; may be empty
    std::string place_url{};
    std::string reproduce{};  // the runner's command line; empty: it did not break
    std::string id{};         // of the test in the column's run
    // Its cause, seen beside the other columns; empty: it did not break, or it is flaky.
    std::optional<AttributionView> attribution{};
    // Other random numbers may explain it: plain CPU did not break so with the suite's own.
    bool perhaps_random = false;
    // Streams of random numbers that the test was run with on plain CPU, and those with which it
    // broke in the same way; 0: it was not.
    int streams = 0, failed_streams = 0;
};

// A test with at least one difference.
struct PortedTest {
    std::string id;
    std::string id_on_cpu;  // in the run on plain CPU; empty: not there
    std::string module;
    std::string url;
    bool pseudo = false;
    bool flaky = false;      // in any column
    bool generated = false;  // the same: it used what the hub had generated
    PerColumn<std::optional<parsers::State>> states{};
    std::vector<Difference> differences;  // in the order of the columns
};

// A line of the suite at which tests broke, or would have.
struct BreakingPlace {
    std::string place;  // "file:line"
    std::string url;
    std::int64_t tests = 0;
};

// The next failure of tests, once their first one is fixed.
struct ObstacleBehind {
    std::string title;
    std::int64_t tests = 0;
};

struct CauseOfDifferences {
    Group group = Group::loss;
    std::string judgement;  // name in analysis::kJudgements; empty: no loss
    std::string title;
    bool trusted_title = false;  // written by us, not quoted from the suite
    std::string advice;
    std::string diagnosis, error_class, rule, signature;  // of the first failure; may be empty
    std::optional<AttributionView> attribution{};         // likewise
    std::optional<GapKey> gap;
    std::string equivalent, issue;     // of the gap
    PerColumn<std::int64_t> counts{};  // differences
    std::int64_t tests = 0;            // distinct
    // Tests that pass in the column once this is fixed, as the run that keeps going shows; and
    // those that may, because nothing says what they meet next. `…_tests`: in any column.
    PerColumn<std::int64_t> unblocked{}, perhaps_unblocked{};
    std::int64_t unblocked_tests = 0, perhaps_unblocked_tests = 0;
    std::vector<ObstacleBehind> behind;  // of most tests first, kExamples at most
    // Tests that no column unblocks, because they meet another cause, too: in its run, or next.
    std::int64_t blocked_tests = 0;
    std::vector<BreakingPlace> places;  // of most tests first, kExamples at most
    // Where the runs that keep going met it, and no test broke first. Likewise.
    std::vector<BreakingPlace> places_behind;
    std::vector<std::size_t> examples;  // indices in PortingView::tests, kExamples at most
};
inline constexpr std::size_t kExamples = 3;

// A test that fails the same on plain CPU: no difference, and nothing of ours.
struct UpstreamTest {
    std::string id;
    std::string url;
    std::string key_line;
    PerColumn<bool> columns{};
};

// A module that could not be loaded, with one error.
struct UnloadedModule {
    std::string module;
    std::string url;       // of the line that broke, else of the module
    std::string key_line;  // of the error; may be empty
    PerColumn<bool> columns{};
};

// An operator that MPS lacks, and that the CPU computed with fallback.
struct FallbackView {
    std::string symbol;
    std::string advice;
    std::int64_t tests = 0;        // that called it
    std::int64_t count = 0;        // calls, each of which copied to the CPU and back
    std::int64_t depend = 0;       // tests that are good with fallback and break without it
    std::string example{}, url{};  // a test that depends on it, else one that called it
};

// Whether it breaks on several devices: an error of the code's own.
[[nodiscard]] bool breaks_alike(const CauseOfDifferences& cause);
// Whether it is work for the person who ports the code.
[[nodiscard]] bool is_to_fix(const CauseOfDifferences& cause);
// Whether the code names a device that is not there.
[[nodiscard]] bool asks_for_absent_device(const CauseOfDifferences& cause);
[[nodiscard]] std::string_view describe_judgement(const CauseOfDifferences& cause);

struct PortingColumn {
    std::optional<RunView> run;
    std::string why_missing;  // why there is no run, or no complete one
    std::string command;      // that makes the run; empty: it is there, or nobody knows
    std::string report_url;
    Totals totals;
    std::int64_t differ = 0;
    std::array<std::int64_t, analysis::kChangeNames.size()> changes{};
    std::array<std::int64_t, kGroupNames.size()> groups{};  // the same differences by cause
    std::int64_t used_accelerator = 0;                      // tests; in files: "exercised"
    std::int64_t broken_alike = 0;                          // broken in the baseline's state
    std::int64_t upstream = 0;  // of these, those that fail by the same errors on plain CPU

    [[nodiscard]] std::int64_t count(Change change) const {
        return changes[static_cast<size_t>(change)];
    }
    [[nodiscard]] std::int64_t count(Group group) const {
        return groups[static_cast<size_t>(group)];
    }
};

// An input that should be equal in all runs and is not. It may explain differences.
struct InputDifference {
    std::string name;
    PerColumn<std::string> values;  // empty: no run, or not known
};

// A run of broken tests, which is no column: one that keeps going where the device refuses shows
// what else stands in a test's way; one on plain CPU with other random numbers whether they decide.
struct FurtherRun {
    RunView run;
    Column column;  // whose broken tests it ran; of a bare Mac: mps_strict
    std::string report_url;
};

struct PortingView {
    std::string id;
    std::string suite;
    PerColumn<PortingColumn> columns;
    std::vector<InputDifference> input_differences;
    std::vector<FurtherRun> kept_going;
    std::optional<FurtherRun> random;
    bool compared = false;  // there are runs of plain CPU and of another column
    Accounting accounting;
    std::vector<CauseOfDifferences> causes;  // by group; then what to fix first
    std::vector<PortedTest> tests;
    std::vector<UpstreamTest> upstream;
    std::vector<UnloadedModule> unloaded;  // by module; of any column, alike or not
    std::vector<FallbackView> fallbacks;   // those that most tests depend on first
    CudaUses cuda_uses;                    // of the suite's own code; no root: nobody asked
    std::int64_t decided_by_fallback = 0;  // tests whose state differs with and without it

    [[nodiscard]] const PortingColumn& at(Column column) const {
        return columns[static_cast<size_t>(column)];
    }
};

// "3 tests used generated models or data: …", of the column with the most; empty: there are none.
[[nodiscard]] std::string describe_generated(const PortingView& view);

// "3 tests"; "3 to 5 tests" or "up to 5 tests", if nothing says what the others meet next; "0
// alone: its 2 tests meet another cause, too".
[[nodiscard]] std::string describe_unblocked(const CauseOfDifferences& cause);

// "fails with 6 of 20 random streams on plain CPU"; empty: none could tell, or it ran with none.
[[nodiscard]] std::string describe_streams(const Difference& difference);

// Distinct modules that could not be loaded in some column.
[[nodiscard]] std::int64_t unloaded_modules(const PortingView& view);
// "2 on plain CPU, 1 on CUDA"; empty: all could be loaded.
[[nodiscard]] std::string describe_unloaded(const PortingView& view);
// "every run", or "CUDA, MPS".
[[nodiscard]] std::string format_columns(const UnloadedModule& module, const PortingView& view);

// "commit: `a` on CPU; `b` on CUDA, MPS"
[[nodiscard]] std::string describe_input_difference(const InputDifference& input);

// One line: how much there is to fix, and the devices that no test used.
[[nodiscard]] std::string describe_verdict(const PortingView& view);

// Takes the columns one after the other, plain CPU first, each module by module. Keeps the state of
// each test, and failures of those that break.
class PortingBuilder {
  public:
    PortingBuilder(std::string id, std::string suite);
    PortingBuilder(PortingBuilder&&) noexcept;
    ~PortingBuilder();

    void begin(Column column, const RunView& run);
    void add(const ModuleView& module);
    // `hits`: the run's gap hits (store::GapLog::hits). `model` has its gaps.
    void end(const ReportModel& model, const std::vector<GapHit>& hits, std::string report_url);
    // A run beside the columns, after all of them. If it had other random numbers, add each
    // module's attempts one by one.
    void begin_further(const RunView& run, std::string report_url);
    void add_further(const ModuleView& module);
    // The column has no run, or no complete one.
    // `command` makes it; empty: not known.
    void note_missing(Column column, std::string why, std::string command = {});
    [[nodiscard]] PortingView finish();

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compat::reports
