#include "simulate/nccl/watchdog.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "simulate/nccl/errors.h"
#include "simulate/nccl/lane.h"

namespace compat::shim::simulate {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick(50);  // between checks of time-outs
constexpr milliseconds kHeartbeat(500);
constexpr milliseconds kRecently(30'000);
// The time between a deadlock's detection and its error. The other ranks detect it within two
// heartbeats, and a rank that exits before that looks like the cause.
constexpr milliseconds kRaiseDelay(1250);

std::string key_of(std::uint64_t rank) { return "compat_waits/" + std::to_string(rank); }

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

// The head of a line, as glog writes it: the rank, the level, the time.
std::string heading(std::uint64_t rank) {
    const auto now = std::chrono::system_clock::now();
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm local{};
    localtime_r(&seconds, &local);
    char when[32];
    std::strftime(when, sizeof when, "%m%d %H:%M:%S", &local);
    const auto micros =
        std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() %
        1'000'000;
    char line[96];
    std::snprintf(line, sizeof line, "[rank%llu]:[E%s.%06lld ProcessGroupNCCL.cpp] ",
                  static_cast<unsigned long long>(rank), when, static_cast<long long>(micros));
    return line;
}

std::uint64_t rank_of(const NcclWork& work) {
    return work.origin().global[static_cast<std::size_t>(work.origin().rank)];
}

PendingCall pending_call(const NcclWork& work) {
    PendingCall call{work.origin().group, work.call().number, work.call().type, {}};
    for (const int rank : work.waits_for())
        call.for_ranks.push_back(work.origin().global[static_cast<std::size_t>(rank)]);
    return call;
}

std::string text_of(const NcclWork& work) {
    return described(work.call()) + " of group " + work.origin().group + ", call " +
           std::to_string(work.call().number) + ", " + place(work.call());
}

// Messages, alone or coalesced.
bool between_two(c10d::OpType type) { return is_message(type) || type == c10d::OpType::COALESCED; }

// Whether `one`, a call of `rank`, waits for `other`, a call of another rank: the same collective,
// or the other end of the message.
bool meet(const PendingCall& one, std::uint64_t rank, const PendingCall& other) {
    if (one.group != other.group || between_two(one.type) != between_two(other.type)) return false;
    if (!between_two(one.type)) return one.number == other.number;
    if (one.type == other.type && one.type != c10d::OpType::COALESCED) return false;
    return std::find(other.for_ranks.begin(), other.for_ranks.end(), rank) != other.for_ranks.end();
}

// The statuses of ranks that published one.
RankStatuses read_statuses(c10d::Store& store, std::uint64_t rank, std::uint64_t ranks) {
    RankStatuses all;
    for (std::uint64_t other = 0; other < ranks; ++other) {
        if (other == rank || !store.check({key_of(other)})) continue;
        const std::vector<std::uint8_t> bytes = store.get(key_of(other));
        if (auto where = rank_status_from(std::string(bytes.begin(), bytes.end())))
            all[other] = std::move(*where);
    }
    return all;
}

}  // namespace

// The first line is the text; each further line is a call.
std::string as_text(const RankStatus& where) {
    std::ostringstream text;
    text << where.heartbeat << ' ' << where.single_threaded << ' ' << where.text << '\n';
    for (const PendingCall& call : where.calls) {
        text << call.number << ' ' << static_cast<int>(call.type);
        for (const std::uint64_t rank : call.for_ranks) text << ' ' << rank;
        text << " : " << call.group << '\n';
    }
    return text.str();
}

std::optional<RankStatus> rank_status_from(const std::string& text) {
    RankStatus where;
    std::istringstream lines(text);
    if (!(lines >> where.heartbeat >> where.single_threaded) || lines.get() != ' ')
        return std::nullopt;
    std::getline(lines, where.text);
    for (std::string line; std::getline(lines, line);) {
        PendingCall call;
        std::istringstream fields(line);
        int type = 0;
        if (!(fields >> call.number >> type)) return std::nullopt;
        call.type = static_cast<c10d::OpType>(type);
        for (std::uint64_t rank = 0; fields >> rank;) call.for_ranks.push_back(rank);
        fields.clear();
        fields.ignore(2);  // ": "
        std::getline(fields, call.group);
        where.calls.push_back(std::move(call));
    }
    if (where.calls.empty()) return std::nullopt;
    return where;
}

RankStatuses deadlocked(RankStatuses all) {
    const auto may_come = [&](std::uint64_t needed, std::uint64_t rank, const PendingCall& waited) {
        const auto found = all.find(needed);
        return found == all.end() ||
               std::any_of(found->second.calls.begin(), found->second.calls.end(),
                           [&](const PendingCall& call) { return meet(waited, rank, call); });
    };
    const auto may_go_on = [&](const auto& entry) {
        const auto& [rank, where] = entry;
        const PendingCall& waited = where.calls.front();
        return !where.single_threaded ||
               std::all_of(waited.for_ranks.begin(), waited.for_ranks.end(),
                           [&](std::uint64_t needed) { return may_come(needed, rank, waited); });
    };
    while (std::erase_if(all, may_go_on) > 0) {
    }
    return all;
}

// Only the thread of check_deadlocks uses it, except for the constants `store`, `rank` and `ranks`.
struct Watchdog::Job {
    c10::intrusive_ptr<c10d::Store> store;
    std::uint64_t rank = 0, ranks = 0;
    std::uint64_t heartbeat = 0;
    bool published = false;
    RankStatuses stuck;                          // as first read
    std::optional<PendingCall> deadlocked_call;  // this rank's
    std::chrono::steady_clock::time_point found_at;
    std::string deadlock_text;

