#include "runner/exec/launcher_posix.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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
#include "runner/exec/descriptors.h"
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
    void give_up() override {
        const auto kept = process_;  // on_end may destroy this object
        kept->give_up();
    }

  private:
    std::shared_ptr<ChildProcess> process_;
};

bp::environment environment_of(const Job& job) {
    bp::environment env;
    const std::string held(job.sandbox ? kHeldVariable : "");
    const auto add = [&](const Variables& variables) {
        for (const auto& [name, value] : variables) env[held + name] = value;
    };
    if (job.common_env) add(*job.common_env);
    add(job.env);
    return env;
}

// Runs in the child between fork and exec: a new session, SIGKILL when the runner dies, default
// signal handling (the runner's loop blocks some signals).
void set_up_child(int runner, std::string_view run) {
    ::setsid();
    process_table().tag_leader(::getpid(), run);
    end_with_parent(SIGKILL);
    if (::getppid() != runner) ::raise(SIGKILL);  // the runner died before end_with_parent
    // Descriptors that the runner inherited (a job server, a terminal) are not for suites.
    close_from_on_exec(kInheritedFd);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    restore_ignored_signals();
}

// The child's stdin: its key, else nothing. Not valid: errno says why.
Fd input_of(const Job& job) {
    if (job.key.empty()) return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    int ends[2];
    if (!open_pipe(ends)) return {};
    Fd input(ends[0]);
    const Fd write_end(ends[1]);
    const auto size = static_cast<ssize_t>(job.key.size());
    return ::write(write_end.get(), job.key.data(), job.key.size()) == size ? std::move(input)
                                                                            : Fd();
}

tl::unexpected<Error> cannot_start(const Job& job, const std::string& why) {
    return fail(ErrorKind::spawn, fmt::format("cannot start {}: {}", job.argv.front(), why));
}

// The output of the program that makes the sandbox; empty: none.
std::string said(int output) {
    int waiting = 0;
    if (::ioctl(output, FIONREAD, &waiting) != 0 || waiting <= 0) return {};
    constexpr int kMost = 300;
    std::string text(static_cast<size_t>(std::min(waiting, kMost)), '\0');
    const ssize_t n = ::read(output, text.data(), text.size());
    text.resize(n > 0 ? static_cast<size_t>(n) : 0);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

// A namespace, a process start and the start of its program, on a busy machine.
constexpr Milliseconds kSandboxStart{30'000};

void kill_and_reap(int pid) {
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
}

}  // namespace

Expected<int> spawn(const Job& job, int output, int inherited, Spawning spawning) {
    const auto cannot = [&](const std::string& why) { return cannot_start(job, why); };
    const Fd input = input_of(job);
    if (!input.valid()) return cannot(std::strerror(errno));
    std::error_code error;
    // Boost.Process would ignore a missing folder.
    if (!fs::is_directory(job.cwd, error)) return cannot("no such folder: " + job.cwd.string());
    const auto argv = !job.sandbox ? job.argv
                      : spawning == Spawning::server
                          ? server_in_sandbox(*job.sandbox, job.argv)
                          : in_sandbox(*job.sandbox, job.argv, job.writable.path());
    bp::child child(
        bp::exe = argv.front(), bp::args = std::vector<std::string>(argv.begin() + 1, argv.end()),
        bp::start_dir = job.cwd.string(), environment_of(job), bp::posix::fd.bind(0, input.get()),
        bp::posix::fd.bind(1, output), bp::posix::fd.bind(2, output),
        bp::extend::on_exec_setup =
            [runner = ::getpid(), run = run_of(job.id), inherited](auto&) {
                set_up_child(runner, run);
                if (inherited < 0) return;
                if (inherited == kInheritedFd)
                    ::fcntl(kInheritedFd, F_SETFD, 0);
                else
                    ::dup2(inherited, kInheritedFd);
            },
        error);
    const int pid = child.id();
    if (error == std::errc::resource_unavailable_try_again || error == std::errc::not_enough_memory)
        return 0;
    // Without a free descriptor, Boost.Process sets no error.
    if (error || !child.valid() || pid <= 0)
        return cannot(error ? error.message() : std::strerror(EMFILE));
    child.detach();
    return pid;
}

Expected<std::unique_ptr<Child>> PosixLauncher::start(const Job& job,
                                                      std::function<void(ChildResult)> on_end) {
    return start_with([&](int output) { return spawn_job(job, output); }, job, false,
                      std::move(on_end));
}

Expected<PosixLauncher::Spawned> PosixLauncher::spawn_job(const Job& job, int output) {
    if (!job.sandbox) return spawn(job, output).map([](int pid) { return Spawned{pid}; });
    int ends[2];
    if (!open_sandbox_sockets(ends)) return cannot_start(job, std::strerror(errno));
    Fd ours(ends[0]), its(ends[1]);
    const auto outer = spawn(job, output, its.get());
    if (!outer || *outer == 0) return outer.map([](int) { return Spawned{}; });
    its = Fd();
    processes_.add_helper(*outer);
    auto init = SandboxInit::meet(*job.sandbox, std::move(ours), *outer, kSandboxStart);
    if (!init) {
        processes_.remove_helper(*outer);
        return cannot_start(job, init.error().message);
    }
    const int leader = (*init)->leader();
    return Spawned{leader, std::move(*init)};
}

Expected<std::unique_ptr<Child>> PosixLauncher::start_with(
    const Spawn& spawn_process, const Job& job, bool forked,
    std::function<void(ChildResult)> on_end) {
    auto process = std::make_shared<ChildProcess>(io_, processes_, job, forked, std::move(on_end));
    if (process->log_error()) return tl::unexpected(*process->log_error());
    if (!job.writable.empty()) TRY(make_empty_folder(job.writable));

    int ends[2];
    if (!open_pipe(ends)) return cannot_start(job, std::strerror(errno));
    Fd read_end(ends[0]), write_end(ends[1]);
    auto spawned = spawn_process(write_end.get());
    if (!spawned) {
        Error error = spawned.error();
        const std::string words = job.sandbox ? said(read_end.get()) : std::string();
        if (!words.empty()) error.message += ": " + words;
        return tl::unexpected(std::move(error));
    }
    if (spawned->pid == 0) return nullptr;
    return watch(std::move(process), std::move(*spawned), std::move(read_end), job);
}

Expected<std::unique_ptr<Child>> PosixLauncher::adopt(int pid, Fd output, const Job& job,
                                                      bool forked,
                                                      std::function<void(ChildResult)> on_end) {
    auto process = std::make_shared<ChildProcess>(io_, processes_, job, forked, std::move(on_end));
    if (const auto error = process->log_error()) {
        kill_and_reap(pid);
        return tl::unexpected(*error);
    }
    return watch(std::move(process), {pid}, std::move(output), job);
}

Expected<std::unique_ptr<Child>> PosixLauncher::watch(std::shared_ptr<ChildProcess> process,
                                                      Spawned spawned, Fd output, const Job& job) {
    const int pid = spawned.pid;
    processes_.table().tag_leader(
        pid, run_of(job.id));  // a forked process has inherited the zygote's tag
    auto exit = watch_exit(io_, pid);
    if (!exit) {
        if (!spawned.init) kill_and_reap(pid);
        return cannot_start(job, exit.error().message);
    }
    if (spawned.init) spawned.init->release();
    process->watch(pid, std::move(output), std::move(*exit), std::move(spawned.init));
    return std::make_unique<PosixChild>(std::move(process));
}

}  // namespace compat::exec
