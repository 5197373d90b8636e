// Exits come from kqueue(2). Asio cannot wait for a kqueue: it makes every descriptor non-blocking
// with ioctl(FIONBIO), which a kqueue refuses. So one thread of this process waits for all of them,
// and posts each to the loop that asked.
#include "runner/exec/exit_watch.h"

#include <fmt/format.h>
#include <sys/event.h>
#include <sys/wait.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

namespace compat::exec {

namespace asio = boost::asio;

namespace {

struct Watched {
    explicit Watched(asio::io_context& loop) : io(loop), work(loop.get_executor()) {}

    // From the thread or the loop; runs unless the watch has been destroyed by then.
    static void report(const std::shared_ptr<Watched>& watched) {
        asio::post(watched->io, [weak = std::weak_ptr(watched)] {
            const auto kept = weak.lock();  // `ended` may destroy the watch
            if (!kept) return;
            kept->work.reset();
            if (const auto ended = std::exchange(kept->ended, nullptr)) ended();
        });
    }

    asio::io_context& io;
    asio::executor_work_guard<asio::io_context::executor_type> work;  // until it has ended
    std::function<void()> ended;
};

class ExitThread {
  public:
    // 0, or the error of kqueue(2).
    [[nodiscard]] int error() const { return error_; }

    void add(int pid, const std::shared_ptr<Watched>& watched) {
        const std::lock_guard lock(mutex_);
        watched_[pid] = watched;
        struct kevent change {};
        EV_SET(&change, static_cast<uintptr_t>(pid), EVFILT_PROC, EV_ADD | EV_ONESHOT, NOTE_EXIT, 0,
               nullptr);
        // It may be a zombie already: ESRCH, or success and no event.
        if (::kevent(queue_, &change, 1, nullptr, 0, nullptr) != 0 || has_ended(pid)) take(pid);
    }

    // After it the thread uses neither the watch nor its loop.
    void remove(int pid, const Watched* watched) {
        const std::lock_guard lock(mutex_);
        const auto known = watched_.find(pid);
        if (known == watched_.end() || known->second.get() != watched) return;
        watched_.erase(known);
        struct kevent change {};
        EV_SET(&change, static_cast<uintptr_t>(pid), EVFILT_PROC, EV_DELETE, 0, 0, nullptr);
        ::kevent(queue_, &change, 1, nullptr, 0, nullptr);
    }

    // Never destroyed: its thread waits until the process ends.
    static ExitThread& of_this_process() {
        static auto* const thread = new ExitThread;
        return *thread;
    }

  private:
    static bool has_ended(int pid) {
        siginfo_t info{};
        return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               info.si_pid == pid;
    }

    ExitThread() : queue_(::kqueue()), error_(queue_ < 0 ? errno : 0) {
        if (error_ != 0) return;
        // Signals are for the main thread.
        sigset_t all, before;
        sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before);
        std::thread([this] { run(); }).detach();
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    void run() {
        while (true) {
            struct kevent event {};
            if (::kevent(queue_, nullptr, 0, &event, 1, nullptr) <= 0) continue;
            const std::lock_guard lock(mutex_);
            take(static_cast<int>(event.ident));
        }
    }

    void take(int pid) {
        const auto known = watched_.extract(pid);
        if (known) Watched::report(known.mapped());
    }

    int queue_;
    int error_;
    std::mutex mutex_;
    std::unordered_map<int, std::shared_ptr<Watched>> watched_;
};

class KqueueWatch final : public ExitWatch {
  public:
    KqueueWatch(asio::io_context& io, int pid)
        : pid_(pid), watched_(std::make_shared<Watched>(io)) {}
    ~KqueueWatch() override { ExitThread::of_this_process().remove(pid_, watched_.get()); }
    void start(std::function<void()> ended) override {
        watched_->ended = std::move(ended);
        ExitThread::of_this_process().add(pid_, watched_);
    }

  private:
    int pid_;
    std::shared_ptr<Watched> watched_;
};

}  // namespace

Expected<std::unique_ptr<ExitWatch>> watch_exit(asio::io_context& io, int pid) {
    if (const int error = ExitThread::of_this_process().error(); error != 0)
        return fail(ErrorKind::spawn, fmt::format("kqueue: {}", std::strerror(error)));
    return std::make_unique<KqueueWatch>(io, pid);
}

}  // namespace compat::exec
