#include "runner/app/half_made.h"

#include <pthread.h>
#include <unistd.h>

#include "runner/app/output.h"
#include "runner/base/exit_code.h"

namespace compat::app {

namespace {

constexpr int kOver = SIGUSR1;  // from us to the watcher; from elsewhere it ends us all the same

// A script ignores for what it starts what is not meant for it: `trap '' INT`, `nohup`, `&`.
sigset_t ending_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, kOver);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction now {};
        ::sigaction(signal, nullptr, &now);
        if (now.sa_handler != SIG_IGN) sigaddset(&set, signal);
    }
    return set;
}

}  // namespace

HalfMade::HalfMade(std::filesystem::path path, std::string kept)
    : signals_(ending_signals()),
      path_(std::move(path)),
      said_of_kept_(std::move(kept)),
      held_(deciding_, std::defer_lock) {
    ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    watcher_ = std::thread([this] { watch(); });
}

HalfMade::~HalfMade() {
    if (!held_.owns_lock()) held_.lock();
    over_ = true;
    if (!kept_) remove();
    held_.unlock();
    ::pthread_kill(watcher_.native_handle(), kOver);
    watcher_.join();
    ::pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

void HalfMade::hold() { held_.lock(); }

void HalfMade::keep() {
    kept_ = true;
    held_.unlock();
}

void HalfMade::watch() {
    int signal = 0;
    ::sigwait(&signals_, &signal);
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
