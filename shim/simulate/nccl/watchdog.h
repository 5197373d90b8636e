// Looks after calls that have not ended: time-outs as ProcessGroupNCCL's watchdog has them, and
// deadlocks, which it names by rank, call and line. Ranks tell each other through the store of the
// job where they wait. Two threads for the process, from the first call on: a store that does not
// answer keeps no time-out from coming.
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
struct Posted {
    std::string group;
    std::uint64_t number = 0;  // of the call in its group, or between the two ranks
    c10d::OpType type = c10d::OpType::UNKNOWN;
    std::vector<std::uint64_t> for_ranks;  // of the job, without which it cannot end

    friend bool operator==(const Posted&, const Posted&) = default;
};

// What a rank that waits tells the others, again at each look.
struct Whereabouts {
    std::uint64_t look = 0;  // counts on
    // No other thread of it has made a call lately, which it might make again.
    bool alone = true;
    std::vector<Posted> calls;  // it waits for the first
    std::string text;           // of the first: "all_reduce(…) at train.py:12"

    [[nodiscard]] bool same_place(const Whereabouts& other) const {
        return alone == other.alone && calls == other.calls;
    }
};
[[nodiscard]] std::string as_text(const Whereabouts& where);
[[nodiscard]] std::optional<Whereabouts> whereabouts_from(const std::string& text);

using RanksWhereabouts = std::map<std::uint64_t, Whereabouts>;
// The ranks that wait for each other, or for one that does: none of them can go on, if all are
// there at one moment. Not those that wait for a rank which may still come, or which has made the
// call that they need.
[[nodiscard]] RanksWhereabouts deadlocked(RanksWhereabouts all);

class Watchdog {
  public:
    static Watchdog& instance();

    // From the thread that made the call.
    void watch(const c10::intrusive_ptr<NcclWork>& work);
    // Until every call of the process has ended. Whoever holds a handle gets its error.
    void wait_for_all();
    // The text of the deadlock that this rank was found in; empty if there was none.
    [[nodiscard]] std::string deadlock_text();
    // A call has ended well since.
    void forget_deadlock();
    // The job's ranks and a connection to its store of our own; replaces the one before.
    void join_job(const c10::intrusive_ptr<c10d::Store>& store, std::uint64_t rank,
                  std::uint64_t ranks);
    // Lets go of the connection, if it is the job's.
    void leave_job(const c10::intrusive_ptr<c10d::Store>& store);

  private:
    class Works;
    struct Job;
    struct Watched {
        c10::weak_intrusive_ptr<NcclWork> work;
        std::shared_ptr<Holders> holders;
    };

    Watchdog() = default;
    void check_timeouts();
    void check_deadlocks();
    [[nodiscard]] Works unfinished();
    [[nodiscard]] bool alone(const Works& works, const NcclWork& waited);
    void look(Job& job);
    void look_for_deadlock(Job& job, const RanksWhereabouts& all);
    [[nodiscard]] std::string where_all_wait();
    [[noreturn]] void take_down(const NcclWork& work, const std::string& text);

    std::mutex mutex_;
    std::condition_variable changed_;
    bool runs_ = false;
    std::vector<Watched> works_;
    std::map<std::thread::id, std::chrono::steady_clock::time_point> callers_;  // lately
    std::shared_ptr<Job> job_;
    std::optional<RanksWhereabouts> others_;  // as the job's store told a moment ago
    std::string deadlock_;
};

}  // namespace compat::shim::simulate
