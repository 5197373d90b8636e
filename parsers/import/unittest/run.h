// One run of unittest's as its events are folded: its tests, what was said of each, the sections of
// those that broke, the characters of one that is not verbose. Not for where it begins and ends
// (reader.h) nor for the states that follow from it (finish.h).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "parsers/import/case_table.h"
#include "parsers/import/unittest/event.h"
#include "parsers/import/unittest/names.h"
#include "parsers/record.h"

namespace compat::parsers {

// What a run's lines said. Offsets are of `text`.
struct UnittestFacts {
    struct Said {
        std::optional<State> good;    // the last status in a line of its own that is no failure
        std::optional<State> broken;  // the first that is one
        std::optional<State> soft;    // at the end of the test's own output
        bool soft_is_last = false;    // no output followed it
        bool told_of = false;         // by a section, or by the line of a sub-test that broke
        std::int64_t ordinal = 0;     // how many tests had begun, with it
        size_t offset = 0;
        size_t after = 0;  // its name

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
    // Of tests that nothing names, by a class or module fixture.
    struct Skip {
        std::string reason;
        size_t cases = 0;
    };
    // A sub-test that has a line.
    struct Sub {
        size_t of = 0;
        SubCase sub;
    };

    std::string_view text;
    size_t begin = 0;
    size_t tail = 0;  // behind the last thing that the run said of its tests
    CaseTable cases;
    std::vector<Said> said;  // of each
    std::vector<Section> sections;
    std::vector<Skip> skips;
    std::vector<Sub> subs;
    bool verbose = false;                                         // tests and fixtures have lines
    std::int64_t begun = 0;                                       // tests
    using Counts = std::array<std::int64_t, kStateNames.size()>;  // by State
    Counts characters{};                                          // in lines of their own
    Counts around{};  // at either end of what tests printed: some may be of that
    std::optional<size_t> first_character;
    bool printed = false;  // something else stands among the characters
};

class UnittestRun {
  public:
    UnittestRun(std::string_view text, size_t begin) {
        facts_.text = text;
        facts_.begin = facts_.tail = begin;
    }

    // A test's line begins at `offset`, what stands behind its name at `after`.
    void begin(const UnittestHeader& header, UnittestNames& names, size_t offset, size_t after);
    // Of the test that is open, else of a class or module fixture that is not named.
    void take_status(const UnittestStatus& status, size_t after);
    void take_subtest(const UnittestEvent& event);
    // What is none of unittest's own lines. It may end with the status of the test that is open.
    void take_text(std::string_view line);
    void take_characters(std::string_view characters, size_t offset, size_t after);
    void take_duration(const UnittestEvent& event);
    // The double rule is at `offset`, and the section's text begins at `body`; set_body moves that.
    void open_section(const UnittestEvent& title, size_t offset, size_t body);
    void set_body(size_t body);
    void close_section(size_t end);

    [[nodiscard]] bool is_empty() const {
        return facts_.cases.size() == 0 && facts_.sections.empty() && facts_.skips.empty();
    }
    [[nodiscard]] bool is_verbose() const { return facts_.verbose; }
    // The last test has not ended, or not for sure.
    [[nodiscard]] bool is_open() const;
    // Whether the closing may be this run's: it counts what was seen, and no test is open.
    [[nodiscard]] bool fits(const Closing& closing) const;
    // The first of the tests that the closing counts, where all of them came after one that is open
    // or `reopened` (its output is printed again): of a run within that test, or after it.
    [[nodiscard]] std::optional<size_t> inner(const Closing& closing, bool reopened) const;
    // Without what came since the last test before case `from` began: it was that test's output.
    void drop(size_t from);
    // That, as a run of its own.
    [[nodiscard]] UnittestRun split(size_t from);

    [[nodiscard]] UnittestFacts& facts() { return facts_; }
    [[nodiscard]] const UnittestFacts& facts() const { return facts_; }

  private:
    [[nodiscard]] bool fits_characters(const Closing& closing) const;

    UnittestFacts facts_;
    std::string key_;     // of the last test
    bool dying_ = false;  // it printed "Fatal Python error: "
    bool section_is_open_ = false;
    std::unordered_set<std::string> broken_;  // tests that have sections, of a run without lines
};

}  // namespace compat::parsers
