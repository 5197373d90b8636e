// One session of pytest while its lines are read: its tests with the outcomes that their lines
// gave, its sections and its summary; and when it is over, a record with one state for each test
// (finish.cc). Not for where a session begins and ends (text.cc).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/import/case_table.h"
#include "parsers/import/finished_run.h"
#include "parsers/import/pytest/event.h"
#include "parsers/outcomes.h"
#include "parsers/record.h"
#include "parsers/text.h"

namespace compat::parsers {

// The outcomes that a test's lines gave.
struct PytestOutcomes {
    std::optional<State> call;
    bool errored = false;             // its set-up or tear-down broke
    size_t told = 0, summarised = 0;  // sub-tests, by sections and by the summary

    [[nodiscard]] bool any() const { return call || errored; }
};

// Offsets are of `text`.
struct PytestSession {
    PytestSession(std::string_view log, size_t at, std::string_view of)
        : text(log), module(valid_utf8(of)), begin(at), tail(at) {}

    struct Section {
        std::string heading;
        size_t body = 0;
        size_t end = 0;
    };

    std::string_view text;
    std::string module;  // of all tests; empty: their node ids tell
    size_t begin = 0;
    size_t tail = 0;       // behind the last result
    bool started = false;  // by its first line
    bool in_order = true;  // one test after the other: no workers
    bool verbose = false;  // tests have lines
    bool died = false;     // a shell says so where results stand, and nothing follows
    std::string version, python, root;
    std::optional<std::int64_t> selected;
    std::int64_t skipped_modules = 0;
    std::vector<CaseRecord> cases;
    CaseNames names;                       // of them
    std::vector<PytestOutcomes> outcomes;  // of each
    OutcomeCounts counts{};                // of all lines
    OutcomeCounts subtests{};              // that have lines
    OutcomeCounts replaced{};              // of lines, by a rerun or as a sub-test's
    std::vector<Section> sections;
    std::vector<PytestSummary> summaries;
    std::string stopped;  // "stopping after 1 failures"
    std::string internal_error;
    size_t internal_at = 0;
    std::optional<size_t> conftest;  // where that broke
    // When it is over:
    std::optional<FrameworkSummary> closing;
    size_t end = 0;                      // where the closing begins, or its text breaks off
    bool sure = false;                   // the closing counts what was seen
    bool two_outcomes = false;           // a test's XPASS was followed by XFAIL
    std::optional<ProcessEnd> how_died;  // as printed, where there is none
    std::string fallback;                // the module of tests that name none

    // The test with the node id, which is new or known.
    size_t place_of(std::string_view node);
    // Nothing if none is known; of several the last.
    [[nodiscard]] std::optional<size_t> find(std::string_view node);

    // Versions, root, how many tests.
    void take_preamble(const PytestEvent& event);
    void take_node(const PytestEvent& event, size_t after);
    // In a line of its own: the last test's, in place of one that it may have printed.
    void take_outcome(const PytestStatus& status, size_t after);
    void open_section(std::string_view heading, size_t offset, size_t body);
    void close_section(size_t end);
    void take_summary(std::string_view line);
    // Takes what broke or stopped the session as a whole; false: it is nothing of that kind.
    bool take_break(const PytestEvent& event, size_t offset);

    [[nodiscard]] bool is_empty() const;
    // The last test has no outcome: what follows is its output.
    [[nodiscard]] bool is_open() const;
    // Whether the closing counts what was seen, or without lines of tests at least that.
    [[nodiscard]] bool agrees(const FrameworkSummary& closing) const;

  private:
    // The first counts: a test may print others.
    void take_status(size_t test, const PytestStatus& status);

    bool section_is_open_ = false;
};

[[nodiscard]] FinishedRun finish_pytest_session(PytestSession session);

}  // namespace compat::parsers