    void publish(const std::string& text) {
        store->set(key_of(rank), bytes_of(text));
        published = text != kIdle;
    }
    static constexpr std::string_view kIdle = "-";
};

// References to calls that have not ended, for one of our threads, which is one of their holders.
class Watchdog::Works {
  public:
    Works() : all_(std::make_shared<All>()) {}
    ~Works() {
        if (!all_ || all_->empty()) return;
        std::vector<std::shared_ptr<Holders>> holders;
        for (auto& work : *all_) {
            holders.push_back(work->holders());
            const void* const key = work.get();
            hand_over(key, std::make_shared<c10::intrusive_ptr<NcclWork>>(std::move(work)));
        }
        for (const auto& each : holders) each->leave();
    }
    Works(Works&&) = default;
    Works& operator=(Works&&) = delete;

    // Takes a work whose holders this thread has joined. False if it has ended; iteration then
    // omits it.
    bool add(c10::intrusive_ptr<NcclWork> work) {
        const bool goes_on = !work->isCompleted();
        all_->push_back(std::move(work));
        if (goes_on) std::swap(all_->back(), (*all_)[unfinished_++]);
        return goes_on;
    }
    [[nodiscard]] auto begin() const { return all_->cbegin(); }
    [[nodiscard]] auto end() const {
        return all_->cbegin() + static_cast<std::ptrdiff_t>(unfinished_);
    }

