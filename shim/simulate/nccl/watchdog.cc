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

constexpr milliseconds kTick(50);
constexpr milliseconds kLong(1000);     // a wait that the others are told of
constexpr milliseconds kBetween(1000);  // looks at what the others tell

std::string key_of(std::uint64_t rank) { return "compat_waits/" + std::to_string(rank); }

// As glog heads a line: the rank, the level, the time.
std::string heading(int rank) {
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
    std::snprintf(line, sizeof line, "[rank%d]:[E%s.%06lld ProcessGroupNCCL.cpp] ", rank, when,
                  static_cast<long long>(micros));
    return line;
}

Waiting waiting_of(const NcclWork& work) {
    Waiting waiting;
    waiting.group = work.origin().group;
    waiting.number = work.call().number;
    waiting.type = work.call().type;
    for (const int rank : work.waits_for())
        waiting.for_ranks.push_back(work.origin().global[static_cast<std::size_t>(rank)]);
    waiting.text = described(work.call()) + " of group " + waiting.group + ", call " +
                   std::to_string(waiting.number) + ", " + place(work.call());
    return waiting;
}

// Messages, alone or coalesced.
bool between_two(c10d::OpType type) { return is_message(type) || type == c10d::OpType::COALESCED; }

// Whether `other`, which a rank is in, is what `one` of `rank` waits for: the same collective, or
// the other end of the message.
bool meet(const Waiting& one, std::uint64_t rank, const Waiting& other) {
    if (one.group != other.group || between_two(one.type) != between_two(other.type)) return false;
    if (!between_two(one.type)) return one.number == other.number;
    if (one.type == other.type && one.type != c10d::OpType::COALESCED) return false;
    return std::find(other.for_ranks.begin(), other.for_ranks.end(), rank) != other.for_ranks.end();
}

}  // namespace

std::string as_text(const Waiting& waiting) {
    std::ostringstream text;
    text << waiting.group << '\n' << waiting.number << ' ' << static_cast<int>(waiting.type);
    for (const std::uint64_t rank : waiting.for_ranks) text << ' ' << rank;
    text << '\n' << waiting.text;
    return text.str();
}

std::optional<Waiting> waiting_from(const std::string& text) {
    Waiting waiting;
    std::istringstream in(text);
    std::string numbers;
    if (!std::getline(in, waiting.group) || !std::getline(in, numbers)) return std::nullopt;
    std::getline(in, waiting.text);
    std::istringstream fields(numbers);
    int type = 0;
    if (!(fields >> waiting.number >> type)) return std::nullopt;
    waiting.type = static_cast<c10d::OpType>(type);
    for (std::uint64_t rank = 0; fields >> rank;) waiting.for_ranks.push_back(rank);
    return waiting;
}

std::vector<std::uint64_t> deadlocked(const std::map<std::uint64_t, Waiting>& waiting) {
    std::map<std::uint64_t, Waiting> stuck = waiting;
    const auto may_go_on = [&](std::uint64_t rank, const Waiting& each) {
        return std::none_of(each.for_ranks.begin(), each.for_ranks.end(),
                            [&](std::uint64_t needed) {
                                const auto other = stuck.find(needed);
                                return other != stuck.end() && !meet(each, rank, other->second);
                            });
    };
    const auto goes_on = [&](const auto& entry) { return may_go_on(entry.first, entry.second); };
    while (std::erase_if(stuck, goes_on) > 0) {
    }
    std::vector<std::uint64_t> ranks;
    for (const auto& [rank, where] : stuck) ranks.push_back(rank);
    return ranks;
}

Watchdog& Watchdog::instance() {
    static auto* watchdog = new Watchdog();  // its thread outlives statics
    return *watchdog;
}

void Watchdog::watch(const c10::intrusive_ptr<NcclWork>& work) {
    const std::lock_guard lock(mutex_);
    works_.emplace_back(work);
    if (!std::exchange(runs_, true)) std::thread([this] { run(); }).detach();
    changed_.notify_one();
}

void Watchdog::wait_for_all() {
    for (const auto& work : unfinished()) work->wait_for_end();
}

std::string Watchdog::deadlock_text() {
    const std::lock_guard lock(mutex_);
    return deadlock_;
}

void Watchdog::join_job(c10::intrusive_ptr<c10d::Store> store, std::uint64_t rank,
                        std::uint64_t ranks) {
    const std::lock_guard lock(mutex_);
    store_ = std::move(store);
    rank_ = rank;
    ranks_ = ranks;
    published_.reset();
    seen_.clear();
    deadlock_.clear();
    // A process that had this rank before may have left its place there.
    store_->set(key_of(rank_), std::vector<std::uint8_t>{'-'});
}

