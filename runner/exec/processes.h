// Whose the processes of this machine are: each job's leader and all that came from it, also what
// has left its session, its parents and its environment behind. Not here: when they are looked
// for and ended (child_process.h).
//
// Orphans of our descendants become our children (the runner is a sub-reaper), so that nothing
// that came from a job leaves our tree. A process belongs to a job by the first of: its session is
// one that the job's leader or another of its processes began; it was the job's when last seen; its
// parent is; its COMPAT_JOB says so; it has the mark of the job's leader (process_table.h); it is
// an orphan and only one job runs that is older than it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runner/exec/event.h"
#include "runner/exec/process_table.h"

namespace compat::exec {

// The variable that names the job which a process came from.
inline constexpr const char* kJobVariable = "COMPAT_JOB";
// Of a job's id, "RUN/NUMBER", the run: it stands for one folder (app/run_folder.h).
[[nodiscard]] std::string_view run_of(std::string_view job);

class Processes {
  public:
    struct Left {
        int pid = 0;
        ProcessInfo stat;
    };

    // Orphans of our descendants become our children from here on. The children that we have
    // already are never touched.
    explicit Processes(ProcessTable& system = process_table());

    // `leader`, a child of ours or of the zygote, and leader of its session, runs the job `id`.
    // Until `remove` its number must not be given to another: it is waited for after that.
    void add(int leader, const std::string& id);
    // What is still left of the job then is not told of again, only killed at each scan.
    void remove(int leader);
    // A process that says so in its COMPAT_JOB is not to be taken for another job's: it is about to
    // be added, or works for all.
    void expect(std::string id) { expected_.insert(std::move(id)); }
    // A child of ours that works for all jobs.
    void add_helper(int pid) { helpers_.insert(pid); }
    void remove_helper(int pid) { helpers_.erase(pid); }

    // Looks at all processes: 10 to 30 µs each. Waits for the orphans that have ended; true where
    // there were such, as what they have left may have been missed.
    bool scan();
    // Whether a job whose leader has ended left anybody. Reads one file: all that it left, or the
    // first of each chain, have become our children. Without such there is nothing to scan for.
    [[nodiscard]] bool has_orphans(int leader);

    // Of the last scan, or over all of them: the sum over the job's processes.
    [[nodiscard]] std::uint64_t rss_bytes(int leader) const;
    [[nodiscard]] std::uint64_t peak_rss_bytes(int leader) const;
    // Of those of the last scan, now: each page once, by its share. Costly.
    [[nodiscard]] std::uint64_t memory_bytes(int leader) const;
    // Those of the job that live, without its leader.
    [[nodiscard]] std::vector<Left> left_by(int leader) const;
    [[nodiscard]] ProcessTable& table() const { return system_; }

  private:
    // An owner is a job's leader, or one of these.
    enum : int {
        kNobody = 0,   // not known, or not under us at all
        kLost = -1,    // of a job that is over
        kForeign = -2  // under a child that we had before any job
    };
    struct Entry {
        ProcessInfo stat;
        int owner = kNobody;
        bool settled = false;  // `owner` is this scan's
    };
    struct Running {
        std::string id;
        std::uint64_t start = 0;
        std::uint64_t rss_bytes = 0;
        std::uint64_t peak_rss_bytes = 0;
    };

    [[nodiscard]] bool is_known_of_others(int pid, int leader) const;
    int owner_of(int pid);
    int decide(int pid, const Entry& entry);
    int owner_of_orphan(int pid, const ProcessInfo& stat) const;

    ProcessTable& system_;
    int self_;
    std::unordered_map<int, Entry> table_;
    std::map<int, Running> jobs_;            // by leader
    std::unordered_map<int, int> sessions_;  // those that a job's processes began, and whose
    std::unordered_set<int> helpers_;
    std::unordered_set<std::string> expected_;
    std::unordered_map<int, std::uint64_t> before_;  // children that we had: pid, start
};

// Ends every process that has the mark of the run's jobs or their COMPAT_JOB, and what descends
// from one, and names them: the survivors of a runner that was killed. Returns when they are gone,
// or after `patience`; one that is still there then has `killed` false. One that was dying already
// is waited for, and named only where it does not go.
[[nodiscard]] std::vector<LeakedProcess> end_survivors(std::string_view run,
                                                       Milliseconds patience = Milliseconds(5000),
                                                       ProcessTable& system = process_table());

}  // namespace compat::exec
