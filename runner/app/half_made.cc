#include "runner/app/half_made.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>

#include "runner/app/output.h"
#include "runner/base/exit_code.h"

namespace compat::app {

namespace {

sigset_t ending_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    struct sigaction hangup {};
    ::sigaction(SIGHUP, nullptr, &hangup);
    if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
    return set;
}

}  // namespace

HalfMade::HalfMade(std::filesystem::path path, std::string kept)
    : path_(std::move(path)), said_of_kept_(std::move(kept)), held_(deciding_, std::defer_lock) {
    const sigset_t set = ending_signals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    watcher_ = std::thread([this] { watch(); });
}

HalfMade::~HalfMade() {
    if (!held_.owns_lock()) held_.lock();
    over_ = true;
    if (!kept_) remove();
    held_.unlock();
    ::pthread_kill(watcher_.native_handle(), SIGTERM);  // it waits for nothing else
    watcher_.join();
    const sigset_t set = ending_signals();
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void HalfMade::hold() { held_.lock(); }

void HalfMade::keep() {
    kept_ = true;
    held_.unlock();
}

void HalfMade::watch() {
    const sigset_t set = ending_signals();
    int signal = 0;
    ::sigwait(&set, &signal);
    const std::lock_guard lock(deciding_);
    if (over_) return;
    if (!kept_) remove();
    print(stderr, "runner: interrupted: {}\n",
          kept_ ? said_of_kept_ : std::string("nothing was stored"));
    ::_exit(static_cast<int>(ExitCode::interrupted));
}

// Where another thread is still at work in a folder, one time may not be enough.
void HalfMade::remove() const {
    std::error_code error;
    for (int i = 0; i < 100; ++i) {
        std::filesystem::remove_all(path_, error);
        if (!error && !std::filesystem::exists(path_, error)) return;
    }
}

}  // namespace compat::app