void Watchdog::run() {
    auto looked = std::chrono::steady_clock::now();
    while (true) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return !works_.empty() || published_; });
        }
        std::this_thread::sleep_for(kTick);
        const auto handed = std::make_shared<Works>(unfinished());
        const Works& works = *handed;
        check_timeouts(works);
        if (const auto now = std::chrono::steady_clock::now(); now - looked >= kBetween) {
            looked = now;
            try {
                check_deadlock(works);
            } catch (const std::exception&) {
                // The store's process has ended, and with it the job.
                const std::lock_guard lock(mutex_);
                store_.reset();
                published_.reset();
            }
        }
        if (!works.empty()) hand_over(handed);
    }
}

Watchdog::Works Watchdog::unfinished() {
    Works works;
    const std::lock_guard lock(mutex_);
    std::erase_if(works_, [&](const auto& weak) {
        auto work = weak.lock();
        if (!work || work->isCompleted()) return true;
        works.push_back(std::move(work));
        return false;
    });
    return works;
}

void Watchdog::check_timeouts(const Works& works) {
    for (const auto& work : works) {
        const milliseconds age = work->age();
        if (age < work->origin().timeout) continue;
        const std::string text = work->timeout_text(age);
        const std::string where =
            "It is " + described(work->call()) + " " + place(work->call()) + "." + where_all_wait();
        std::fprintf(stderr, "%s%s\n%s\n", heading(work->origin().rank).c_str(), text.c_str(),
                     where.c_str());
        if (!work->origin().blocking) take_down(*work, text);
        work->time_out(text + " " + where);
    }
}

// ProcessGroupNCCL's watchdog ends its thread with the exception, which ends the process.
void Watchdog::take_down(const NcclWork& work, const std::string& text) {
    const std::string head = heading(work.origin().rank);
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

void Watchdog::check_deadlock(const Works& works) {
    if (!store_) return;
    // Each thread of the program waits for one call at most. The other ranks learn of the oldest.
    const NcclWork* oldest = nullptr;
    for (const auto& work : works)
        if (work->waited().value_or(milliseconds(0)) >= kLong &&
            (!oldest || *work->waited() > oldest->waited().value_or(milliseconds(0))))
            oldest = work.get();
    publish(oldest ? std::optional<Waiting>(waiting_of(*oldest)) : std::nullopt);
    if (!oldest) return seen_.clear();

    std::map<std::uint64_t, Waiting> all = others();
    all[rank_] = *published_;
    // Twice the same: nobody moved meanwhile.
    if (std::exchange(seen_, all) != all) return;
    const std::vector<std::uint64_t> stuck = deadlocked(all);
    if (std::find(stuck.begin(), stuck.end(), rank_) == stuck.end()) return;
    std::string text = "Deadlock: these ranks wait for each other, and none can go on.";
    for (const std::uint64_t rank : stuck)
        text += "\n  rank " + std::to_string(rank) + " waits in " + all[rank].text;
    text += "\nWith NCCL this hangs until the time-out.";
    std::fprintf(stderr, "%s%s\n", heading(static_cast<int>(rank_)).c_str(), text.c_str());
    {
        const std::lock_guard lock(mutex_);
        deadlock_ = text;
    }
    // The others find it within two looks. A rank that ended first would look like the cause.
    std::this_thread::sleep_for(2 * kBetween + kTick);
    for (const auto& work : works)
        if (work.get() == oldest) work->fail(backend_error(text));
}

void Watchdog::publish(const std::optional<Waiting>& waiting) {
    if (waiting == published_) return;
    const std::string text = waiting ? as_text(*waiting) : std::string("-");
    store_->set(key_of(rank_), std::vector<std::uint8_t>(text.begin(), text.end()));
    published_ = waiting;
}

std::map<std::uint64_t, Waiting> Watchdog::others() {
    std::map<std::uint64_t, Waiting> all;
    for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
        if (rank == rank_ || !store_->check({key_of(rank)})) continue;
        const std::vector<std::uint8_t> bytes = store_->get(key_of(rank));
        if (auto waiting = waiting_from(std::string(bytes.begin(), bytes.end())))
            all[rank] = std::move(*waiting);
    }
    return all;
}

// What a time-out says of the others.
std::string Watchdog::where_all_wait() {
    if (!store_ || ranks_ < 2) return {};
    std::string text;
    try {
        const auto all = others();
        for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
            if (rank == rank_) continue;
            const auto waiting = all.find(rank);
            text += "\n  rank " + std::to_string(rank) +
                    (waiting == all.end() ? " waits in no collective"
                                          : " waits in " + waiting->second.text);
        }
    } catch (const std::exception&) {
        return "\n  the other ranks cannot be asked: the job's store has ended";
    }
    return text;
}

}  // namespace compat::shim::simulate
