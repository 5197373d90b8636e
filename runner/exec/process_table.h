// What a system says of its processes and lets us do with them, where POSIX does not reach. One
// folder a system implements it (linux/); tests put a fake here. Not for what a child of ours has
// used: that is wait4's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compat::exec {

struct ProcessInfo {
    std::string name;  // the command's; the system may cut it
    char state = ' ';  // as ps shows it
    int parent = 0;    // 0: none, or outside of our namespace
    int group = 0;
    int session = 0;
    std::uint64_t start = 0;      // any unit; with the pid it names a process for ever
    std::uint64_t rss_bytes = 0;  // pages that it shares with others are counted in each
    bool ended = false;           // a zombie: nothing of it runs any more
};

// A job's mark on its leader, and by it on what comes from it: unlike its environment, its session
// and its parent, no process gets rid of it.
struct Mark {
    std::uint64_t run = 0;  // run_in_marks of the run's name
    int leader = 0;         // 0: no mark, or not ours to read
};

class ProcessTable {
  public:
    virtual ~ProcessTable() = default;

    // All that there are.
    [[nodiscard]] virtual std::vector<int> pids() const = 0;
    // Nothing: there is no such process, or no more.
    [[nodiscard]] virtual std::optional<ProcessInfo> find(int pid) const = 0;
    // Our own, those that have ended included.
    [[nodiscard]] virtual std::vector<int> children() const = 0;
    // Whether it gets to do nothing more: a SIGKILL is on its way to it, or it is in its exit. With
    // much memory, or on a busy machine, that takes a while.
    [[nodiscard]] virtual bool is_dying(int pid) const = 0;
    // Its resident memory, of shared pages its share alone (PSS). A millisecond for a large
    // process. Nothing: not ours to read, or not known here.
    [[nodiscard]] virtual std::optional<std::uint64_t> proportional_bytes(int pid) const = 0;
    // Where it has no command line: as ps shows it.
    [[nodiscard]] virtual std::vector<std::string> argv(int pid, const ProcessInfo& info) const = 0;
    // The value that `name` had in the environment that `pid` was executed with; it may have
    // changed its own since. Empty: none, or not ours to read.
    [[nodiscard]] virtual std::string environment_value(int pid, std::string_view name) const = 0;

    // Safe between fork and exec.
    virtual void mark_leader(int pid, std::string_view run) = 0;
    [[nodiscard]] virtual Mark mark_of(int pid) const = 0;

    // Makes orphans of our descendants our children, where the system can.
    virtual void adopt_orphans() = 0;
    // Sends `signal` to the process of that number and start, and never to a later one of the same
    // number.
    virtual void signal(int pid, std::uint64_t start, int signal) = 0;
    // How many processes the kernel has killed for want of memory so far, as far as it tells.
    [[nodiscard]] virtual std::uint64_t memory_kills() const = 0;
    // What the processes of this machine, or of our control group, may have together; 0: not known.
    [[nodiscard]] virtual std::uint64_t memory_limit() const = 0;
    // True where `pid` was a child of ours that had ended; it is gone now.
    virtual bool reap(int pid);

    // Whether `pid` is `ancestor` or was started by it or by a descendant of it. One that has
    // ended, or whose ancestors have, is no one's.
    [[nodiscard]] bool descends_from(int pid, int ancestor) const;
};

// This machine's.
[[nodiscard]] ProcessTable& process_table();

// Of 2^41 numbers, the one that stands for a run's name in its marks.
[[nodiscard]] std::uint64_t run_in_marks(std::string_view run);

// Why a SIGKILL that the runner did not send was for want of memory: the peak was near the limit,
// or the kernel has killed for it since there were `kills_before`. Empty: nothing says so.
[[nodiscard]] std::string memory_evidence(const ProcessTable& table, std::uint64_t kills_before,
                                          std::uint64_t peak_rss_bytes);

// "uninterruptible sleep (D)"; a state without a word is its letter.
[[nodiscard]] std::string state_in_words(char state);

// Between fork and exec: what the runner was started with open, from this number on, is closed.
void close_from_on_exec(int first);

}  // namespace compat::exec
