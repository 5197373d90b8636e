// The runs of unittest's in a log, one after the other: where each begins, and which of the
// closings is whose. Reads forward, once. Not for what a run holds (run.h).
//
// A closing that counts what was seen since the last one, when no test is open, ends the run. Any
// other is held until the next line of unittest's: the outcome of the test that is open shows that
// this test had printed it, or had run tests itself; else it ends a run, and is in doubt.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/import/lines.h"
#include "parsers/import/unittest/finish.h"
#include "parsers/import/unittest/run.h"

namespace compat::parsers {

struct UnittestLog {
    std::string_view text;
    // All tests are of this module; empty: their names tell.
    std::string_view module;
    // For what names no module.
    std::string_view fallback;
};

class UnittestReader {
  public:
    // Hands on each run; `tail`: the text behind the last thing that it said of its tests.
    using See = std::function<void(FinishedUnittestRun run, std::string_view tail)>;

    UnittestReader(const UnittestLog& log, See see);

    void read();
    // What was said of the text between the runs.
    [[nodiscard]] const std::vector<Diagnostic>& doubts() const { return doubts_; }

  private:
    enum class Stage { results, sections, durations };
    // A closing of which the next lines say whose it is.
    struct Held {
        Closing closing;
        size_t begin = 0;
        std::optional<size_t> inner;  // the first case that it counts
    };

    void take(const UnittestEvent& event);
    [[nodiscard]] bool take_closing_lines(const UnittestEvent& event);
    void take_closing(Closing closing);
    void settle_held(const UnittestEvent& event);
    void accept_held();
    [[nodiscard]] bool is_printed(const UnittestEvent& title);
    void take_title(const UnittestEvent& event);
    void take_result(const UnittestEvent& event);
    [[nodiscard]] bool take_documented(const UnittestEvent& event);
    void take_test(const UnittestHeader& header, std::string_view line);
    void take_in_sections(const UnittestEvent& event);
    void leave_sections();
    void begin_run(std::string fallback);
    void end_run(std::optional<Closing> closing, size_t end);
    void hand_on(UnittestRun run, std::optional<Closing> closing, size_t end);

    UnittestLog log_;
    See see_;
    UnittestNames names_;
    Unnamed::Room room_;
    std::vector<Diagnostic> doubts_;
    bool any_ = false;  // a run was handed on

    UnittestRun run_;
    Stage stage_ = Stage::results;
    std::optional<Held> held_;
    UnittestEvent::Kind before_ = UnittestEvent::Kind::blank;  // the last line
    size_t offset_ = 0;                                        // of the line
    size_t after_ = 0;
    size_t rule_ = 0;         // where the last rule begins
    size_t title_ = 0;        // where the last double rule begins
    int title_lines_ = 0;     // how many lines may yet stand between a title and its rule
    std::string ran_;         // "Ran 3 tests in 0.1s", until its verdict
    bool ran_blank_ = false;  // its empty line was there
    std::string documented_;  // a test's name, whose docstring follows
    size_t documented_at_ = 0;
    // How many cases there were when what a test that broke had printed began to stand here once
    // more (-b).
    std::optional<size_t> captured_;
};

}  // namespace compat::parsers
