#include "runner/exec/launcher_posix.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

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
#include <csignal>
#include <cstring>

#include "runner/base/host.h"
#include "runner/exec/child_process.h"
#include "runner/exec/exit_watch.h"
#include "runner/exec/signals.h"

namespace compat::exec {

namespace bp = boost::process;

namespace {

class PosixChild final : public Child {
  public:
    explicit PosixChild(std::shared_ptr<ChildProcess> process) : process_(std::move(process)) {}
    ~PosixChild() override { process_->abandon(); }
    [[nodiscard]] int pid() const override { return process_->pid(); }
    [[nodiscard]] ChildState state() const override { return process_->state(); }
    [[nodiscard]] std::uint64_t memory_bytes() const override { return process_->memory_bytes(); }
    void signal_leader(int signal) override { process_->signal_leader(signal); }
    void signal_group(int signal) override { process_->signal_group(signal); }
    void let_go() override {
        const auto kept = process_;  // whoever hears of the end lets go of us
        kept->let_go();
    }

  private:
    std::shared_ptr<ChildProcess> process_;
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
void set_up_child(int runner, std::string_view run) {
    ::setsid();
    process_table().mark_leader(::getpid(), run);
    end_with_parent(SIGKILL);
    if (::getppid() != runner) ::raise(SIGKILL);  // it died before we asked to die with it
    // What the runner itself was started with open (a job server, a terminal) is not for suites.
    close_from_on_exec(kPassed);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    restore_ignored_signals();
}

}  // namespace

Expected<int> spawn(const Job& job, int output, int passed) {
    const auto cannot = [&](const std::string& why) {
        return fail(ErrorKind::spawn, fmt::format("cannot start {}: {}", job.argv.front(), why));
    };
    const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null.valid()) return cannot(std::strerror(errno));
    std::error_code error;
    // Boost.Process would start it elsewhere.
    if (!std::filesystem::is_directory(job.cwd, error))
        return cannot("there is no folder " + job.cwd.string());
    bp::child child(
        bp::exe = job.argv.front(),
        bp::args = std::vector<std::string>(job.argv.begin() + 1, job.argv.end()),
        bp::start_dir = job.cwd.string(), environment_of(job), bp::posix::fd.bind(0, null.get()),
        bp::posix::fd.bind(1, output), bp::posix::fd.bind(2, output),
        bp::extend::on_exec_setup =
            [runner = ::getpid(), run = run_of(job.id), passed](auto&) {
                set_up_child(runner, run);
                if (passed < 0) return;
                if (passed == kPassed)
                    ::fcntl(kPassed, F_SETFD, 0);
                else
                    ::dup2(passed, kPassed);
            },
        error);
    const int pid = child.id();
    if (error == std::errc::resource_unavailable_try_again || error == std::errc::not_enough_memory)
        return 0;
    // Out of descriptors, Boost.Process fails without saying so.
    if (error || !child.valid() || pid <= 0)
        return cannot(error ? error.message() : std::strerror(EMFILE));
    child.detach();
    return pid;
}

Expected<std::unique_ptr<Child>> PosixLauncher::start(const Job& job,
                                                      std::function<void(Ended)> on_end) {
    return start_by([&](int output) { return spawn(job, output); }, job, false, std::move(on_end));
}

Expected<std::unique_ptr<Child>> PosixLauncher::start_by(const Make& make, const Job& job,
                                                         bool forked,
                                                         std::function<void(Ended)> on_end) {
    const auto cannot = [&](const std::string& why) {
        return fail(ErrorKind::spawn, fmt::format("cannot start {}: {}", job.argv.front(), why));
    };
    auto process = std::make_shared<ChildProcess>(io_, processes_, job, forked, std::move(on_end));
    if (process->trouble()) return tl::unexpected(*process->trouble());

    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return cannot(std::strerror(errno));
    Fd read_end(ends[0]), write_end(ends[1]);
    const auto pid = make(write_end.get());
    if (!pid) return tl::unexpected(pid.error());
    if (*pid == 0) return nullptr;
    processes_.table().mark_leader(*pid, run_of(job.id));  // one that was forked has the zygote's

    auto exit = watch_exit(io_, *pid);
    if (!exit) {
        ::kill(-*pid, SIGKILL);
        ::waitpid(*pid, nullptr, 0);
        return cannot(exit.error().message);
    }
    process->watch(*pid, std::move(read_end), std::move(*exit));
    return std::make_unique<PosixChild>(std::move(process));
}

}  // namespace compat::exec
