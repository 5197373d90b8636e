// Looks after calls that have not ended: time-outs as ProcessGroupNCCL's watchdog has them, and
// deadlocks, which it names by rank, call and line. Ranks tell each other through the store of the
// job where they wait. One thread for the process, from the first call on.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "simulate/nccl/work.h"

namespace compat::shim::simulate {

// Where a rank of the job waits, as it tells the others.
struct Waiting {
    std::string group;
    std::uint64_t number = 0;  // of the call in its group, or between the two ranks
    c10d::OpType type = c10d::OpType::UNKNOWN;
    std::vector<std::uint64_t> for_ranks;  // of the job
    std::string text;                      // "all_reduce(…) at train.py:12"

    friend bool operator==(const Waiting&, const Waiting&) = default;
};
[[nodiscard]] std::string as_text(const Waiting& waiting);
[[nodiscard]] std::optional<Waiting> waiting_from(const std::string& text);

// By rank. The ranks that wait for each other, or for one that does: none of them can go on. Not
// those that wait for a rank which may still come.
[[nodiscard]] std::vector<std::uint64_t> deadlocked(
    const std::map<std::uint64_t, Waiting>& waiting);

class Watchdog {
  public:
    static Watchdog& instance();

    void watch(const c10::intrusive_ptr<NcclWork>& work);
    // Until every call of the process has ended. Whoever holds a handle gets its error.
    void wait_for_all();
    // The text of the deadlock that this rank was found in; empty if there was none.
    [[nodiscard]] std::string deadlock_text();
    // The job's ranks and a connection to its store of our own; replaces the one before.
    void join_job(c10::intrusive_ptr<c10d::Store> store, std::uint64_t rank, std::uint64_t ranks);

  private:
    using Works = std::vector<c10::intrusive_ptr<NcclWork>>;

    Watchdog() = default;
    void run();
    [[nodiscard]] Works unfinished();
    void check_timeouts(const Works& works);
    void check_deadlock(const Works& works);
    void publish(const std::optional<Waiting>& waiting);
    [[nodiscard]] std::map<std::uint64_t, Waiting> others();
    [[nodiscard]] std::string where_all_wait();
    [[noreturn]] void take_down(const NcclWork& work, const std::string& text);

    std::mutex mutex_;
    std::condition_variable changed_;
    bool runs_ = false;
    std::vector<c10::weak_intrusive_ptr<NcclWork>> works_;
    c10::intrusive_ptr<c10d::Store> store_;
    std::uint64_t rank_ = 0, ranks_ = 0;
    std::optional<Waiting> published_;
    std::map<std::uint64_t, Waiting> seen_;  // a moment ago
    std::string deadlock_;
};

}  // namespace compat::shim::simulate
