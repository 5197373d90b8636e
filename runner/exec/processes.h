// Assigns processes to jobs: the leader of each job and all its descendants, including those that
// left its session, lost their parents or cleared their environment. Not here: when to scan and to
// kill (child_process.h).
//
// The runner is a sub-reaper: orphans of its descendants become its children, so no descendant of a
// job leaves its tree. Where the system has none (macOS), orphans become children of process 1, and
// only their session, COMPAT_JOB or tag shows the job. A process belongs to a job if one of these
// holds, in this order: a process of the job began its session; it belonged to the job at the last
// scan; its parent belongs to the job; its COMPAT_JOB names the job; it has the tag of the job's
// leader (process_table.h); it is an orphan and only one running job is older. In a namespace of
// its own a job's orphans become children of the namespace's init, which no other job has.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runner/exec/event.h"
#include "runner/exec/process_table.h"

namespace compat::exec {

// Names the job of a process.
inline constexpr const char* kJobVariable = "COMPAT_JOB";
// The run of a job's id "RUN/NUMBER"; it names one folder (runner/archive/run_folder.h).
[[nodiscard]] std::string_view run_of(std::string_view job);

class Processes {
  public:
    struct Descendant {
        int pid = 0;
        ProcessInfo stat;
    };

    // Orphans of our descendants become our children from now on. Ignores children that we have
    // already.
    explicit Processes(ProcessTable& system = process_table());

    // `leader`, a session leader and a child of ours or of the zygote, runs the job `id`. Reap it
    // only after `remove`, so that its pid is not reused before. `init` is the first process of the
    // job's own namespace, if it has one: the orphans of the job become its children.
    void add(int leader, const std::string& id, int init = 0);
    // Later scans kill the remaining processes of the job without reporting them.
    void remove(int leader);
    // Processes with this COMPAT_JOB belong to no other job: their job is about to be added, or
    // they serve all jobs.
    void expect(std::string id) { expected_.insert(std::move(id)); }
    // A child of ours that serves all jobs.
    void add_helper(int pid) { helpers_.insert(pid); }
    void remove_helper(int pid) { helpers_.erase(pid); }

    // Reads all processes, 10 to 30 µs each, and reaps ended orphans. True: it reaped some, whose
    // children the scan may have missed.
    bool scan();
    // Whether a job whose leader has ended has other processes: they, or the first of each chain,
    // have become our children. Reads only the list of children. Always true where orphans do not
    // become our children.
    [[nodiscard]] bool has_orphans(int leader);

    // The sum over the job's processes: at the last scan, and the maximum of all scans.
    [[nodiscard]] std::uint64_t rss_bytes(int leader) const;
    [[nodiscard]] std::uint64_t peak_rss_bytes(int leader) const;
    // The PSS of the processes of the last scan, now: shared pages count once. Costly.
    [[nodiscard]] std::uint64_t memory_bytes(int leader) const;
    // The living processes of the job, without its leader.
    [[nodiscard]] std::vector<Descendant> descendants_of(int leader) const;
    [[nodiscard]] ProcessTable& table() const { return system_; }

  private:
    // An owner is the pid of a job's leader, or one of these.
    enum : int {
        kNoJob = 0,         // unknown, or not our descendant
        kFinishedJob = -1,  // of a job that has been removed
        kPreexisting = -2   // of a child that we had before
    };
    struct Entry {
        ProcessInfo stat;
        int owner = kNoJob;
        bool settled = false;  // `owner` is from this scan
    };
    struct Running {
        std::string id;
        std::uint64_t start = 0;
        std::uint64_t rss_bytes = 0;
        std::uint64_t peak_rss_bytes = 0;
        int init = 0;
    };

    [[nodiscard]] bool belongs_to_another(int pid, int leader) const;
    [[nodiscard]] bool has_orphans_of_init(int leader, int init) const;
    void take_children_apart();
    int owner_of(int pid);
    int determine_owner(int pid, const Entry& entry);
    std::optional<int> named_owner(int pid, const ProcessInfo& stat) const;
    int owner_of_orphan(int pid, const ProcessInfo& stat) const;
    int owner_of_escaped(int pid, const ProcessInfo& stat) const;

    ProcessTable& system_;
    int self_;
    bool adopts_ = true;  // orphans become our children
    std::unordered_map<int, Entry> table_;
    std::map<int, Running> jobs_;            // key: leader
    std::unordered_map<int, int> inits_;     // of jobs in namespaces; value: leader
    std::unordered_map<int, int> sessions_;  // begun by a job's process; value: leader
    std::unordered_set<int> helpers_;
    std::unordered_set<std::string> expected_;
    std::unordered_map<int, std::uint64_t> preexisting_;  // children that we had before: pid, start
};

// Starts a child that belongs to no job though jobs run, such as a hub's generator: every Processes
// takes it and its descendants for a child that was there before, and leaves its end to the caller.
// Returns the result of `start`, a process id; not above 0: it did not start. From any thread.
int start_apart(const std::function<int()>& start);

// Kills the survivors of a killed runner: processes with a tag or a COMPAT_JOB of the run, and
// their descendants. Returns them when they have ended or after `timeout`; `killed` is false for a
// process that is alive then. Omits a process that was dying before, unless it stays alive.
[[nodiscard]] std::vector<SurvivingProcess> end_survivors(std::string_view run,
                                                          Milliseconds timeout = Milliseconds(5000),
                                                          ProcessTable& system = process_table());

}  // namespace compat::exec
