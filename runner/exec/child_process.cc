#include "runner/exec/child_process.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

namespace compat::exec {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// How long what was left behind may take to die of SIGKILL before it is reported as still there.
constexpr Milliseconds kSweep{5000};
// How long one that nobody wants to hear of may take to die of it.
constexpr Milliseconds kAbandoned{1000};
// How long one look at it may keep the loop from everything else.
constexpr Milliseconds kSweepSlice{50};

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

Usage usage_of(const rusage& used) {
    constexpr std::uint64_t kBlock = 512;
    Usage usage;
    usage.user_s = seconds(used.ru_utime);
    usage.system_s = seconds(used.ru_stime);
    usage.max_rss_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
    usage.read_bytes = static_cast<std::uint64_t>(used.ru_inblock) * kBlock;
    usage.written_bytes = static_cast<std::uint64_t>(used.ru_oublock) * kBlock;
    return usage;
}

SteadyTime now() { return std::chrono::steady_clock::now(); }

}  // namespace

ChildProcess::ChildProcess(asio::io_context& io, Processes& processes, const Job& job, bool forked,
                           std::function<void(Ended)> on_end)
    : processes_(processes),
      job_id_(job.id),
      helper_(job.helper),
      forked_(forked),
      log_(job.log, job.log_bytes),
      output_(io),
      again_(io),
      on_end_(std::move(on_end)) {}

void ChildProcess::watch(int pid, Fd output, std::unique_ptr<ExitWatch> exit) {
    pid_ = pid;
    memory_kills_ = processes_.table().memory_kills();
    if (helper_)
        processes_.add_helper(pid);
    else
        processes_.add(pid, job_id_);
    output_.assign(output.release());
    output_.native_non_blocking(true);
    exit_ = std::move(exit);
    read();
    exit_->start([self = shared_from_this()] { self->gone(); });
}

ChildState ChildProcess::state() const {
    return {exited_, processes_.rss_bytes(pid_), log_.trouble(), forked_};
}

void ChildProcess::signal_leader(int signal) {
    if (pid_ > 0) ::kill(pid_, signal);
}

void ChildProcess::signal_group(int signal) {
    if (pid_ <= 0) return;
    ::kill(-pid_, signal);
    if (signal == SIGTERM) ::kill(-pid_, SIGCONT);  // one that is stopped would not hear it
}

// One piece a turn of the loop, so that a flood leaves the others their turns. Asio only says when:
// what it reads itself would be lost where the child's end overtakes its handler.
void ChildProcess::read() {
    when_readable(output_, [self = shared_from_this()] {
        if (self->read_piece(self->buffer_.size()) > 0) self->read();
    });
}

// Never waits. 0: there is nothing, or never will be.
size_t ChildProcess::read_piece(size_t most) {
    ssize_t n = 0;
    do {
        n = ::read(output_.native_handle(), buffer_.data(), std::min(most, buffer_.size()));
    } while (n < 0 && errno == EINTR);
    if (n <= 0) return 0;
    log_.append({buffer_.data(), static_cast<size_t>(n)});
    return static_cast<size_t>(n);
}

// What is in the pipe now: all that was written by those that have ended. Not until its end:
// somebody may hold it open for ever, or write faster than we read.
void ChildProcess::drain() {
    int left = 0;
    ::ioctl(output_.native_handle(), FIONREAD, &left);
    while (left > 0) {
        const size_t n = read_piece(static_cast<size_t>(left));
        if (n == 0) break;
        left -= static_cast<int>(n);
    }
    error_code ignored;
    output_.close(ignored);
}

// The leader stays a zombie, and its number its own, until nothing of it is left.
void ChildProcess::gone() {
    exited_ = true;
    sweep_until_ = now() + kSweep;
    sweep();
}

void ChildProcess::sweep() {
    if (pid_ <= 0) return;
    if (processes_.has_orphans(pid_) && !end_what_is_left()) {
        if (now() < sweep_until_) {
            again_.expires_after(pause_);
            pause_ = std::min(pause_ * 2, Milliseconds(100));
            again_.async_wait([self = shared_from_this()](const error_code& error) {
                if (!error) self->sweep();
            });
            return;
        }
        for (const auto& process : processes_.left_by(pid_)) name(process.pid, process.stat);
    }
    Ended ended;
    wait_for_status(ended);
    tell(std::move(ended));
}

