// One run of unittest's as its lines are folded: its tests, what was said of each, the sections of
// those that broke, the characters of one that is not verbose; and when it is over, a record with
// one state each, compared with the run's own totals (finish.cc). Not for where it begins
// (text.cc).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "parsers/import/case_table.h"
#include "parsers/import/unittest/event.h"
#include "parsers/outcomes.h"
#include "parsers/record.h"
#include "parsers/resolve_unfinished.h"
#include "parsers/unnamed.h"

namespace compat::parsers {

// The facts that a run's lines give. Offsets are of `text`.
struct UnittestFacts {
    struct Outcomes {
        std::optional<State> good;    // the last status in a line of its own that is no failure
        std::optional<State> broken;  // the first that is one
        std::optional<State> glued;   // at the end of the test's own output
        bool glued_is_last = false;   // no output followed it
        bool told_of = false;         // by a section, or by the line of a sub-test that broke
        bool reopened = false;        // what it had printed stands behind its status once more (-b)
        std::int64_t ordinal = 0;     // how many tests had begun, with it
        size_t after = 0;             // its name

        // It has not ended, by anything but its own output.
        [[nodiscard]] bool is_open() const { return !good && !broken && !told_of; }
    };
    struct Section {
        State state = State::failed;
        double duration_s = 0;
        std::string heading;
        size_t offset = 0;
        size_t body = 0;
        size_t end = 0;
        size_t cases = 0;  // that there were
    };
    // By a class or module fixture that nothing names.
    struct Skip {
        std::string reason;
        size_t cases = 0;
    };
    // A sub-test that has a line.
    struct Sub {
        SubCase sub;
        size_t cases = 0;  // the last one is its test
    };

    std::string_view text;
    size_t begin = 0;
    size_t tail = 0;  // behind the last thing that the run said of its tests
    std::vector<CaseRecord> cases;
    CaseNames names;                 // of them
    std::vector<Outcomes> outcomes;  // of each
    std::vector<Section> sections;
    std::vector<Skip> skips;
    std::vector<Sub> subs;
    bool verbose = false;        // tests and fixtures have lines
    std::int64_t begun = 0;      // tests
    OutcomeCounts characters{};  // in lines of their own
    std::optional<size_t> first_character;
    std::int64_t most_in_line = 0;  // characters
    bool printed = false;           // something else stands among the characters

    // The last case that a header speaks of.
    [[nodiscard]] std::optional<size_t> find(const UnittestHeader& header);
};

class UnittestRun {
  public:
    UnittestRun(std::string_view text, size_t begin) {
        facts_.text = text;
        facts_.begin = facts_.tail = begin;
    }

    // A test's line; what stands behind its name begins at `after`.
    void take_test(const UnittestHeader& header, UnittestNames& names, size_t after);
    // For the test that is open, else for a class or module fixture that is not named.
    void take_status(const UnittestStatus& status, size_t after);
    void take_subtest(const UnittestEvent& event);
    // Takes any other line. It may end with the status of the test that is open.
    void take_text(std::string_view line);
    void take_characters(std::string_view characters, size_t offset, size_t after);
    // The output of a test that broke follows.
    void take_captured();
    void take_duration(const UnittestEvent& event);
    // False: a test printed it, for there are lines of tests, and none of this one. The double rule
    // is at `offset`, and the section's text begins at `body`; set_body moves that.
    [[nodiscard]] bool open_section(const UnittestEvent& title, size_t offset, size_t body);
    void set_body(size_t body) { facts_.sections.back().body = body; }
    void close_section(size_t end);

    // Whether it counts what was seen, and no test is open.
    [[nodiscard]] bool fits(const FrameworkSummary& closing) const;
    // Takes characters in front of it, too, if the closing counts these and its own; not `exactly`:
    // or more.
    bool join(const OutcomeCounts& before, const FrameworkSummary& closing, bool exactly);
    // All that it counts, if that came since a test that is open: that one ran it, or its process
    // died there.
    [[nodiscard]] std::optional<UnittestRun> take_inner(const FrameworkSummary& closing);

    [[nodiscard]] bool is_empty() const {
        return facts_.cases.empty() && facts_.sections.empty() && facts_.skips.empty();
    }
    // The last test has not ended, or not for sure.
    [[nodiscard]] bool is_open() const {
        return !facts_.outcomes.empty() && facts_.outcomes.back().is_open();
    }
    // Output of tests stands among the run's own lines, or in the last section (-b).
    [[nodiscard]] bool is_captured() const { return captured_; }
    [[nodiscard]] UnittestFacts& facts() { return facts_; }

  private:
    [[nodiscard]] bool fits_characters(const FrameworkSummary& closing) const;
    // Cuts off all that came since the last test before case `from` began, as a run of its own.
    UnittestRun cut(size_t from);

    UnittestFacts facts_;
    std::string key_;     // of the last test
    bool dying_ = false;  // it printed "Fatal Python error: "
    bool captured_ = false;
    bool section_is_open_ = false;
    std::unordered_set<std::string> broken_;  // tests that have sections, of a run without lines
};

// Finishes a run with its closing, which begins at `end`, or one that breaks off there. Unnamed
// tests have `room`. The record is not resolved yet: `progress` says how far each of its cases
// came.
struct FinishedUnittestRun {
    ModuleRecord record;
    std::vector<Progress> progress;
};
[[nodiscard]] FinishedUnittestRun finish_unittest_run(UnittestRun run,
                                                      std::optional<FrameworkSummary> closing,
                                                      size_t end, UnittestNames& names,
                                                      Unnamed::Room& room);

}  // namespace compat::parsers
