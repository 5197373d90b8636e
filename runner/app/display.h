// What a person sees of a run while it goes on. Not here: the reports (reports/), and what results
// mean.
#pragma once

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "parsers/record.h"
#include "runner/app/recorder.h"
#include "runner/exec/event.h"

namespace compat::app {

struct DisplayOptions {
    bool bar = false;  // redraw one line at the end of the terminal; else a line a module
    bool color = false;
    int verbosity = 0;             // -1: only the closing lines; 1: also what was skipped, and why
    std::FILE* run_log = nullptr;  // receives the plain lines whatever the terminal shows
};

class Display {
  public:
    Display(DisplayOptions options, size_t modules);

    // What the executor says; JobFinished is shown by `attempt_done`, which knows what it meant.
    void on_event(const exec::RunEvent& event);
    void attempt_done(const exec::JobFinished& finished, const Step& step);
    void module_done(const ModuleDone& done);
    // A module that was done before this sitting.
    void count(const ModuleDone& done);
    // A part of a line and its colour, as in "31"; null: none.
    struct Piece {
        std::string words;
        const char* color;
    };
    // A line above the bar.
    void say(const std::string& line);
    void say(const std::vector<Piece>& pieces);

  private:
    using Counts = std::array<long, parsers::kStateNames.size()>;
    struct Running {
        std::string name;
        int attempt = 1;
        SteadyTime since;
        exec::Progress progress;
    };

    void draw();
    void clear();
    [[nodiscard]] std::string painted(const std::vector<Piece>& pieces) const;

    DisplayOptions options_;
    size_t modules_;
    SystemClock clock_;
    std::map<size_t, Running> running_;
    Counts counts_{};
    size_t done_ = 0;
    bool drawn_ = false;
};

// "3 passed, 1 failed": the states that occur, in the table's order; "no tests" where none does.
[[nodiscard]] std::string count_words(const std::array<long, parsers::kStateNames.size()>& counts);

// "1 module", "2 modules".
[[nodiscard]] std::string counted(long n, std::string_view noun);

// `text` with control characters made visible, so that what comes from a suite cannot write to the
// terminal.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace compat::app