// True where nothing is left. What is new since the last look may have started more: it is looked
// for at once.
bool ChildProcess::end_what_is_left() {
    const SteadyTime until = now() + kSweepSlice;
    while (true) {
        const bool ended = processes_.scan();
        const auto left = processes_.left_by(pid_);
        if (left.empty() && !ended) return true;
        const size_t known = left_.size();
        // What dies with the leader, of the same signal or of its end, was not left behind.
        for (const auto& process : left)
            if (!processes_.table().is_dying(process.pid)) name(process.pid, process.stat);
        // A group dies as a whole, however fast it forks.
        ::kill(-pid_, SIGKILL);
        for (const auto& process : left)
            processes_.table().signal(process.pid, process.stat.start, SIGKILL);
        if ((left_.size() == known && !ended) || now() > until) return false;
    }
}

void ChildProcess::name(int pid, const ProcessInfo& info) {
    auto& process = left_[{pid, info.start}];
    if (process.pid == 0) process = {pid, processes_.table().argv(pid, info), true, {}};
}

void ChildProcess::wait_for_status(Ended& ended) {
    int status = 0;
    rusage used{};
    pid_t got = -1;
    do {
        got = ::wait4(pid_, &status, 0, &used);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        const std::string why = std::strerror(errno);
        ended.end = ProcessEnd::spawn_failed(fmt::format("how it ended was lost: {}", why));
        ended.trouble =
            Error{ErrorKind::spawn, fmt::format("cannot wait for a child: {}", why), {}, {}};
        return;
    }
    ended.usage = usage_of(used);
    ended.end = WIFSIGNALED(status) ? ProcessEnd::signaled(WTERMSIG(status))
                                    : ProcessEnd::exited(WEXITSTATUS(status));
}

void ChildProcess::let_go() {
    if (pid_ <= 0) return;
    processes_.scan();
    if (const auto stat = processes_.table().find(pid_)) name(pid_, *stat);
    for (const auto& process : processes_.left_by(pid_)) name(process.pid, process.stat);
    Ended ended;
    ended.end = ProcessEnd::signaled(SIGKILL);
    tell(std::move(ended));
}

void ChildProcess::tell(Ended ended) {
    ended.usage.peak_rss_bytes =
        std::max(ended.usage.max_rss_bytes, processes_.peak_rss_bytes(pid_));
    if (ended.end.kind == ProcessEnd::Kind::signaled && ended.end.code == SIGKILL)
        ended.end = ProcessEnd::signaled(SIGKILL, memory_evidence(processes_.table(), memory_kills_,
                                                                  ended.usage.peak_rss_bytes));
    for (auto& [key, process] : left_) {
        const auto stat = processes_.table().find(process.pid);
        process.killed = !stat || stat->start != key.second || stat->ended;
        if (!process.killed) process.state = state_in_words(stat->state);
        ended.leaked.push_back(std::move(process));
    }
    left_.clear();
    processes_.remove(pid_);
    processes_.remove_helper(pid_);
    drain();
    ended.dropped_log_bytes = log_.finish();
    ended.forked = forked_;
    if (log_.trouble()) ended.trouble = log_.trouble();
    pid_ = 0;
    exit_.reset();
    again_.cancel();
    if (auto on_end = std::exchange(on_end_, nullptr)) on_end(std::move(ended));
}

void ChildProcess::abandon() {
    if (pid_ <= 0) return;
    on_end_ = nullptr;
    ::kill(-pid_, SIGKILL);
    // Nobody else waits for it: its zombie would stay for as long as we live.
    const SteadyTime until = now() + kAbandoned;
    while (::waitpid(pid_, nullptr, WNOHANG) == 0 && now() < until)
        std::this_thread::sleep_for(Milliseconds(1));
    processes_.remove(pid_);
    processes_.remove_helper(pid_);
    pid_ = 0;
    error_code ignored;
    exit_.reset();
    output_.close(ignored);
    again_.cancel();
}

}  // namespace compat::exec
