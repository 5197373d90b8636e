// What the kernel says of another process under /proc. Not for what a child of ours has used: that
// is wait4's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compat::exec {

struct ProcStat {
    std::string name;  // the command's, cut by the kernel to 15 bytes
    char state = ' ';
    int parent = 0;  // 0: none, or outside of our namespace
    int group = 0;
    int session = 0;
    std::uint64_t start = 0;      // ticks since boot; with the pid it names a process for ever
    std::uint64_t rss_bytes = 0;  // pages that it shares with others are counted in each
    bool ended = false;           // a zombie: nothing of it runs any more
};

// Nothing: there is no such process, or no more.
[[nodiscard]] std::optional<ProcStat> proc_stat(int pid);

// Whether it gets to do nothing more: a SIGKILL is on its way to it, or it is in its exit. With
// much memory, or on a busy machine, that takes a while.
[[nodiscard]] bool is_dying(int pid);

// Its resident memory, of shared pages its share alone (PSS). A millisecond for a large process.
// Nothing: not ours to read, or a kernel before 4.14.
[[nodiscard]] std::optional<std::uint64_t> proportional_bytes(int pid);

// "uninterruptible sleep (D)"; a state without a word is its letter.
[[nodiscard]] std::string state_in_words(char state);

// Whether `pid` is `ancestor` or was started by it or by a descendant of it. One that has ended, or
// whose ancestors have, is no one's.
[[nodiscard]] bool descends_from(int pid, int ancestor);

// The ids of all processes there are.
[[nodiscard]] std::vector<int> all_pids();
// Between fork and exec, and for a kernel's thread, there is no command line: then as ps shows it.
[[nodiscard]] std::vector<std::string> argv_of(int pid, const ProcStat& stat);
// The value that `name` had in the environment that `pid` was executed with; it may have changed
// its own since. Empty: none, or not ours to read.
[[nodiscard]] std::string environment_value(int pid, std::string_view name);

// A job's mark on its leader, and by it on what comes from it: unlike its environment, its session
// and its parent, no process gets rid of it. It is the soft limit on file locks, which Linux has
// not looked at since 2.4.25: it is inherited, and kept by what is executed. Not set where the hard
// limit is lower.
struct Mark {
    std::uint64_t run = 0;
    int leader = 0;  // 0: no mark, or not ours to read
};
// Of 2^41 numbers, the one that stands for a run's name in its marks.
[[nodiscard]] std::uint64_t run_in_marks(std::string_view run);
void mark_leader(int pid, std::string_view run);
[[nodiscard]] Mark mark_of(int pid);

// Sends `signal` to the process of that number and start, and never to a later one of the same
// number.
void signal_exactly(int pid, std::uint64_t start, int signal);

}  // namespace compat::exec
