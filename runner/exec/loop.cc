#include "runner/exec/loop.h"

#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>

#include "runner/exec/launcher_posix.h"
#include "runner/exec/progress.h"

namespace compat::exec {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Often enough for a person who watches, too seldom to cost anything.
constexpr Milliseconds kProgressInterval{500};

void mask_signals(int how) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
    ::pthread_sigmask(how, &set, nullptr);
}

class Loop {
  public:
    Loop(Settings settings, const Clock& clock, Watcher watcher)
        : watcher_(std::move(watcher)),
          launcher_(io_),
          executor_(launcher_, clock, settings, [this](const RunEvent& event) { on_event(event); }),
          signals_(io_, SIGINT, SIGTERM),
          deadline_(io_),
          progress_(io_) {}

    void run(std::vector<Job> jobs) {
        // Under nohup a lost terminal is no reason to stop.
        struct sigaction hangup {};
        ::sigaction(SIGHUP, nullptr, &hangup);
        if (hangup.sa_handler != SIG_IGN) signals_.add(SIGHUP);
        mask_signals(SIG_UNBLOCK);
        await_signal();
        await_progress();
        executor_.begin(std::move(jobs));
        await_deadline();
        while (!executor_.done()) {
            io_.run_one();
            await_deadline();
        }
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
        // Later: the executor is in the middle of telling us.
        if (!reply.stop.empty())
            asio::post(io_, [this, why = std::move(reply.stop)] { executor_.stop(why); });
    }

    void await_signal() {
        signals_.async_wait([this](const error_code& error, int signal) {
            if (error) return;
            executor_.stop("interrupted by " + signal_name(signal));
            await_signal();
        });
    }

    void poll_progress() {
        std::vector<std::pair<size_t, Progress>> changed;
        for (auto& [job, reader] : readers_)
            if (reader.poll()) changed.emplace_back(job, reader.progress());
        for (const auto& [job, progress] : changed) executor_.report(job, progress);
    }

    void await_progress() {
        progress_.expires_after(kProgressInterval);
        progress_.async_wait([this](const error_code& error) {
            if (error) return;
            poll_progress();
            on_event(Tick{});
            await_progress();
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
    PosixLauncher launcher_;
    Executor executor_;
    std::map<size_t, ProgressReader> readers_;
    asio::signal_set signals_;
    asio::steady_timer deadline_;
    asio::steady_timer progress_;
    std::optional<SteadyTime> armed_;
};

}  // namespace

void run_jobs(std::vector<Job> jobs, Settings settings, const Clock& clock, Watcher watcher) {
    Loop loop(settings, clock, std::move(watcher));
    loop.run(std::move(jobs));
    mask_signals(SIG_BLOCK);  // before the loop lets go of them
}

}  // namespace compat::exec
