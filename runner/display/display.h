// What a person or a program sees of a run while it goes on: lines, a bar at the end of a terminal,
// or JSON. Not here: the reports (reports/), and what results mean.
#pragma once

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "parsers/record.h"
#include "runner/display/bar.h"
#include "runner/display/module_done.h"
#include "runner/display/progress_json.h"
#include "runner/display/terminal.h"
#include "runner/display/time_left.h"
#include "runner/exec/event.h"

namespace compat::display {

enum class Progress {
    plain,  // a line a module
    bar,    // those above a few lines that are drawn over and over, of what runs now
    json,   // events on stdout, one a line; what is for people goes to stderr
};

struct DisplayOptions {
    Progress progress = Progress::plain;
    bool color = false;
    int verbosity = 0;             // -1: only the closing lines; 1: also what was skipped, and why
    std::FILE* run_log = nullptr;  // receives the plain lines whatever the terminal shows
};

// What there is to do.
struct DisplayedRun {
    std::string id;
    std::vector<std::string> modules;
    std::map<std::string, double> seconds;  // that modules took before
    int parallel = 1;
    bool retries = false;  // what fails is tried again
};

class Display {
  public:
    Display(DisplayOptions options, const DisplayedRun& run);

    // What the executor reports. A JobFinished is followed by one of the three calls below it.
    void on_event(const exec::RunEvent& event);
    void attempt_follows(const exec::JobFinished& finished, int number, AttemptKind kind);
    // What failed in the module's forked process may be confirmed by other modules.
    void module_waits(const exec::JobFinished& finished);
    void module_done(const exec::JobFinished& finished, const ModuleDone& done);
    // A module that was closed without a job that ended: the run was stopped.
    void module_done(const ModuleDone& done);
    // All is said: the run's last event goes out.
    void finish();
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
    // What comes from a suite may be of any length: cut to the terminal above a bar, else to
    // kLineColumns.
    static constexpr std::size_t kLineColumns = 300;
    void say_cut(const std::vector<Piece>& pieces);

  private:
    using Counts = std::array<long, parsers::kStateNames.size()>;

    void job_done(const exec::JobFinished& finished);
    void draw();
    void draw_if_due();
    void clear();
    void close();
    void read_keys();
    void show_status();
    void show_as_it_comes(const exec::JobProgress& progress);
    void show_tests(const ModuleDone& done);
    void write_line(const std::string& plain, const std::string& shown);
    [[nodiscard]] std::string load_cause(const parsers::ModuleRecord& record);
    void show_traceback(const std::string& traceback);
    void write_json(const std::string& line);
    [[nodiscard]] std::vector<const RunningJob*> running_longest_first() const;
    [[nodiscard]] std::vector<std::string> bar_lines(TerminalSize size) const;
    [[nodiscard]] std::string summary_line() const;
    [[nodiscard]] std::string painted(const std::vector<Piece>& pieces) const;
    [[nodiscard]] Moment now() const { return {clock_.wall(), clock_.steady()}; }

    DisplayOptions options_;
    std::string run_;
    bool retries_;
    size_t modules_;
    SystemClock clock_;
    Bar bar_;
    Keys keys_;
    std::map<size_t, RunningJob> running_;
    // Of modules that are not done, what was said of their tests: states that nothing was to
    // follow, and how many tests were to run again.
    struct Told {
        std::map<std::string, parsers::State> states;
        size_t open = 0;
    };
    std::map<std::string, Told> told_;
    std::map<std::string, std::string>
        not_loaded_;  // cause -> the first module it kept from loading
    SteadyTime drawn_{};
    TimeLeft left_;
    Counts counts_{};
    size_t done_ = 0;
    std::string last_line_;  // of the JSON
};

// "3 passed, 1 failed": the states that occur, in the table's order; "no tests" where none does.
[[nodiscard]] std::string count_words(const std::array<long, parsers::kStateNames.size()>& counts);

}  // namespace compat::display
