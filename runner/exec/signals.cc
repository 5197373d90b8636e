#include "runner/exec/signals.h"

#include <csignal>

#include "runner/base/exit_code.h"
#include "runner/base/host.h"
#include "runner/base/process/termination.h"

namespace compat::exec {

namespace {

constexpr int kIgnored[] = {SIGPIPE, SIGXFSZ, SIGUSR1};

void mask(int how) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : kTerminationSignals) sigaddset(&set, signal);
    sigaddset(&set, SIGUSR1);
    ::pthread_sigmask(how, &set, nullptr);
}

}  // namespace

void ignore_stray_signals() {
    for (const int signal : kIgnored) ::signal(signal, SIG_IGN);
}

void restore_ignored_signals() {
    for (const int signal : kIgnored) ::signal(signal, SIG_DFL);
}

void block_termination_signals() { mask(SIG_BLOCK); }

Signals::Signals(boost::asio::io_context& io, SignalHandlers handlers)
    : handlers_(std::move(handlers)), set_(io, SIGINT, SIGTERM, SIGUSR1) {
    for (const int signal : kTerminationSignals)
        if (!is_ignored(signal)) set_.add(signal);
    if (!is_ignored(SIGTSTP)) set_.add(SIGTSTP);
    set_.add(SIGWINCH);
    mask(SIG_UNBLOCK);
    await();
}

void Signals::hand_over(boost::asio::io_context& io) {
    mask(SIG_BLOCK);
    handed_over_ = true;
    io.restart();
    io.poll();
}

void Signals::await() {
    set_.async_wait([this](const boost::system::error_code& error, int signal) {
        if (error) return;
        handle(signal);
        await();
    });
}

void Signals::handle(int signal) {
    switch (signal) {
        case SIGUSR1:
            return handlers_.status();
        case SIGWINCH:
            return handlers_.resized();
        case SIGTSTP:
            return suspend();
        default:
            if (handed_over_) {
                ::raise(signal);
                return;
            }
            return handlers_.stop("interrupted by " + signal_name(signal));
    }
}

// By the default action of SIGTSTP, which does not stop an orphaned process group.
void Signals::suspend() {
    handlers_.pause();
    set_.remove(SIGTSTP);
    ::raise(SIGTSTP);
    set_.add(SIGTSTP);
    handlers_.resume();
}

}  // namespace compat::exec
