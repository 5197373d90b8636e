// Watches calls that have not ended. Times them out as ProcessGroupNCCL's watchdog does, and
// detects deadlocks, which it reports by rank, call and line. Ranks publish their status through
// the job's store. It has two threads, which start with the process's first call. So a store that
// does not answer delays no time-out.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "simulate/nccl/work.h"

namespace compat::shim::simulate {

// A call that a rank has made and that has not ended.
struct PendingCall {
    std::string group;
    std::uint64_t number = 0;  // of the call in its group, or between the two ranks
    c10d::OpType type = c10d::OpType::UNKNOWN;
    std::vector<std::uint64_t> for_ranks;  // ranks of the job that it needs in order to end

    friend bool operator==(const PendingCall&, const PendingCall&) = default;
};

// A waiting rank publishes its status twice a second.
struct RankStatus {
    std::uint64_t heartbeat = 0;  // rises by one each time
    // Only the waiting thread has made calls lately. Otherwise another thread might make the
    // missing call.
    bool single_threaded = true;
    std::vector<PendingCall> calls;  // it waits for the first
    std::string text;                // describes the first: "all_reduce(…) at train.py:12"

    [[nodiscard]] bool same_calls(const RankStatus& other) const {
        return single_threaded == other.single_threaded && calls == other.calls;
    }
};
[[nodiscard]] std::string as_text(const RankStatus& where);
[[nodiscard]] std::optional<RankStatus> rank_status_from(const std::string& text);

using RankStatuses = std::map<std::uint64_t, RankStatus>;
// The ranks that wait for each other, or for such a rank. None of them can go on if all these
// statuses were true at the same time. A rank is left out if the ranks for which it waits may still
// make the call that it needs, or have made it.
[[nodiscard]] RankStatuses deadlocked(RankStatuses all);

class Watchdog {
  public:
    static Watchdog& instance();

    // Call from the thread that made the collective's call.
    void watch(const c10::intrusive_ptr<NcclWork>& work);
    // Waits until every call of the process has ended, and throws none of their errors.
    void wait_for_all();
    // Describes this rank's deadlock; empty if there is none.
    [[nodiscard]] std::string deadlock_text();
    // Call after a collective has succeeded.
    void clear_deadlock();
    // Publishes this rank's status in `store`, which must be a connection for this use alone.
    // Replaces an earlier job.
    void join_job(const c10::intrusive_ptr<c10d::Store>& store, std::uint64_t rank,
                  std::uint64_t ranks);
    // Drops the connection if it is the current job's.
    void leave_job(const c10::intrusive_ptr<c10d::Store>& store);

  private:
    class Works;
    struct Job;
    Watchdog() = default;
    void check_timeouts();
    void check_deadlocks();
    [[nodiscard]] Works unfinished();
    [[nodiscard]] bool single_threaded(const Works& works, const NcclWork& waited);
    void publish_and_check(Job& job);
    void detect_deadlock(Job& job, const RankStatuses& all);
    [[nodiscard]] std::string other_ranks_text();
    [[noreturn]] void take_down(const NcclWork& work, const std::string& text);

    std::mutex mutex_;
    std::condition_variable changed_;
    bool runs_ = false;
    std::vector<WatchedWork> works_;
    std::map<std::thread::id, std::chrono::steady_clock::time_point> calling_threads_;
    std::shared_ptr<Job> job_;
    std::optional<RankStatuses> other_ranks_;  // as last read from the store
    std::string deadlock_text_;
};

}  // namespace compat::shim::simulate
