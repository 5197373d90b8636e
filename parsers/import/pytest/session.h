// One session of pytest's as its events are folded: its tests with the outcomes that their lines
// gave, the characters of one that is not verbose, sections and the summary; and when it is over,
// a record with one state each, compared with the session's own totals (finish.cc). Not for where
// it begins and ends (text.cc).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "parsers/import/case_table.h"
#include "parsers/import/pytest/event.h"
#include "parsers/outcomes.h"
#include "parsers/record.h"
#include "parsers/resolve_unfinished.h"
#include "parsers/text.h"
#include "parsers/unnamed.h"

namespace compat::parsers {

// The outcomes that a test's lines gave.
struct PytestOutcomes {
    std::optional<State> call;
    bool errored = false;         // its set-up or tear-down broke
    bool excused = false;         // its tear-down broke, as was expected
    std::optional<State> glued;   // in a line with what it printed: "epoch 1PASSED"
    std::optional<State> unsure;  // behind its name: of that, printed, or its own

    [[nodiscard]] bool any() const { return call || errored; }
};

struct PytestOwner {
    enum class Kind { unknown, test, subtest, module };
    Kind kind = Kind::unknown;
    size_t test = 0;
    Phase phase = Phase::call;
    std::string name;   // of the test or module in the heading
    std::string label;  // subtest
};

// "A::test_x[p::q]" as a section's heading has it: "A.test_x[p::q]".
[[nodiscard]] std::string section_heading_of(std::string_view tail);

class PytestHeadings {
  public:
    explicit PytestHeadings(const std::vector<CaseRecord>& cases);
    void add(std::string_view name, size_t test);

    // Each failure of a test has one section: of several tests with the heading it is of the next
    // that broke there.
    [[nodiscard]] PytestOwner owner_of(std::string_view heading,
                                       const std::vector<PytestOutcomes>& outcomes);
    // The last test with the name in a heading.
    [[nodiscard]] std::optional<size_t> find(std::string_view name) const;

  private:
    struct Headed {
        std::vector<size_t> cases;
        size_t next_failed = 0;
        size_t next_errored = 0;
    };
    std::unordered_map<std::string, Headed> by_heading_;
};

// The facts that a session's lines give. Offsets are of `text`.
struct PytestFacts {
    struct Section {
        std::string heading;
        PytestOwner owner;  // of a verbose session
        size_t body = 0;
        size_t end = 0;
    };
    // Counted for one file, or with -q for all.
    struct Characters {
        std::string file;
        OutcomeCounts counts{};
    };
    // A pytest-xdist worker crashed.
    struct Crash {
        std::string node;
        std::string message;
    };

    std::string_view text;
    std::string module;  // of all tests; empty: their node ids tell
    size_t begin = 0;
    size_t tail = 0;       // behind the last result
    bool started = false;  // by its first line
    bool in_order = true;  // one test after the other: no workers
    bool verbose = false;  // tests have lines
    std::string version, python, root;
    std::optional<std::int64_t> selected;
    std::int64_t skipped_modules = 0;
    std::vector<CaseRecord> cases;
    CaseNames names;                       // of them
    std::vector<PytestOutcomes> outcomes;  // of each
    OutcomeCounts counts{};                // of all lines, or of all characters
    std::int64_t broken_subtests = 0;      // that have lines
    std::int64_t subtest_characters = 0;   // "u": of sub-tests that broke, since pytest 9 of any
    std::int64_t skipped_subtests = 0;     // "-"
    std::vector<Characters> characters;
    std::vector<State> before_errors;  // the character in front of each E
    std::optional<size_t> first_character;
    std::int64_t most_in_line = 0;  // characters of tests
    bool has_progress = false;      // behind characters: they are pytest's
    bool all_ran = false;           // "[100%]"
    std::vector<Section> sections;
    std::vector<PytestSummary> summaries;
    std::vector<Crash> crashes;
    std::string stopped;  // "stopping after 1 failures"
    std::string internal_error;
    size_t internal_at = 0;
    std::optional<size_t> conftest;  // where that broke
    bool timed_out = false;

    // The test with the node id, which is new or known.
    size_t place_of(std::string_view node);
    // Nothing if none is known; of several the last.
    [[nodiscard]] std::optional<size_t> find(std::string_view node);
};

class PytestSession {
  public:
    PytestSession(std::string_view text, size_t begin, std::string_view module) {
        facts_.text = text;
        facts_.module = valid_utf8(module);
        facts_.begin = facts_.tail = begin;
    }

    // Versions, root, how many tests.
    void take_preamble(const PytestEvent& event);
    void take_node(const PytestEvent& event, size_t after);
    // In a line of its own: of the last test without one, whose output were the tests since then;
    // else it takes the place of the last test's.
    void take_outcome(const PytestStatus& status, size_t after);
    // Takes output of the test that is open, in a line of any other form.
    void take_output(std::string_view output);
    void take_characters(const PytestEvent& event, size_t offset, size_t after);
    // False: tests have lines, and none that broke has this heading.
    [[nodiscard]] bool open_section(std::string_view heading, size_t offset, size_t body);
    void close_section(size_t end);
    void take_summary(std::string_view line);
    void take_crash(std::string_view line);

    [[nodiscard]] bool is_empty() const;
    // The last test has no outcome: what follows is its output.
    [[nodiscard]] bool is_open() const;
    // Whether the closing counts what was seen.
    [[nodiscard]] bool agrees(const FrameworkSummary& closing) const;
    // The summary names a test that failed and is not this session's.
    [[nodiscard]] bool has_summary_of_others();
    // An outcome at the end of what the last test printed is its own: it has ended.
    void end_results();

    [[nodiscard]] PytestFacts& facts() { return facts_; }
    [[nodiscard]] const PytestFacts& facts() const { return facts_; }

  private:
    void add_outcome(PytestOutcomes& outcomes, State state);
    void remove_outcomes(PytestOutcomes& outcomes);
    std::optional<State> take_late(std::optional<PytestStatus> status);

    PytestFacts facts_;
    std::optional<size_t> open_;  // the last test that another followed before it had an outcome
    std::optional<PytestHeadings> headings_;
    bool section_is_open_ = false;
    State last_character_ = State::errored;
};

// How the session's text ends.
struct PytestEnd {
    std::optional<FrameworkSummary> closing;
    size_t end = 0;                  // where that begins
    bool sure = false;               // it counts what was seen
    std::optional<ProcessEnd> died;  // as printed, where there is none
    bool summarised = false;         // its summary has begun
    std::string fallback;
};

// The record is not resolved yet: `progress` says how far each of its cases came.
struct FinishedPytestSession {
    ModuleRecord record;
    std::vector<Progress> progress;
    Course course;
    ProcessEnd end;  // of its process, as far as the text tells
};
[[nodiscard]] FinishedPytestSession finish_pytest_session(PytestSession session,
                                                          const PytestEnd& end,
                                                          Unnamed::Room& room);

// As many in each state as the closing counts beyond those with a name, else as there are
// characters; and those that were collected and did not run.
void add_unnamed_pytest(const PytestFacts& facts, const PytestEnd& end, ModuleRecord& record,
                        std::vector<Progress>& progress, Unnamed::Room& room);

// The row of a session that broke as a whole.
[[nodiscard]] CaseRecord session_row(std::string_view path);

}  // namespace compat::parsers
