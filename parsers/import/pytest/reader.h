// The sessions of pytest's in a log, one after the other: where each begins, which closing line is
// whose, and which session a test of another one ran. Reads forward, once. Not for what a session
// holds (session.h).
//
// A closing line that counts what was seen ends the session. Any other is held: if more of the
// session follows, a test had printed it; else it ends the session, and is in doubt. A session that
// begins where another one's tests still run is held, too: if an outcome of the other one follows
// its end, a test had run it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/import/pytest/finish.h"
#include "parsers/import/pytest/session.h"

namespace compat::parsers {

struct PytestLog {
    std::string_view text;
    std::string_view module;    // all tests are of it; empty: their node ids tell
    std::string_view fallback;  // for what names no module
};

class PytestReader {
  public:
    using See = std::function<void(FinishedPytestSession session)>;

    PytestReader(const PytestLog& log, See see);

    void read();
    // What was said of the text between the sessions.
    [[nodiscard]] const std::vector<Diagnostic>& doubts() const { return doubts_; }

  private:
    enum class Stage { results, sections, summary };
    struct Held {
        Closing closing;
        size_t begin = 0;
    };
    // A session that has not ended.
    struct Open {
        PytestSession session;
        Stage stage = Stage::results;
        size_t width = 0;       // of its terminal; 0: unknown
        int rank = 0;           // of the last part that began after the results
        bool captured = false;  // what tests printed stands among the sections
        std::optional<Held> held;
    };

    void take(const PytestEvent& event);
    void take_start(std::string_view line);
    void take_closing(const PytestEvent& event);
    void take_result(const PytestEvent& event);
    void take_text(std::string_view line);
    void take_heading(const PytestEvent& event);
    void take_in_sections(const PytestEvent& event);
    void take_anywhere(const PytestEvent& event);
    void drop_printed(const PytestEvent& event);
    void begin(size_t offset);
    void end_session(std::optional<Held> closing);
    void end_all();
    [[nodiscard]] FinishedPytestSession finish(Open open, std::optional<Held> closing);

    PytestLog log_;
    See see_;
    std::string fallback_;
    Unnamed::Room room_;
    std::vector<Diagnostic> doubts_;
    std::vector<Open> open_;                     // each within a test of the one before
    std::vector<FinishedPytestSession> closed_;  // within a test of the last one that is open
    size_t offset_ = 0;                          // of the line
    size_t after_ = 0;
};

}  // namespace compat::parsers
