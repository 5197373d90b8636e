#include "runner/hub/source/line_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "runner/base/line_reader.h"
#include "runner/base/text.h"
#include "runner/exec/descriptors.h"
#include "runner/exec/processes.h"

namespace compat::hub {

namespace {

constexpr std::chrono::milliseconds kGraceToEnd{500};
constexpr int kTickMs = 1'000;
constexpr std::size_t kLineBytes = 32 << 20, kStderrBytes = 2 << 10;

struct Pipe {
    Fd read, write;
};

Expected<Pipe> make_pipe() {
    int ends[2];
    if (!exec::open_pipe(ends)) return fail(ErrorKind::spawn, std::strerror(errno));
    return Pipe{Fd(ends[0]), Fd(ends[1])};
}

struct SpawnRules {
    SpawnRules() {
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawnattr_init(&attributes);
        // Its own group: a Ctrl+C reaches the runner alone, which ends it after its last answer.
        sigset_t none, all;
        ::sigemptyset(&none);
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes, &none);
        ::posix_spawnattr_setsigdefault(&attributes, &all);
        ::posix_spawnattr_setpgroup(&attributes, 0);
        ::posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    SpawnRules(const SpawnRules&) = delete;
    SpawnRules& operator=(const SpawnRules&) = delete;
    ~SpawnRules() {
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
};

// An exception (no memory) costs an answer, not the runner.
template <class Function>
void guarded(const Function& function) {
    try {
        function();
    } catch (const std::exception&) {
        return;
    }
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (std::string& word : words) all.push_back(word.data());
    all.push_back(nullptr);
    return all;
}

}  // namespace

Expected<std::unique_ptr<LineProcess>> LineProcess::start(const Program& program, Events events) {
    Pipe input = TRY(make_pipe()), output = TRY(make_pipe()), errors = TRY(make_pipe());
    // A program that does not read must not stop the server.
    ::fcntl(input.write.get(), F_SETFL, O_NONBLOCK);
    for (const int end : {output.read.get(), errors.read.get()}) ::fcntl(end, F_SETFL, O_NONBLOCK);
    SpawnRules rules;
    ::posix_spawn_file_actions_adddup2(&rules.actions, input.read.get(), 0);
    ::posix_spawn_file_actions_adddup2(&rules.actions, output.write.get(), 1);
    ::posix_spawn_file_actions_adddup2(&rules.actions, errors.write.get(), 2);
    if (!program.folder.empty())
        ::posix_spawn_file_actions_addchdir_np(&rules.actions, program.folder.c_str());
    std::vector<std::string> argv = program.argv, variables;
    for (const auto& [name, value] : program.variables) variables.push_back(name + "=" + value);
    int error = 0;
    const pid_t pid = exec::start_apart([&] {
        pid_t child = 0;
        error = ::posix_spawn(&child, argv.at(0).c_str(), &rules.actions, &rules.attributes,
                              pointers(argv).data(), pointers(variables).data());
        return error == 0 ? child : 0;
    });
    if (error != 0)
        return fail(ErrorKind::spawn, fmt::format("cannot start it: {}", std::strerror(error)), "",
                    argv[0]);
    return std::unique_ptr<LineProcess>(
        new LineProcess(std::move(input.write), std::move(output.read), std::move(errors.read), pid,
                        std::move(events)));
}

LineProcess::LineProcess(Fd input, Fd output, Fd errors, int pid, Events events)
    : output_(std::move(output)),
      errors_(std::move(errors)),
      pid_(pid),
      events_(std::move(events)),
      input_(std::move(input)) {
    // The runner's signals are for its own thread. SIGPIPE is blocked with them: a write fails.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { read_lines(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LineProcess::~LineProcess() {
    is_closing_ = true;
    {
        const std::lock_guard lock(mutex_);
        input_ = Fd();
    }
    if (thread_.get_id() == std::this_thread::get_id())
        thread_.detach();  // from `ended`, after which it uses nothing of this object
    else
        thread_.join();
}

bool LineProcess::send(const std::string& line) {
    const std::lock_guard lock(mutex_);
    if (!input_.valid()) return false;
    std::string_view rest = line;
    while (!rest.empty()) {
        const ssize_t count = ::write(input_.get(), rest.data(), rest.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) break;
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
    if (rest.empty()) return true;
    input_ = Fd();  // a part of a line: nothing can follow it
    return false;
}

void LineProcess::end(std::string why) {
    const std::lock_guard lock(mutex_);
    if (why_.empty()) why_ = std::move(why);
    if (pid_ > 0) ::kill(-pid_, SIGKILL);
}

// It is our child until it is reaped, so its number is nobody else's until then.
std::string LineProcess::reap() {
    siginfo_t info{};
    const auto begun = std::chrono::steady_clock::now();
    const auto id = static_cast<id_t>(pid_);
    while (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0) {
        if (std::chrono::steady_clock::now() - begun > kGraceToEnd) ::kill(-pid_, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const std::lock_guard lock(mutex_);
    ::kill(-pid_, SIGKILL);  // those that it started
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    input_ = Fd();
    if (!why_.empty()) return why_;
    if (WIFSIGNALED(status)) return fmt::format("it was killed by signal {}", WTERMSIG(status));
    return fmt::format("it ended with exit code {}", WEXITSTATUS(status));
}

void LineProcess::read_lines() {
    LineSplitter lines(kLineBytes);
    std::string last_errors;
    std::array<char, 64 << 10> piece{};
    bool is_open = true;
    std::chrono::steady_clock::time_point closing_since{};
    while (is_open) {
        std::array<pollfd, 2> ends{{{output_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}}};
        const int ready = ::poll(ends.data(), ends.size(), is_closing_ ? 20 : kTickMs);
        if (ready < 0 && errno != EINTR) break;
        const auto now = std::chrono::steady_clock::now();
        if (is_closing_ && closing_since == std::chrono::steady_clock::time_point{})
            closing_since = now;
        if (is_closing_ && now - closing_since > kGraceToEnd) break;
        if (!is_closing_) guarded([&] { events_.tick(); });
        if (ready <= 0) continue;
        if (ends[1].revents != 0) {
            const ssize_t count = ::read(errors_.get(), piece.data(), piece.size());
            if (count > 0) last_errors.append(piece.data(), static_cast<std::size_t>(count));
            if (last_errors.size() > kStderrBytes)
                last_errors.erase(0, last_errors.size() - kStderrBytes);
            if (count == 0) errors_ = Fd();
        }
        if (ends[0].revents == 0) continue;
        const ssize_t count = ::read(output_.get(), piece.data(), piece.size());
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) is_open = false;
        if (count > 0)
            lines.feed({piece.data(), static_cast<std::size_t>(count)}, [&](const Line& line) {
                if (!is_closing_) guarded([&] { events_.line(line.text); });
            });
    }
    std::string why = reap();
    const std::string_view words = trimmed(last_errors);
    if (!words.empty()) why += fmt::format("; its last words: {}", words);
    const auto ended = std::move(events_.ended);
    if (!is_closing_) guarded([&] { ended(why); });
}

}  // namespace compat::hub
