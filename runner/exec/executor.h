// Decides which child to start or to end, and when. Not for processes, files or time themselves: a
// launcher, a clock and the owner of the event loop (loop.h) provide them, so that tests can run
// thousands of jobs in a second.
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
    // A child is ended in steps: SIGUSR1 to the leader if it handles it (it writes its stacks to
    // the log), SIGTERM to the group, SIGKILL to the group, then `Child::give_up`.
    Milliseconds dump_grace{2000};
    Milliseconds term_grace{5000};
    Milliseconds kill_grace{5000};
    // How long to retry a start that the system refuses for lack of processes or memory. Counts
    // only while no child runs: otherwise the executor waits for one to end.
    Milliseconds spawn_timeout{10'000};
    Milliseconds spawn_interval{200};
};

class Executor {
  public:
    using Sink = std::function<void(const RunEvent&)>;

    Executor(Launcher& launcher, const Clock& clock, Settings settings, Sink sink);

    // Emits RunStarted and starts the first jobs; with `hold`, warm ones wait for `release` and,
    // if jobs run side by side, follow the others. Call once.
    void begin(std::vector<Job> jobs, bool hold = false);
    // From then on in the given order again.
    void release();
    // Adds jobs before all waiting ones, or after them (`Job::last`); their indices follow the last
    // one. Call only from the sink during a JobFinished.
    void add(std::vector<Job> jobs);
    // Ends children that exceed a limit or whose log fails, and continues terminations. Call at
    // `next_deadline()` and after each scan of processes.
    void tick();
    [[nodiscard]] std::optional<SteadyTime> next_deadline() const;
    void report(size_t job, const Progress& progress, std::vector<TestEnd> ends = {});
    // SIGSTOP and SIGCONT for the children; deadlines exclude the time between.
    void pause();
    void resume();
    // The shortest among the running jobs.
    [[nodiscard]] std::optional<Milliseconds> shortest_test_timeout() const;

    // Starts no more jobs and terminates the children; a second call kills them. May be called from
    // the sink.
    void stop(std::string reason);

    [[nodiscard]] bool done() const { return finished_; }
    [[nodiscard]] const Job& job(size_t index) const { return jobs_[index]; }

  private:
    enum class Termination { none, dumped, terminated, killed };
    struct Running {
        std::unique_ptr<Child> child;
        SteadyTime since;
        WallTime started;
        std::optional<SteadyTime> deadline;  // of the job, then of each step of its termination
        std::optional<SteadyTime> test_deadline;  // of the running test
        Termination termination = Termination::none;
        std::optional<ProcessEnd> cause;  // why the executor ends it
        Progress progress;
    };

    [[nodiscard]] bool may_start(const Job& job) const;
    void start_more();
    // False: the system has no process or memory to spare.
    bool start(size_t index);
    void report_spawn_failure(size_t index, const Error& error, WallTime started);
    [[nodiscard]] std::optional<ProcessEnd> exceeded_limit(const Job& job, const Running& running,
                                                           const ChildState& state) const;
    void escalate(Running& running);
    void kill(Running& running);
    void ended(size_t index, ChildResult how);

    Launcher& launcher_;
    const Clock& clock_;
    Settings settings_;
    Sink sink_;
    std::deque<Job> jobs_;  // references to its elements stay valid
    std::deque<size_t> waiting_;
    std::map<size_t, Running> running_;
    SteadyTime paused_at_{};
    std::optional<SteadyTime> spawn_retry_at_;       // the system refused a process
    std::optional<SteadyTime> spawn_refused_since_;  // with no child running
    std::string stop_reason_;
    bool held_ = false;
    size_t first_jobs_ = 0;
    bool stopping_ = false;
    bool finished_ = false;
};

}  // namespace compat::exec
