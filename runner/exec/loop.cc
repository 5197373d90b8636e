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

// Often enough for a person who watches, too seldom to cost anything.
constexpr Milliseconds kTick{500};
// Events files are read more often where a test may take less: its time counts from when its start
// is seen.
constexpr Milliseconds kFastestPoll{20};
constexpr int kPollsPerTest = 20;
// Of one core, at most this part goes into looking at processes, however many the machine has.
constexpr int kLookShare = 50;

// This thread's: on a busy machine it is not the looking that takes long.
std::chrono::nanoseconds cpu_time() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

class Loop {
  public:
    Loop(Settings settings, const Clock& clock, Watcher watcher)
        : watcher_(std::move(watcher)),
          clock_(clock),
          cold_(io_),
          launcher_(io_, cold_, [this](std::string why) { on_event(Note{std::move(why)}); }),
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
        cold_.look();  // waits for the orphans that have ended
    }

  private:
    void on_event(const RunEvent& event) {
        if (const auto* started = std::get_if<JobStarted>(&event)) {
            readers_.emplace(started->job, executor_.job(started->job).events);
        } else if (const auto* finished = std::get_if<JobFinished>(&event)) {
            readers_.erase(finished->job);
        }
        Reply reply = watcher_(event);
        if (!reply.next.empty()) executor_.add(std::move(reply.next));
        // Once, however often it is said: a second stop would kill.
        if (!reply.stop.empty() && !std::exchange(asked_to_stop_, true))
            executor_.stop(std::move(reply.stop));
    }

    SignalHandlers handlers() {
        return {[this](std::string reason) { executor_.stop(std::move(reason)); },
                [this] { on_event(StatusAsked{}); }, [this] { on_event(Tick{}); },
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
            const bool new_to_us = reader.poll();
            behind_ |= reader.progress().behind;
            if (new_to_us) changed.push_back({job, reader.progress(), reader.take_ends()});
        }
        for (auto& now : changed) executor_.report(now.job, now.progress, std::move(now.ends));
    }

    void tick() {
        const SteadyTime now = clock_.steady();
        if (now < next_tick_) return;
        next_tick_ = now + kTick;
        if (now >= next_look_) {
            const auto before = cpu_time();
            cold_.look();
            const auto cost = cpu_time() - before;
            next_look_ = now + std::max<SteadyTime::duration>(kTick, cost * kLookShare);
        }
        executor_.tick();
        on_event(Tick{});
    }

    void await_poll() {
        const auto test = executor_.shortest_test();
        const Milliseconds usual =
            test ? std::clamp(*test / kPollsPerTest, kFastestPoll, kTick) : kTick;
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
    Watcher watcher_;
    const Clock& clock_;
    PosixLauncher cold_;
    ZygoteLauncher launcher_;
    Executor executor_;
    std::map<size_t, ProgressReader> readers_;
    Signals signals_;
    asio::steady_timer deadline_;
    asio::steady_timer poll_;
    std::optional<SteadyTime> armed_;
    bool asked_to_stop_ = false;
    bool behind_ = false;  // an events file has more than was read at once
    SteadyTime next_tick_{}, next_look_{};
};

}  // namespace

void run_jobs(std::vector<Job> jobs, Settings settings, const Clock& clock, Watcher watcher,
              std::optional<Zygote> zygote) {
    Loop loop(settings, clock, std::move(watcher));
    loop.run(std::move(jobs), std::move(zygote));
    // Before the loop lets go of them: what there is has yet to be stored and reported.
    block_termination_signals();
}

}  // namespace compat::exec
