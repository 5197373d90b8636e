// One suite on plain CPU, on simulated CUDA and on simulated MPS with and without fallback,
// compared test by test: what goes otherwise on a device, under its cause, and what to fix first.
// Values in, values out: columns come as the views that reports are made of. Not here: how it looks
// (porting_pages.h), what is judged how (runner/analysis/judgement.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/model.h"
#include "runner/base/gap.h"

namespace compat::reports {

// Plain CPU is what the others are compared with. A test that breaks there and is good on CUDA, as
// one does that names the device, is held against CUDA where it breaks on MPS.
enum class Column { cpu, cuda, mps, mps_strict };

struct ColumnRow {
    Column column;
    std::string_view name;   // in files
    std::string_view words;  // for people
    std::string_view brief;
    bool shim;
    std::string_view simulated;  // as --simulate has it; empty: nothing
    bool fallback;
};
inline constexpr std::array<ColumnRow, 4> kColumns{{
    {Column::cpu, "cpu", "plain CPU", "CPU", false, "", true},
    {Column::cuda, "cuda", "CUDA *simulated*", "CUDA", true, "cuda", true},
    {Column::mps, "mps", "MPS *simulated*, fallback on", "MPS", true, "mps", true},
    {Column::mps_strict, "mps_strict", "MPS *simulated*, fallback off", "MPS without fallback",
     true, "mps", false},
}};
[[nodiscard]] constexpr const ColumnRow& row_of(Column column) {
    return kColumns[static_cast<size_t>(column)];
}
template <class T>
using PerColumn = std::array<T, kColumns.size()>;

// The column that a run is; empty: it is none of them.
[[nodiscard]] std::optional<Column> column_of(const RunView& run);

// How a test goes in a column against plain CPU.
enum class Change {
    lost,       // good there, or on CUDA, and breaks here
    fails_now,  // did not run there, and breaks here
    no_longer,  // ran there, and is skipped or not run here
    missing,    // is there, and not here
    gained,     // broke there, and is good here
    runs_now,   // did not run there, and is good here
    added,      // is not there
    otherwise   // another state of the same worth, as failed and errored
};
inline constexpr std::array<std::string_view, 8> kChangeNames{
    "lost", "fails_now", "no_longer", "missing", "gained", "runs_now", "added", "otherwise"};
[[nodiscard]] constexpr std::string_view name_of(Change c) {
    return kChangeNames[static_cast<size_t>(c)];
}

// What a cause's differences are to a reader.
enum class Group { loss, idle, gain, other };
inline constexpr std::array<std::string_view, 4> kGroupNames{"loss", "idle", "gain", "other"};
[[nodiscard]] constexpr std::string_view name_of(Group g) {
    return kGroupNames[static_cast<size_t>(g)];
}

// A test in a column in which it goes otherwise than on plain CPU.
struct Difference {
    Column column = Column::cuda;
    Change change = Change::lost;
    std::size_t cause = 0;              // index in PortingView::causes
    std::vector<std::size_t> causes{};  // all that it broke by; the first is `cause`
    std::string key_line{};             // of the failure; of what did not run, the reason
    std::string place{};                // "file:line" where the suite's code broke; empty: nowhere
    std::string place_url{};
    std::string reproduce{};  // the runner's command line; of what broke
};

// A test with at least one difference.
struct PortedTest {
    std::string id;
    std::string module;
    std::string url;
    bool pseudo = false;
    bool flaky = false;  // in any column
    PerColumn<std::optional<parsers::State>> states{};
    std::vector<Difference> differences;  // in the order of the columns
};

// Where the suite's code broke.
struct BreakingPlace {
    std::string place;  // "file:line"
    std::string url;
    std::int64_t tests = 0;
};

struct CauseOfDifferences {
    Group group = Group::loss;
    std::string
        judgement;  // words of analysis::kJudgements, as in files; empty: of what is no loss
    std::string title;
    bool title_is_ours = false;  // and no text of the suite's
    std::string advice;
    std::string diagnosis, error_class, rule, signature;  // of the first failure; may be empty
    std::optional<GapKey> gap;
    std::string equivalent, issue;     // of the gap
    PerColumn<std::int64_t> counts{};  // differences
    std::int64_t tests = 0;            // distinct
    // Tests that have no other cause known in that column; the second over all columns.
    PerColumn<std::int64_t> unblocked{};
    std::int64_t unblocked_tests = 0;
    std::vector<BreakingPlace> places;  // of most tests first, kExamples at most
    std::vector<std::size_t> examples;  // indices in PortingView::tests, kExamples at most
};
inline constexpr std::size_t kExamples = 3;

// An operator that MPS lacks, and that the CPU computed where fallback is on.
struct FallbackView {
    std::string symbol;
    std::string advice;
    std::int64_t tests = 0;        // that came by it
    std::int64_t count = 0;        // of copies between device and CPU
    std::int64_t depend = 0;       // tests that are good with fallback and break without it
    std::string example{}, url{};  // of those that depend, else of the others
};

// Whether whoever ports the code has something to do about it.
[[nodiscard]] bool is_to_fix(const CauseOfDifferences& cause);
// Its judgement for people.
[[nodiscard]] std::string_view judgement_words(const CauseOfDifferences& cause);

struct PortingColumn {
    std::optional<RunView> run;
    std::string why_missing;  // where there is no run, or a part of one
    std::string report_url;
    Totals totals;
    std::int64_t differ = 0;
    std::array<std::int64_t, kChangeNames.size()> changes{};
    std::array<std::int64_t, kGroupNames.size()>
        groups{};                // the same differences, by their causes'
    std::int64_t exercised = 0;  // tests that had to do with a device
    std::int64_t broken_alike =
        0;  // tests that break here in the state that they are compared with

