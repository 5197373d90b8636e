// One session of pytest's as its events are folded: its tests with the outcomes that their lines
// gave, the characters of one that is not verbose, sections and the summary. Not for where it
// begins and ends (reader.h) nor for the states that follow from it (finish.h).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/import/case_table.h"
#include "parsers/import/pytest/event.h"
#include "parsers/import/pytest/headings.h"
#include "parsers/outcomes.h"
#include "parsers/record.h"
#include "parsers/text.h"

namespace compat::parsers {

// What a session's lines said. Offsets are of `text`.
struct PytestFacts {
    struct Section {
        std::string heading;
        PytestOwner owner;  // of a verbose session
        size_t body = 0;
        size_t end = 0;
    };
    struct Summary {
        State state = State::passed;
        std::int64_t count = 0;
        bool of_subtest = false;
        std::string text;
        std::string label;
    };
    // Of one file, or with -q of all.
    struct Characters {
        std::string file;
        OutcomeCounts counts{};
    };
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
    CaseTable cases;
    std::vector<PytestSaid> said;         // of each
    OutcomeCounts counts{};               // of all lines, or of all characters
    std::int64_t broken_subtests = 0;     // that have lines
    std::int64_t subtest_characters = 0;  // "u": of sub-tests that broke, since pytest 9 of any
    std::int64_t skipped_subtests = 0;    // "-"
    std::vector<Characters> characters;
    std::vector<State> before_errors;  // the character in front of each E
    std::optional<size_t> first_character;
    bool has_progress = false;  // behind characters: they are pytest's
    bool all_ran = false;       // "[100%]"
    std::vector<Section> sections;
    std::vector<Summary> summaries;
    std::vector<Crash> crashes;  // of workers
    std::string stopped;         // "stopping after 1 failures"
    std::string internal_error;
    size_t internal_at = 0;
    std::optional<size_t> conftest;  // where that broke
    bool timed_out = false;
};

// The place of the test with the node id, which is new or known.
size_t place_of_test(PytestFacts& facts, std::string_view node);

class PytestSession {
  public:
    PytestSession(std::string_view text, size_t begin, std::string_view module) {
        facts_.text = text;
        facts_.module = valid_utf8(module);
        facts_.begin = facts_.tail = begin;
    }

    // Versions, root, how many tests.
    void take_preamble(const PytestEvent& event);
    void take_node(const PytestNode& node, size_t after);
    // In a line of its own: of the last test without one, whose output were the tests since then;
    // else it takes the place of the last test's.
    void take_outcome(PytestStatus status, size_t after);
    // Of the test that is open, in a line of any other form.
    void take_output(std::string_view output);
    void take_characters(const PytestCharacters& found, size_t offset, size_t after);
    // False: tests have lines, and none that broke has this heading.
    [[nodiscard]] bool open_section(std::string_view heading, size_t offset, size_t body);
    void close_section(size_t end);
    void take_summary(std::string_view line);
    void take_crash(std::string_view line);

    [[nodiscard]] bool is_empty() const;
    // The last test has no outcome: what follows is its output.
    [[nodiscard]] bool is_open() const;
    // Whether the closing counts what was seen.
    [[nodiscard]] bool agrees(const Closing& closing) const;
    // The summary names a test that failed, and has a line of another name or none: of a session
    // that a test ran.
    [[nodiscard]] bool has_foreign_summary();
    // An outcome at the end of what the last test printed is its own: it has ended.
    void end_results();

    [[nodiscard]] PytestFacts& facts() { return facts_; }
    [[nodiscard]] const PytestFacts& facts() const { return facts_; }

  private:
    void take_collected(const PytestEvent& event);
    void count(const PytestSaid& said, std::int64_t by);

    PytestFacts facts_;
    std::optional<size_t> open_;  // the last test that another followed before it had an outcome
    std::optional<PytestHeadings> headings_;
    bool section_is_open_ = false;
    State last_character_ = State::errored;
};

}  // namespace compat::parsers
