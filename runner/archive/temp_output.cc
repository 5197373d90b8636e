#include "runner/archive/temp_output.h"

#include <pthread.h>
#include <unistd.h>

#include "runner/base/exit_code.h"
#include "runner/base/process/termination.h"

namespace compat::archive {

namespace {

// From us to the watcher; from elsewhere it ends us all the same. Not SIGUSR1, which the runner
// ignores: some systems drop an ignored signal even while it is blocked.
constexpr int kOver = SIGUSR2;

// Ignored signals stay ignored: `trap '' INT`, `nohup` and `&` ask for that.
sigset_t ending_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, kOver);
    for (const int signal : kTerminationSignals)
        if (!is_ignored(signal)) sigaddset(&set, signal);
    return set;
}

}  // namespace

TempOutput::TempOutput(fs::path path, std::function<void(bool kept)> on_interrupt)
    : signals_(ending_signals()),
      paths_{std::move(path)},
      on_interrupt_(std::move(on_interrupt)),
      held_(deciding_, std::defer_lock) {
    before_ = ::signal(kOver, SIG_DFL);  // sigwait gets no signal that is ignored
    ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    watcher_ = std::thread([this] { watch(); });
}

TempOutput::~TempOutput() {
    if (!held_.owns_lock()) held_.lock();
    over_ = true;
    remove();
    held_.unlock();
    ::pthread_kill(watcher_.native_handle(), kOver);
    watcher_.join();
    ::signal(kOver, before_);
    ::pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

void TempOutput::add(fs::path path) {
    const std::lock_guard lock(deciding_);
    paths_.push_back(std::move(path));
}

void TempOutput::hold() { held_.lock(); }

void TempOutput::keep(const fs::path& path) {
    kept_ = true;
    std::erase(paths_, path);
    held_.unlock();
}

void TempOutput::watch() {
    int signal = 0;
    ::sigwait(&signals_, &signal);
    const std::lock_guard lock(deciding_);
    if (over_) return;
    remove();
    on_interrupt_(kept_);
    ::_exit(static_cast<int>(ExitCode::interrupted));
}

// Repeated, because another thread may still write to the folder.
void TempOutput::remove() const {
    for (const auto& path : paths_) {
        bool there = true;
        for (int i = 0; i < 100 && there; ++i) {
            std::error_code error;
            fs::remove_all(path, error);
            there = error || fs::exists(path, error);
        }
    }
}

}  // namespace compat::archive