    [[nodiscard]] std::int64_t count(Change change) const {
        return changes[static_cast<size_t>(change)];
    }
    [[nodiscard]] std::int64_t count(Group group) const {
        return groups[static_cast<size_t>(group)];
    }
};

// What the runs should have in common and have not: then a difference may come of that.
struct Unlike {
    std::string what;
    PerColumn<std::string> values;  // empty where there is no run, or nothing is known
};

struct PortingView {
    std::string id;
    std::string suite;
    PerColumn<PortingColumn> columns;
    std::vector<Unlike> unlike;
    bool compared = false;  // plain CPU and another column are there
    Accounting accounting;
    std::vector<CauseOfDifferences>
        causes;  // by group; of losses those first that are to be fixed first
    std::vector<PortedTest> tests;
    std::vector<FallbackView> fallbacks;   // that most tests depend on first
    std::int64_t decided_by_fallback = 0;  // tests that go otherwise with and without it

    [[nodiscard]] const PortingColumn& at(Column column) const {
        return columns[static_cast<size_t>(column)];
    }
};

// "commit: `a` on CPU; `b` on CUDA, MPS"
[[nodiscard]] std::string unlike_words(const Unlike& unlike);

// In one line: how much there is to fix, and which devices nothing is said of, since no test had to
// do with them.
[[nodiscard]] std::string verdict_words(const PortingView& view);

// Takes the columns one after the other, plain CPU first, and of each its modules as they come.
// Holds a few words of each test, and the failures of those alone that differ.
class PortingBuilder {
  public:
    PortingBuilder(std::string id, std::string suite);
    PortingBuilder(PortingBuilder&&) noexcept;
    ~PortingBuilder();

    void begin(Column column, const RunView& run);
    void add(const ModuleView& module);
    // `hits`: what the run met of the gap log (store::GapLog::hits); `model` with its gaps.
    void end(const ReportModel& model, const std::vector<GapHit>& hits, std::string report_url);
    // A column that has no run, or none that is complete.
    void note_missing(Column column, std::string why);
    [[nodiscard]] PortingView finish();

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compat::reports
