// Decides what to start and what to end, and when. No process, no file, no clock of its own: a
// launcher and a clock are given, and whoever owns the event loop (loop.h) says what has happened.
// That is what lets tests run thousands of jobs in a second.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/base/clock.h"
#include "runner/exec/event.h"
#include "runner/exec/launcher.h"

namespace compat::exec {

struct Settings {
    int parallel = 1;
    // How a child is ended: SIGUSR1 to the leader if it handles that (it writes its stacks to the
    // log), then SIGTERM to the group, then SIGKILL to the group, and then it is let go.
    Milliseconds dump_grace{2000};
    Milliseconds term_grace{5000};
    Milliseconds kill_grace{5000};
    // How long to go on asking for a child where the machine has no process to spare. Counts only
    // while none runs: the end of one that does is waited for.
    Milliseconds spawn_patience{10'000};
    Milliseconds spawn_interval{200};
};

class Executor {
  public:
    using Sink = std::function<void(const RunEvent&)>;

    Executor(Launcher& launcher, const Clock& clock, Settings settings, Sink sink);

    // Emits RunStarted and starts the first jobs, or where `hold` is true leaves that to `release`.
    // Call once.
    void begin(std::vector<Job> jobs, bool hold = false);
    void release();
    // Further jobs, before all that wait; their indices follow the known ones. Only from within the
    // sink, while it hears of a JobFinished.
    void add(std::vector<Job> jobs);
    // Ends what is past its time or its memory or has lost its log, moves endings on. Call at
    // `next_deadline()`, and whenever the children were looked at.
    void tick();
    [[nodiscard]] std::optional<SteadyTime> next_deadline() const;
    void report(size_t job, const Progress& progress, std::vector<TestEnd> ends = {});
    // Stops the children, and lets them go on: what is between counts for no deadline.
    void pause();
    void resume();
    // The shortest time that a test of a running job may take.
    [[nodiscard]] std::optional<Milliseconds> shortest_test() const;

    // Starts nothing more and ends the children in order; a second call kills them. Also from
    // within the sink.
    void stop(std::string reason);

    [[nodiscard]] bool done() const { return finished_; }
    [[nodiscard]] const Job& job(size_t index) const { return jobs_[index]; }

  private:
    enum class Ending { none, dumped, terminated, killed };
    struct Running {
        std::unique_ptr<Child> child;
        SteadyTime since;
        WallTime started;
        std::optional<SteadyTime> deadline;       // of the job, then of each step of its ending
        std::optional<SteadyTime> test_deadline;  // of the test that runs
        Ending ending = Ending::none;
        std::optional<ProcessEnd> cause;  // why we end it
        Progress progress;
    };

    void start_more();
    // False: not now.
    bool start(size_t index);
    void could_not_start(size_t index, const Error& error, WallTime started);
    [[nodiscard]] std::optional<ProcessEnd> why_to_end(const Job& job, const Running& running,
                                                       const ChildState& state) const;
    void end_next_step(Running& running);
    void kill(Running& running);
    void ended(size_t index, Ended how);

    Launcher& launcher_;
    const Clock& clock_;
    Settings settings_;
    Sink sink_;
    std::deque<Job> jobs_;  // references to its elements stay good
    std::deque<size_t> waiting_;
    std::map<size_t, Running> running_;
    SteadyTime paused_at_{};
    std::optional<SteadyTime> start_again_;    // the machine had no process to spare
    std::optional<SteadyTime> refused_since_;  // and had none ever since, with no child of ours
    std::string stop_reason_;
    bool held_ = false;
    bool stopping_ = false;
    bool finished_ = false;
};

}  // namespace compat::exec
