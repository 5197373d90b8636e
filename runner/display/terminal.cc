#include "runner/display/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace compat::display {

namespace {

// Signals that would leave the terminal changed.
constexpr int kDeadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

termios original;  // for the handler: written before `taken` is set
volatile std::sig_atomic_t taken = 0;

void restore_and_die(int signal) {
    if (taken) ::tcsetattr(STDIN_FILENO, TCSANOW, &original);
    ::raise(signal);  // SA_RESETHAND restored the default action
}

void handle_deadly_signals() {
    struct sigaction action {};
    action.sa_handler = restore_and_die;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (const int signal : kDeadly) {
        struct sigaction before {};
        ::sigaction(signal, nullptr, &before);
        if (before.sa_handler == SIG_DFL) ::sigaction(signal, &action, nullptr);
    }
}

bool is_foreground(int fd) { return ::isatty(fd) && ::tcgetpgrp(fd) == ::getpgrp(); }

}  // namespace

TerminalSize terminal_size() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
        return {};
    return {size.ws_row, size.ws_col};
}

bool use_color(std::string_view setting) {
    return setting == "always" ||
           (setting == "auto" && ::isatty(STDOUT_FILENO) != 0 && !std::getenv("NO_COLOR"));
}

bool has_terminal() {
    // A terminal that controls no session (of a build service) has no foreground group.
    return !::isatty(STDOUT_FILENO) || ::tcgetpgrp(STDOUT_FILENO) < 0 ||
           is_foreground(STDOUT_FILENO);
}

void Keys::attend() {
    if (taken_ || !is_foreground(STDIN_FILENO) || ::tcgetattr(STDIN_FILENO, &original) != 0) return;
    termios single = original;
    single.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    single.c_cc[VMIN] = 0;
    single.c_cc[VTIME] = 0;
    handle_deadly_signals();
    taken_ = true;
    taken = 1;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &single);
}

void Keys::release() {
    if (!taken_) return;
    if (is_foreground(STDIN_FILENO)) ::tcsetattr(STDIN_FILENO, TCSANOW, &original);
    taken_ = false;
    taken = 0;
}

char Keys::next() {
    pollfd ready{STDIN_FILENO, POLLIN, 0};
    char key = 0;
    if (!taken_ || !is_foreground(STDIN_FILENO) || ::poll(&ready, 1, 0) != 1) return 0;
    return ::read(STDIN_FILENO, &key, 1) == 1 ? key : '\0';
}

}  // namespace compat::display
