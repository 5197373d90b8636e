#include "runner/exec/child_process.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>

#include "runner/base/host.h"

namespace compat::exec {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {
// Bytes of a log below which the next ones are left to gather, and for how long. A pipe holds
// 64 KiB.
constexpr size_t kShortPiece = 16 << 10;
constexpr Milliseconds kGathering{5};

// A leaked process that SIGKILL has not ended after this time is reported as alive.
constexpr Milliseconds kSweep{5000};
// The same for an abandoned child.
constexpr Milliseconds kAbandoned{1000};
// The longest time that one sweep may block the event loop.
constexpr Milliseconds kSweepSlice{50};
// Processes of Python and torch, by a word of their command lines, that end after the last one that
// uses them and then clean up: killed at once they leave shared memory behind. After this time they
// are leaked as others are.
constexpr std::array<std::string_view, 3> kHelpers{"resource_tracker", "multiprocessing.forkserver",
                                                   "torch_shm_manager"};
constexpr Milliseconds kHelpersTime{4000};  // torch_shm_manager looks every 2 s

bool is_helper(const std::vector<std::string>& argv) {
    const auto names = [&](std::string_view word) {
        return std::ranges::any_of(argv, [&](const auto& each) { return each.find(word) != each.npos; });
    };
    return std::ranges::any_of(kHelpers, names);
}

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// The cost of the child and of those of its children for which it waited (wait4(2)).
AttemptCost cost_of(const rusage& used) {
    const UsageBytes bytes = bytes_of(used);
    AttemptCost cost;
    cost.user_s = seconds(used.ru_utime);
    cost.system_s = seconds(used.ru_stime);
    cost.max_rss_bytes = bytes.max_rss;
    cost.read_bytes = bytes.read;
    cost.written_bytes = bytes.written;
    return cost;
}

SteadyTime now() { return std::chrono::steady_clock::now(); }

}  // namespace

ChildProcess::ChildProcess(asio::io_context& io, Processes& processes, const Job& job, bool forked,
                           std::function<void(ChildResult)> on_end)
    : processes_(processes),
      job_id_(job.id),
      helper_(job.helper),
      forked_(forked),
      log_(job.log, job.log_bytes),
      output_(io),
      read_timer_(io),
      retry_timer_(io),
      on_end_(std::move(on_end)) {}

void ChildProcess::watch(int pid, Fd output, std::unique_ptr<ExitWatch> exit,
                         std::unique_ptr<SandboxInit> init) {
    pid_ = pid;
    init_ = std::move(init);
    oom_kills_before_ = processes_.table().memory_kills();
    if (helper_)
        processes_.add_helper(pid);
    else
        processes_.add(pid, job_id_, init_ ? init_->pid() : 0);
    output_.assign(output.release());
    output_.native_non_blocking(true);
    exit_ = std::move(exit);
    read();
    exit_->start([self = shared_from_this()] { self->on_exit(); });
}

ChildState ChildProcess::state() const {
    return {exited_, processes_.rss_bytes(pid_), log_.error(), forked_};
}

void ChildProcess::signal_leader(int signal) {
    if (pid_ > 0) ::kill(pid_, signal);
}

void ChildProcess::signal_group(int signal) {
    if (pid_ <= 0) return;
    ::kill(-pid_, signal);
    if (signal == SIGTERM) ::kill(-pid_, SIGCONT);  // a stopped process handles no SIGTERM
}

// Reads one piece per turn of the loop, so that a flood does not starve other jobs. Asio only
// waits: bytes that it read itself would be lost if the exit handler ran before the read handler.
// After a short piece it lets the next ones gather, so that a log costs no wake-up a line.
void ChildProcess::read() {
    when_readable(output_, [self = shared_from_this()] {
        const size_t length = self->read_piece(self->buffer_.size());
        if (length == 0) return;
        if (length >= kShortPiece) return self->read();
        self->read_timer_.expires_after(kGathering);
        self->read_timer_.async_wait([self](const error_code& error) {
            if (!error) self->read();
        });
    });
}

// Does not block. 0: no data, or end of file.
size_t ChildProcess::read_piece(size_t most) {
    ssize_t n = 0;
    do {
        n = ::read(output_.native_handle(), buffer_.data(), std::min(most, buffer_.size()));
    } while (n < 0 && errno == EINTR);
    if (n <= 0) return 0;
    log_.append({buffer_.data(), static_cast<size_t>(n)});
    return static_cast<size_t>(n);
}

void ChildProcess::stop_reading() {
    read_timer_.cancel();
    error_code ignored;
    output_.close(ignored);
}

// Reads what the pipe holds now, which includes all output of the ended processes. Not up to the
// end of file: a process may keep the pipe open for ever or write faster than we read.
void ChildProcess::drain() {
    int left = 0;
    ::ioctl(output_.native_handle(), FIONREAD, &left);
    while (left > 0) {
        const size_t n = read_piece(static_cast<size_t>(left));
        if (n == 0) break;
        left -= static_cast<int>(n);
    }
    stop_reading();
}

// The leader stays a zombie, so its pid is not reused, until no process of the job is left.
void ChildProcess::on_exit() {
    exited_ = true;
    sweep_deadline_ = now() + kSweep;
    helpers_deadline_ = now() + kHelpersTime;
    sweep();
}

void ChildProcess::sweep() {
    if (pid_ <= 0) return;
    if (processes_.has_orphans(pid_) && !kill_leaked()) {
        if (now() < sweep_deadline_) {
            retry_timer_.expires_after(retry_delay_);
            retry_delay_ = std::min(retry_delay_ * 2, Milliseconds(100));
            retry_timer_.async_wait([self = shared_from_this()](const error_code& error) {
                if (!error) self->sweep();
            });
            return;
        }
        for (const auto& process : processes_.descendants_of(pid_))
            note_leak(process.pid, process.stat);
    }
    ChildResult ended;
    wait_for_status(ended);
    report_exit(std::move(ended));
}

// True: no process is left. Scans again at once after finding new processes, which may have started
// more.
bool ChildProcess::kill_leaked() {
    const SteadyTime until = now() + kSweepSlice;
    while (true) {
        const bool ended = processes_.scan();
        const auto left = processes_.descendants_of(pid_);
        if (left.empty() && !ended) return true;
        // A process that dies with the leader, of the same signal or of its exit, is no leak.
        const auto dies = [&](const auto& process) {
            return processes_.table().is_dying(process.pid);
        };
        const auto helps = [&](const auto& process) {
            return is_helper(processes_.table().argv(process.pid, process.stat));
        };
        if (now() < helpers_deadline_ && std::ranges::any_of(left, helps) &&
            std::ranges::all_of(left, [&](const auto& each) { return helps(each) || dies(each); }))
            return false;
        const size_t known = leaked_.size();
        for (const auto& process : left)
            if (!dies(process)) note_leak(process.pid, process.stat);
        // Kills the whole group at once, however fast it forks.
        ::kill(-pid_, SIGKILL);
        for (const auto& process : left)
            processes_.table().signal(process.pid, process.stat.start, SIGKILL);
        if ((leaked_.size() == known && !ended) || now() > until) return false;
    }
}

void ChildProcess::note_leak(int pid, const ProcessInfo& info) {
    auto& process = leaked_[{pid, info.start}];
    if (process.pid == 0) process = {pid, processes_.table().argv(pid, info), true, {}};
}

void ChildProcess::wait_in_sandbox(ChildResult& ended) {
    // Its init first lists TMPDIR, which takes a second for as many files as the sandbox's limit
    // allows.
    constexpr Milliseconds kAnswer{30'000};
    auto end = init_->wait(kAnswer);
    if (!end) {
        ended.end = ProcessEnd::spawn_failed("exit status unknown: its sandbox has ended");
        return;
    }
    ended.cost = cost_of(end->used);
    ended.end = WIFSIGNALED(end->status) ? ProcessEnd::signaled(WTERMSIG(end->status))
                                         : ProcessEnd::exited(WEXITSTATUS(end->status));
    ended.left = std::move(end->left);
}

void ChildProcess::wait_for_status(ChildResult& ended) {
    if (init_) return wait_in_sandbox(ended);
    int status = 0;
    rusage used{};
    pid_t got = -1;
    do {
        got = ::wait4(pid_, &status, 0, &used);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        const std::string why = std::strerror(errno);
        ended.end = ProcessEnd::spawn_failed(fmt::format("exit status unknown: {}", why));
        ended.infrastructure_error = Error{
            ErrorKind::spawn, fmt::format("cannot wait for a child process: {}", why), {}, {}};
        return;
    }
    ended.cost = cost_of(used);
    ended.end = WIFSIGNALED(status) ? ProcessEnd::signaled(WTERMSIG(status))
                                    : ProcessEnd::exited(WEXITSTATUS(status));
}

void ChildProcess::give_up() {
    if (pid_ <= 0) return;
    processes_.scan();
    if (const auto stat = processes_.table().find(pid_)) note_leak(pid_, *stat);
    for (const auto& process : processes_.descendants_of(pid_))
        note_leak(process.pid, process.stat);
    ChildResult ended;
    ended.end = ProcessEnd::signaled(SIGKILL);
    report_exit(std::move(ended));
}

void ChildProcess::report_exit(ChildResult ended) {
    ended.cost.peak_rss_bytes = std::max(
        ended.cost.max_rss_bytes, static_cast<std::int64_t>(processes_.peak_rss_bytes(pid_)));
    if (ended.end.kind == ProcessEnd::Kind::signaled && ended.end.code == SIGKILL)
        ended.end = ProcessEnd::signaled(
            SIGKILL, memory_evidence(processes_.table(), oom_kills_before_,
                                     static_cast<std::uint64_t>(ended.cost.peak_rss_bytes)));
    for (auto& [key, process] : leaked_) {
        const auto stat = processes_.table().find(process.pid);
        process.killed = !stat || stat->start != key.second || stat->ended;
        if (!process.killed) process.state = state_name(stat->state);
        ended.leaked.push_back(std::move(process));
    }
    leaked_.clear();
    forget();
    drain();
    ended.cost.dropped_log_bytes = static_cast<std::int64_t>(log_.finish());
    ended.forked = forked_;
    if (log_.error()) ended.infrastructure_error = log_.error();
    pid_ = 0;
    exit_.reset();
    retry_timer_.cancel();
    if (auto on_end = std::exchange(on_end_, nullptr)) on_end(std::move(ended));
}

// With its sandbox, if it has one.
void ChildProcess::forget() {
    processes_.remove(pid_);
    processes_.remove_helper(pid_);
    if (!init_) return;
    const int outer = init_->outer();
    init_.reset();
    processes_.remove_helper(outer);
}

void ChildProcess::abandon() {
    if (pid_ <= 0) return;
    on_end_ = nullptr;
    ::kill(-pid_, SIGKILL);
    // Nothing else waits for it: its zombie would stay as long as the runner lives.
    const SteadyTime until = now() + kAbandoned;
    while (!init_ && ::waitpid(pid_, nullptr, WNOHANG) == 0 && now() < until)
        std::this_thread::sleep_for(Milliseconds(1));
    forget();
    pid_ = 0;
    exit_.reset();
    stop_reading();
    retry_timer_.cancel();
}

}  // namespace compat::exec