  private:
    using All = std::vector<c10::intrusive_ptr<NcclWork>>;
    std::shared_ptr<All> all_;
    std::size_t unfinished_ = 0;
};

Watchdog& Watchdog::instance() {
    static auto* watchdog = new Watchdog();  // its thread outlives statics
    return *watchdog;
}

void Watchdog::watch(const c10::intrusive_ptr<NcclWork>& work) {
    const std::lock_guard lock(mutex_);
    works_.push_back({c10::weak_intrusive_ptr<NcclWork>(work), work->holders()});
    calling_threads_[std::this_thread::get_id()] = std::chrono::steady_clock::now();
    if (!std::exchange(runs_, true)) {
        std::thread([this] { check_timeouts(); }).detach();
        std::thread([this] { check_deadlocks(); }).detach();
    }
    changed_.notify_all();
}

// A thread of the program calls this. It may drop a work's last reference.
void Watchdog::wait_for_all() {
    std::vector<c10::intrusive_ptr<NcclWork>> works;
    {
        const std::lock_guard lock(mutex_);
        for (const WatchedWork& watched : works_)
            if (auto work = watched.work.lock()) works.push_back(std::move(work));
    }
    for (const auto& work : works) work->wait_for_end();
    drop_handed_over();
}

std::string Watchdog::deadlock_text() {
    const std::lock_guard lock(mutex_);
    return deadlock_text_;
}

void Watchdog::clear_deadlock() {
    const std::lock_guard lock(mutex_);
    deadlock_text_.clear();
}

void Watchdog::join_job(const c10::intrusive_ptr<c10d::Store>& store, std::uint64_t rank,
                        std::uint64_t ranks) {
    auto job = std::make_shared<Job>();
    job->store = store;
    job->rank = rank;
    job->ranks = ranks;
    // An earlier process with this rank may have left its status there.
    job->publish(std::string(Job::kIdle));
    const std::lock_guard lock(mutex_);
    job_ = std::move(job);
    other_ranks_.reset();
    deadlock_text_.clear();
}

void Watchdog::leave_job(const c10::intrusive_ptr<c10d::Store>& store) {
    std::shared_ptr<Job> left;
    const std::lock_guard lock(mutex_);
    if (job_ && job_->store == store) left = std::exchange(job_, nullptr);
}

void Watchdog::check_timeouts() {
    while (true) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return !works_.empty(); });
        }
        std::this_thread::sleep_for(kTick);
        for (const auto& work : unfinished()) {
            const milliseconds age = work->age();
            if (age < work->origin().timeout) continue;
            const std::string text = work->timeout_text(age);
            const std::string where = "It is " + described(work->call()) + " " +
                                      place(work->call()) + "." + other_ranks_text();
            std::fprintf(stderr, "%s%s\n%s\n", heading(rank_of(*work)).c_str(), text.c_str(),
                         where.c_str());
            if (!work->origin().blocking) take_down(*work, text);
            work->fail_and_abort_group(backend_error(text + " " + where),
                                       c10d::WorkResult::TIMEOUT);
        }
    }
}

void Watchdog::check_deadlocks() {
    while (true) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return job_ && (!works_.empty() || job_->published); });
        }
        std::this_thread::sleep_for(kHeartbeat);
        std::shared_ptr<Job> job;
        {
            const std::lock_guard lock(mutex_);
            job = job_;
        }
        if (!job) continue;
        try {
            publish_and_check(*job);
        } catch (const std::exception&) {
            // The store's process has ended, and with it the job.
            const std::lock_guard lock(mutex_);
            job->published = false;
            other_ranks_.reset();
        }
    }
}

Watchdog::Works Watchdog::unfinished() {
    Works works;
    const std::lock_guard lock(mutex_);
    std::erase_if(works_, [&](const WatchedWork& watched) {
        if (!watched.holders->join()) return true;
        auto work = watched.work.lock();
        if (!work) {
            watched.holders->leave();
            return true;
        }
        return !works.add(std::move(work));
    });
    return works;
}

// ProcessGroupNCCL's watchdog ends its thread with the exception, which ends the process.
void Watchdog::take_down(const NcclWork& work, const std::string& text) {
    const std::string head = heading(rank_of(work));
    const std::string rank = "[Rank " + std::to_string(work.origin().rank) + "] ";
    std::fprintf(
        stderr,
        "%s%sSome NCCL operations have failed or timed out. Due to the asynchronous nature "
        "of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data."
        "\n%s%sTo avoid data inconsistency, we are taking the entire process down.\n",
        head.c_str(), rank.c_str(), head.c_str(), rank.c_str());
    std::fprintf(stderr,
                 "terminate called after throwing an instance of 'c10::DistBackendError'\n"
                 "  what():  [PG ID 0 PG GUID %s Rank %d] Process group watchdog thread terminated "
                 "with exception: %s\n",
                 work.origin().group.c_str(), work.origin().rank, text.c_str());
    std::fflush(nullptr);
    std::abort();
}

