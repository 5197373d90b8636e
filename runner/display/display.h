// Shows a run in progress: plain lines, a bar at the bottom of a terminal, or JSON lines. Not here:
// the reports (reports/), and what results mean.
#pragma once

#include <array>
#include <cstdio>
#include <map>
#include <set>
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
    plain,  // one line per module
    bar,    // the same lines above a bar of running modules
    json,   // events on stdout, one per line; text for people on stderr
};

struct DisplayOptions {
    Progress progress = Progress::plain;
    bool color = false;
    int verbosity = 0;             // -1: only the closing lines; 1: also skipped tests and reasons
    std::FILE* run_log = nullptr;  // always gets the plain lines
};

// The planned run.
struct DisplayedRun {
    std::string id;
    std::vector<std::string> modules;
    std::map<std::string, double> seconds;  // by module, in its last run
    int parallel = 1;
    bool retries = false;  // failed tests are retried
    int seeds = 0;         // attempts at each module, each with other random numbers
};

class Display {
  public:
    Display(DisplayOptions options, const DisplayedRun& run);

    // After a JobFinished, call one of the next three functions.
    void on_event(const exec::RunEvent& event);
    void attempt_follows(const exec::JobFinished& finished, int number, AttemptKind kind);
    // Other modules may confirm the failures of the module's forked process.
    void module_waits(const exec::JobFinished& finished);
    void module_done(const exec::JobFinished& finished, const ModuleDone& done);
    // The run was stopped before a job of the module ended.
    void module_done(const ModuleDone& done);
    // Writes the run's last event.
    void finish();
    // A module that was done before the run was resumed.
    void count(const ModuleDone& done);
    // Part of a line; `color` is an SGR code such as "31", or null.
    struct Piece {
        std::string words;
        const char* color;
    };
    // A line above the bar.
    void say(const std::string& line);
    void say(const std::vector<Piece>& pieces);
    // Text of a suite may have any length: it is cut to the terminal above a bar, else to
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
    void show_traceback(const parsers::Failure& failure);
    void write_json(const std::string& line);
    [[nodiscard]] std::vector<const RunningJob*> running_longest_first() const;
    [[nodiscard]] std::vector<std::string> bar_lines(TerminalSize size) const;
    [[nodiscard]] std::string summary_line() const;
    [[nodiscard]] std::string painted(const std::vector<Piece>& pieces) const;
    [[nodiscard]] Moment now() const { return {clock_.wall(), clock_.steady()}; }

    DisplayOptions options_;
    std::string run_;
    bool retries_;
    int seeds_;
    size_t modules_;
    SystemClock clock_;
    Bar bar_;
    Keys keys_;
    std::map<size_t, RunningJob> running_;
    // Printed results of tests of modules that still run: final states, and the tests that were
    // announced for another attempt.
    struct PrintedResults {
        std::map<std::string, parsers::State> states;
        std::set<std::string> to_repeat;
    };
    std::map<std::string, PrintedResults> printed_;
    std::map<std::string, std::string>
        not_loaded_;  // cause -> the first module it kept from loading
    SteadyTime drawn_{};
    TimeLeft left_;
    Counts counts_{};
    size_t done_ = 0;
    std::string last_line_;  // of the JSON
};

// "3 passed, 1 failed", in the order of the states; `none` if all counts are 0.
[[nodiscard]] std::string format_counts(const std::array<long, parsers::kStateNames.size()>& counts,
                                        std::string_view none = "no tests");

}  // namespace compat::display
