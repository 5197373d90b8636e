// One run of unittest while its lines are read: its tests with what their lines say, and the
// sections of those that broke; and when it is over, a record with one state for each test
// (finish.cc). Not for where a run begins and ends (text.cc).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/import/case_table.h"
#include "parsers/import/finished_run.h"
#include "parsers/import/unittest/event.h"
#include "parsers/import/unittest/names.h"
#include "parsers/record.h"

namespace compat::parsers {

// Offsets are of `text`.
struct UnittestRun {
    UnittestRun(std::string_view log, size_t at) : text(log), begin(at), tail(at) {}

    struct Outcomes {
        std::optional<State> good;    // the last status in a line of its own that is no failure
        std::optional<State> broken;  // the first that is one
        std::optional<State> glued;   // at the end of the test's own output
        bool glued_is_last = false;   // no output followed it
        bool told_of = false;         // by a section, or by the line of a sub-test that broke
        size_t after = 0;             // its name

        // It has not ended, by anything but its own output.
        [[nodiscard]] bool is_open() const { return !good && !broken && !told_of; }
    };
    struct Section {
        State state = State::failed;
        std::string heading;
        size_t offset = 0;
        size_t body = 0;
        size_t end = 0;
    };
    // A sub-test that has a line.
    struct Sub {
        SubCase sub;
        size_t test = 0;
    };

    std::string_view text;
    size_t begin = 0;
    size_t tail = 0;  // behind the last thing that the run said of its tests
    std::vector<CaseRecord> cases;
    CaseNames names;                 // of them
    std::vector<Outcomes> outcomes;  // of each
    std::vector<Section> sections;
    std::vector<Sub> subs;
    bool verbose = false;    // tests and fixtures have lines
    bool died = false;       // a shell says so, where tests have no lines
    std::int64_t begun = 0;  // tests

    // The last case that a header speaks of.
    [[nodiscard]] std::optional<size_t> find(const UnittestHeader& header);

    // A test's line; what stands behind its name begins at `after`.
    void take_test(const UnittestHeader& header, UnittestNames& names, size_t after);
    // For the test that is open, else for a class or module fixture that is not named.
    void take_status(const UnittestStatus& status, size_t after);
    void take_subtest(const UnittestEvent& event);
    // Takes any other line. It may end with the status of the test that is open.
    void take_text(std::string_view line);
    // False: a test printed it, for there are lines of tests, and none of this one. The double rule
    // is at `offset`, and the section's text begins at `body`; set_body moves that.
    [[nodiscard]] bool open_section(const UnittestEvent& title, size_t offset, size_t body);
    void set_body(size_t body) { sections.back().body = body; }
    void close_section(size_t end);

    // Whether it counts what was seen, or without lines of tests at least that; no test is open.
    [[nodiscard]] bool fits(const FrameworkSummary& closing) const;

    [[nodiscard]] bool is_empty() const {
        return cases.empty() && sections.empty() && !verbose && !died;
    }
    // The last test has not ended, or not for sure.
    [[nodiscard]] bool is_open() const { return !outcomes.empty() && outcomes.back().is_open(); }

  private:
    std::string key_;     // of the last test
    bool dying_ = false;  // it printed "Fatal Python error: "
    bool section_is_open_ = false;
};

// A run with its closing, which begins at `end`, or one that breaks off there.
[[nodiscard]] FinishedRun finish_unittest_run(UnittestRun run,
                                              std::optional<FrameworkSummary> closing, size_t end,
                                              UnittestNames& names);

// Says that the lines do not tell for sure what ran (doubt.h), and what to do.
void doubt_unittest(ModuleRecord& record, size_t offset, std::string_view why);

}  // namespace compat::parsers