// Whether the thread that waits for `waited` is the only one that makes this rank's calls. A thread
// without a call might still make its first, unless the wait is long.
bool Watchdog::single_threaded(const Works& works, const NcclWork& waited) {
    const auto waiting = std::count_if(works.begin(), works.end(),
                                       [](const auto& work) { return work->waited().has_value(); });
    const auto wait = waited.waited();
    const std::lock_guard lock(mutex_);
    std::erase_if(calling_threads_, [now = std::chrono::steady_clock::now()](const auto& caller) {
        return now - caller.second > kRecently;
    });
    return waiting == 1 && wait && (wait->alone || wait->time >= kRecently) &&
           std::all_of(calling_threads_.begin(), calling_threads_.end(),
                       [&](const auto& caller) { return caller.first == wait->by; });
}

void Watchdog::publish_and_check(Job& job) {
    std::optional<RankStatus> here;
    bool any_is_long = false;
    {
        const Works works = unfinished();
        c10::intrusive_ptr<NcclWork> oldest;  // for which a thread of the program waits
        milliseconds longest = NcclWork::kLongWait;
        for (const auto& work : works) {
            any_is_long |= work->age() >= NcclWork::kLongWait;
            const auto wait = work->waited();
            if (!wait || wait->time < longest) continue;
            oldest = work;
            longest = wait->time;
        }
        if (oldest) {
            here = {++job.heartbeat,
                    single_threaded(works, *oldest),
                    {pending_call(*oldest)},
                    text_of(*oldest)};
            for (const auto& work : works)
                if (work != oldest) here->calls.push_back(pending_call(*work));
        }
    }
    std::optional<RankStatuses> all;
    if (any_is_long || here) all = read_statuses(*job.store, job.rank, job.ranks);
    {
        const std::lock_guard lock(mutex_);
        other_ranks_ = all;
    }
    if (here) {
        job.publish(as_text(*here));
        all->insert_or_assign(job.rank, std::move(*here));
        detect_deadlock(job, *all);
    } else if (job.published) {
        job.publish(std::string(Job::kIdle));
    }
}

// If a rank's heartbeat has risen by two since its status was first read, the status was true at
// that reading. If this holds for all ranks of the deadlock, their statuses were true at the same
// time, and stay true (docs/design/0009-distributed.md).
void Watchdog::detect_deadlock(Job& job, const RankStatuses& all) {
    const auto now = std::chrono::steady_clock::now();
    const PendingCall& waited = all.at(job.rank).calls.front();
    if (job.deadlocked_call == waited) {
        if (now - job.found_at < kRaiseDelay) return;
        for (const auto& work : unfinished())
            if (pending_call(*work) == waited)
                work->fail_and_abort_group(backend_error(job.deadlock_text));
        return;
    }
    RankStatuses stuck = deadlocked(all);
    if (!stuck.contains(job.rank)) return job.stuck.clear();
    const auto same = [](const auto& one, const auto& other) {
        return one.first == other.first && one.second.same_calls(other.second);
    };
    if (!std::equal(stuck.begin(), stuck.end(), job.stuck.begin(), job.stuck.end(), same)) {
        job.stuck = std::move(stuck);
        return;
    }
    for (const auto& [rank, where] : stuck)
        if (where.heartbeat < job.stuck[rank].heartbeat + 2) return;
    std::string& text = job.deadlock_text;
    text = "Deadlock: these ranks wait for each other, and none can go on.";
    for (const auto& [rank, where] : stuck)
        text += "\n  rank " + std::to_string(rank) + " waits in " + where.text;
    text += "\nWith NCCL this hangs until the time-out.";
    std::fprintf(stderr, "%s%s\n", heading(job.rank).c_str(), text.c_str());
    job.deadlocked_call = waited;
    job.found_at = now;
    const std::lock_guard lock(mutex_);
    deadlock_text_ = text;
}

std::string Watchdog::other_ranks_text() {
    const std::lock_guard lock(mutex_);
    if (!job_) return {};
    if (!other_ranks_) return "\n  the job's store does not tell where the other ranks wait";
    std::string text;
    for (std::uint64_t rank = 0; rank < job_->ranks; ++rank) {
        if (rank == job_->rank) continue;
        const auto found = other_ranks_->find(rank);
        text += "\n  rank " + std::to_string(rank) +
                (found == other_ranks_->end() ? " waits in no collective"
                                              : " waits in " + found->second.text);
    }
    return text;
}

}  // namespace compat::shim::simulate
