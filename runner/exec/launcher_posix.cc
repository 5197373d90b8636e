#include "runner/exec/launcher_posix.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/env.hpp>
#include <boost/process/environment.hpp>
#include <boost/process/error.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/posix.hpp>
#include <boost/process/start_dir.hpp>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

#include "runner/base/files.h"
#include "runner/exec/log_writer.h"
#include "runner/exec/proc_stat.h"

namespace compat::exec {

namespace asio = boost::asio;
namespace bp = boost::process;
namespace fs = std::filesystem;

namespace {

struct Fd {
    int value = -1;
    Fd() = default;
    explicit Fd(int fd) : value(fd) {}
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    ~Fd() {
        if (value >= 0) ::close(value);
    }
    int release() { return std::exchange(value, -1); }
};

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Shared with the handlers that are still queued on the event loop: it lives until the last of them
// ran.
class Process : public std::enable_shared_from_this<Process> {
  public:
    Process(asio::io_context& io, const Job& job, std::function<void(Ended)> on_end)
        : log_(job.log, job.log_bytes), output_(io), exit_(io), on_end_(std::move(on_end)) {}

    void watch(int pid, int output_fd, int pid_fd) {
        pid_ = pid;
        output_.assign(output_fd);
        exit_.assign(pid_fd);
        read();
        exit_.async_wait(asio::posix::descriptor_base::wait_read,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                             if (!error) self->gone();
                         });
    }

    // Nobody wants to hear of it any more.
    void abandon() {
        if (pid_ <= 0) return;
        on_end_ = nullptr;
        ::kill(-pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
        boost::system::error_code ignored;
        exit_.close(ignored);
        output_.close(ignored);
    }

    [[nodiscard]] int pid() const { return pid_; }
    [[nodiscard]] const LogWriter& log() const { return log_; }

  private:
    void read() {
        output_.async_read_some(
            asio::buffer(buffer_),
            [self = shared_from_this()](const boost::system::error_code& error, size_t n) {
                if (n > 0) self->log_.append({self->buffer_.data(), n});
                if (!error) self->read();
            });
    }

    // What is in the pipe now. Not until its end: a grandchild may hold it open for ever.
    void drain() {
        boost::system::error_code error;
        output_.cancel(error);
        output_.non_blocking(true, error);
        while (true) {
            const size_t n = output_.read_some(asio::buffer(buffer_), error);
            if (error || n == 0) break;
            log_.append({buffer_.data(), n});
        }
        output_.close(error);
    }

    void gone() {
        int status = 0;
        rusage usage{};
        pid_t got = -1;
        do {
            got = ::wait4(pid_, &status, 0, &usage);
        } while (got < 0 && errno == EINTR);
        const int lost = got < 0 ? errno : 0;
        Ended ended;
        // While anything of the session lives its number is not given to another.
        for (int round = 0; round < 3; ++round) {
            const auto left = processes_of_session(pid_);
            for (const auto& process : left) {
                ::kill(process.pid, SIGKILL);
                if (round == 0) ended.leaked.push_back(process);
            }
            if (left.empty()) break;
        }
        drain();
        if (lost)
            ended.outcome =
                SpawnFailed{fmt::format("how it ended was lost: {}", std::strerror(lost))};
        else if (WIFSIGNALED(status))
            ended.outcome = Signaled{WTERMSIG(status)};
        else
            ended.outcome = Exited{WEXITSTATUS(status)};
        ended.usage = {seconds(usage.ru_utime), seconds(usage.ru_stime),
                       static_cast<std::uint64_t>(usage.ru_maxrss) * 1024};
        ended.dropped_log_bytes = log_.finish();
        ended.trouble = log_.trouble();
        if (lost && !ended.trouble)
            ended.trouble = Error{ErrorKind::spawn,
                                  fmt::format("cannot wait for a child: {}", std::strerror(lost)),
                                  {},
                                  {}};
        pid_ = 0;
        boost::system::error_code ignored;
        exit_.close(ignored);
        if (auto on_end = std::exchange(on_end_, nullptr)) on_end(std::move(ended));
    }

    int pid_ = 0;
    LogWriter log_;
    asio::posix::stream_descriptor output_;
    asio::posix::stream_descriptor exit_;
    std::function<void(Ended)> on_end_;
    std::array<char, 1 << 16> buffer_{};
};

class PosixChild final : public Child {
  public:
    explicit PosixChild(std::shared_ptr<Process> process) : process_(std::move(process)) {}
    ~PosixChild() override { process_->abandon(); }
    [[nodiscard]] int pid() const override { return process_->pid(); }
    void signal_leader(int signal) override {
        if (process_->pid() > 0) ::kill(process_->pid(), signal);
    }
    void signal_group(int signal) override {
        if (process_->pid() > 0) ::kill(-process_->pid(), signal);
    }

