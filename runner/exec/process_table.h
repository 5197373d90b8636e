// The system's process table: information and signals that POSIX does not offer. Each system
// implements it in a folder (linux/, darwin/); tests use a fake. Not for the resource usage of a
// child, which wait4 returns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compat::exec {

struct ProcessInfo {
    std::string name;  // of the command, perhaps truncated
    char state = ' ';  // as ps shows it
    int parent = 0;    // 0: none, or outside our pid namespace
    int group = 0;
    int session = 0;
    std::uint64_t start = 0;      // any unit; unique together with the pid
    std::uint64_t rss_bytes = 0;  // counts shared pages in each process
    bool ended = false;           // a zombie
};

// Identifies the job of a process. Descendants of a job's leader inherit it, and unlike
// environment, session and parent they cannot drop it. On macOS only this process can read it.
struct JobTag {
    std::uint64_t run = 0;  // run_hash of the run's name
    int leader = 0;         // 0: no tag, or no permission to read it
};

class ProcessTable {
  public:
    virtual ~ProcessTable() = default;

    [[nodiscard]] virtual std::vector<int> pids() const = 0;
    // Nothing: no such process.
    [[nodiscard]] virtual std::optional<ProcessInfo> find(int pid) const = 0;
    // Our own, zombies included.
    [[nodiscard]] virtual std::vector<int> children() const = 0;
    // Children of another process. Only Linux reports them.
    [[nodiscard]] virtual std::vector<int> children_of(int) const { return {}; }
    // Whether it has a pending SIGKILL or is exiting, which takes a while with much memory or on a
    // busy machine.
    [[nodiscard]] virtual bool is_dying(int pid) const = 0;
    // PSS: resident memory with its share of shared pages. Takes a millisecond for a large process.
    // Nothing: no permission, or not supported.
    [[nodiscard]] virtual std::optional<std::uint64_t> proportional_bytes(int pid) const = 0;
    // "[name]" as in ps for a process without a command line.
    [[nodiscard]] virtual std::vector<std::string> argv(int pid, const ProcessInfo& info) const = 0;
    // The value of `name` in the environment that `pid` got from exec; later changes do not show.
    // Empty: not set, or no permission.
    [[nodiscard]] virtual std::string environment_value(int pid, std::string_view name) const = 0;

    // May be called between fork and exec.
    virtual void tag_leader(int pid, std::string_view run) = 0;
    [[nodiscard]] virtual JobTag tag_of(int pid) const = 0;

    // Orphans of our descendants become our children (sub-reaper). False: the system does not
    // support it, and they become children of process 1.
    virtual bool adopt_orphans() = 0;
    // Signals the process with this pid and start, never a later process with the same pid.
    virtual void signal(int pid, std::uint64_t start, int signal) = 0;
    // Processes killed by the kernel's OOM killer so far; 0 if unknown.
    [[nodiscard]] virtual std::uint64_t memory_kills() const = 0;
    // In bytes, of the machine or of our control group; 0: unknown.
    [[nodiscard]] virtual std::uint64_t memory_limit() const = 0;
    // True: `pid` was a zombie of ours and has been reaped.
    virtual bool reap(int pid);

    // Whether `pid` is `ancestor` or its descendant, as far as living processes show.
    [[nodiscard]] bool descends_from(int pid, int ancestor) const;
};

// The process table of this machine.
[[nodiscard]] ProcessTable& process_table();

// A run's name in its tags: 41 bits.
[[nodiscard]] std::uint64_t run_hash(std::string_view run);

// Evidence that a SIGKILL, not sent by the runner, was for lack of memory: the peak was near the
// limit, or `memory_kills` exceeds `kills_before`. Empty: none.
[[nodiscard]] std::string memory_evidence(const ProcessTable& table, std::uint64_t kills_before,
                                          std::uint64_t peak_rss_bytes);

// "uninterruptible sleep (D)"; the letter alone for an unknown state.
[[nodiscard]] std::string state_name(char state);

// Between fork and exec: closes all descriptors from `first` on at exec.
void close_from_on_exec(int first);

}  // namespace compat::exec
