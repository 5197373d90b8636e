#include "runner/exec/loop.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <ctime>
#include <utility>

#include "runner/exec/launcher_posix.h"
#include "runner/exec/progress.h"
#include "runner/exec/signals.h"

namespace compat::exec {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr Milliseconds kTick{500};  // for people who watch
// Events files are polled more often for short test timeouts, which count from the poll that sees
// the start.
constexpr Milliseconds kFastestPoll{20};
constexpr int kPollsPerTimeout = 20;
// Scans of processes use at most 1/50 of one core, however many processes the machine has.
constexpr int kScanShare = 50;

// This thread's time: wall time would measure the load of the machine.
std::chrono::nanoseconds cpu_time() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

class Loop {
  public:
    Loop(Settings settings, const Clock& clock, EventHandler watcher)
        : handler_(std::move(watcher)),
          clock_(clock),
          spawner_(io_),
          launcher_(io_, spawner_, [this](std::string why) { on_event(Note{std::move(why)}); }),
          executor_(launcher_, clock, settings, [this](const RunEvent& event) { on_event(event); }),
          signals_(io_, handlers()),
          deadline_(io_),
          poll_(io_) {}

    void run(std::vector<Job> jobs, std::optional<Zygote> zygote) {
        executor_.begin(std::move(jobs), zygote.has_value());
        if (zygote) launcher_.warm_up(std::move(*zygote), [this] { executor_.release(); });
        await_poll();
        await_deadline();
        while (!executor_.done()) {
            io_.run_one();
            await_deadline();
        }
        spawner_.scan();  // reaps the last orphans
        poll_.cancel();
        deadline_.cancel();
        // The caller still has to store and report the results.
        signals_.hand_over(io_);
    }

  private:
    void on_event(const RunEvent& event) {
        if (const auto* started = std::get_if<JobStarted>(&event)) {
            const Job& job = executor_.job(started->job);
            readers_.emplace(started->job, ProgressReader(job.events, {}, job.key));
        } else if (const auto* finished = std::get_if<JobFinished>(&event)) {
            readers_.erase(finished->job);
        }
        Reply reply = handler_(event);
        if (!reply.next.empty()) executor_.add(std::move(reply.next));
        // Once: a second stop would kill.
        if (!reply.stop.empty() && !std::exchange(stop_requested_, true))
            executor_.stop(std::move(reply.stop));
    }

    SignalHandlers handlers() {
        return {[this](std::string reason) { executor_.stop(std::move(reason)); },
                [this] { on_event(StatusRequested{}); }, [this] { on_event(Tick{}); },
                [this] {
                    executor_.pause();
                    on_event(Paused{});
                },
                [this] {
                    executor_.resume();
                    on_event(Resumed{});
                }};
    }

    void poll_progress() {
        std::vector<JobProgress> changed;
        behind_ = false;
        for (auto& [job, reader] : readers_) {
            const bool has_changed = reader.poll();
            behind_ |= reader.progress().behind;
            if (has_changed) changed.push_back({job, reader.progress(), reader.take_ends()});
        }
        for (auto& now : changed) executor_.report(now.job, now.progress, std::move(now.ends));
    }

    void tick() {
        const SteadyTime now = clock_.steady();
        if (now < next_tick_) return;
        next_tick_ = now + kTick;
        if (now >= next_scan_) {
            const auto before = cpu_time();
            spawner_.scan();
            const auto cost = cpu_time() - before;
            next_scan_ = now + std::max<SteadyTime::duration>(kTick, cost * kScanShare);
        }
        executor_.tick();
        on_event(Tick{});
    }

    void await_poll() {
        const auto test = executor_.shortest_test_timeout();
        const Milliseconds usual =
            test ? std::clamp(*test / kPollsPerTimeout, kFastestPoll, kTick) : kTick;
        poll_.expires_after(behind_ ? kFastestPoll : usual);
        poll_.async_wait([this](const error_code& error) {
            if (error) return;
            poll_progress();
            tick();
            await_poll();
        });
    }

    void await_deadline() {
        const auto next = executor_.next_deadline();
        if (next == armed_) return;
        armed_ = next;
        deadline_.cancel();
        if (!next) return;
        deadline_.expires_at(*next);
        deadline_.async_wait([this](const error_code& error) {
            if (error) return;
            armed_.reset();
            poll_progress();
            executor_.tick();
        });
    }

    asio::io_context io_;
    EventHandler handler_;
    const Clock& clock_;
    PosixLauncher spawner_;
    ZygoteLauncher launcher_;
    Executor executor_;
    std::map<size_t, ProgressReader> readers_;
    Signals signals_;
    asio::steady_timer deadline_;
    asio::steady_timer poll_;
    std::optional<SteadyTime> armed_;
    bool stop_requested_ = false;
    bool behind_ = false;  // an events file has unread events
    SteadyTime next_tick_{}, next_scan_{};
};

}  // namespace

void run_jobs(std::vector<Job> jobs, Settings settings, const Clock& clock, EventHandler watcher,
              std::optional<Zygote> zygote) {
    Loop loop(settings, clock, std::move(watcher));
    loop.run(std::move(jobs), std::move(zygote));
}

}  // namespace compat::exec