  private:
    std::shared_ptr<Process> process_;
};

bp::environment environment_of(const Job& job) {
    bp::environment env;
    if (job.common_env)
        for (const auto& [name, value] : *job.common_env) env[name] = value;
    for (const auto& [name, value] : job.env) env[name] = value;
    return env;
}

// Between fork and exec, in the child: a session of its own, death with the runner, signals as a
// fresh process has them (the runner's own loop blocks some).
void set_up_child() {
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // What the runner itself was started with open (a job server, a terminal) is not for suites.
    ::syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
}

}  // namespace

Expected<std::unique_ptr<Child>> PosixLauncher::start(const Job& job,
                                                      std::function<void(Ended)> on_end) {
    const auto cannot = [&](const std::string& why) {
        return fail(ErrorKind::spawn, fmt::format("cannot start {}: {}", job.argv.front(), why));
    };
    auto process = std::make_shared<Process>(io_, job, std::move(on_end));
    if (process->log().trouble()) return tl::unexpected(*process->log().trouble());

    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return cannot(std::strerror(errno));
    Fd read_end(ends[0]), write_end(ends[1]);
    const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (null.value < 0) return cannot(std::strerror(errno));

    std::error_code error;
    bp::child child(
        bp::exe = job.argv.front(),
        bp::args = std::vector<std::string>(job.argv.begin() + 1, job.argv.end()),
        bp::start_dir = job.cwd.string(), environment_of(job), bp::posix::fd.bind(0, null.value),
        bp::posix::fd.bind(1, write_end.value), bp::posix::fd.bind(2, write_end.value),
        bp::extend::on_exec_setup = [](auto&) { set_up_child(); }, error);
    const int pid = child.id();
    // Out of descriptors, Boost.Process fails without saying so.
    if (error || !child.valid() || pid <= 0)
        return cannot(error ? error.message() : std::strerror(EMFILE));
    child.detach();

    // pidfd_open has no wrapper in this C library.
    Fd pid_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (pid_fd.value < 0) {
        const int why = errno;
        ::kill(-pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        return cannot(fmt::format("pidfd_open: {}", std::strerror(why)));
    }
    ::fcntl(pid_fd.value, F_SETFD, FD_CLOEXEC);
    process->watch(pid, read_end.release(), pid_fd.release());
    return std::make_unique<PosixChild>(std::move(process));
}

std::vector<LeakedProcess> processes_of_session(int session) {
    std::vector<LeakedProcess> found;
    std::error_code ec;
    for (const auto& entry : fs::directory_iterator("/proc", ec)) {
        const std::string name = entry.path().filename();
        int pid = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc{} ||
            pid == session)
            continue;
        const auto stat = proc_stat(pid);
        if (!stat || stat->session != session || stat->state == 'Z') continue;
        LeakedProcess process{pid, {}};
        const std::string command = read_file(entry.path() / "cmdline").value_or("");
        for (size_t begin = 0; begin < command.size();) {
            const size_t end = std::min(command.find('\0', begin), command.size());
            process.argv.push_back(command.substr(begin, end - begin));
            begin = end + 1;
        }
        // Between fork and exec, and for a kernel's thread, there is no command line: as ps shows
        // it.
        if (process.argv.empty()) process.argv.push_back("[" + stat->name + "]");
        found.push_back(std::move(process));
    }
    return found;
}

}  // namespace compat::exec
