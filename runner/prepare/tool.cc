#include "runner/prepare/tool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/env.hpp>
#include <boost/process/environment.hpp>
#include <boost/process/error.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/io.hpp>
#include <boost/process/search_path.hpp>
#include <boost/process/start_dir.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <ranges>
#include <thread>

#include "runner/base/files.h"
#include "runner/base/host.h"
#include "runner/base/process/termination.h"

namespace compat::prepare {

namespace bp = boost::process;
namespace {

std::string current_path() {
    const char* path = std::getenv("PATH");
    return path ? path : "";
}

bp::environment environment_of(const Tool& tool) {
    bp::environment env = boost::this_process::environment();
    for (const auto& name : tool.unset) env.erase(name);
    for (const auto& [name, value] : tool.env) env[name] = value;
    return env;
}

void unblock_signals() {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Runs in the tool between fork and exec. The tool ends with the runner, which holds the lock on
// the cache entry; alarm(2) survives exec. So would the runner's blocked signals: Ctrl-C ends a
// tool at once, and the runner, which has it pending, handles it then.
void limit_tool(const Tool& tool, bool own_group = false) {
    unblock_signals();
    end_with_parent(SIGTERM);
    if (own_group) ::setpgid(0, 0);
    ::alarm(tool.limit_s);
}

// Held until a tool has started: Boost tells by a pipe whether it has, and a tool of another thread
// that held its write end would keep us reading.
std::mutex spawn_mutex;

Expected<fs::path> resolve(const Tool& tool) {
    const std::string& name = tool.argv.front();
    if (name.find('/') != std::string::npos) return fs::absolute(name);
    const fs::path found = find_program(name, environment_of(tool)["PATH"].to_string());
    if (found.empty())
        return fail(ErrorKind::environment, fmt::format("{} is not installed", name),
                    fmt::format("install it (on Debian: apt-get install {})", name));
    return found;
}

std::vector<std::string> arguments(const Tool& tool) {
    return {tool.argv.begin() + 1, tool.argv.end()};
}

// The last line that mentions an error, else the last line.
std::string relevant_line(const std::string& text) {
    std::string last, error;
    size_t begin = 0;
    while (begin < text.size()) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        if (line.find_first_not_of(" \t\r") != std::string::npos) {
            last = line;
            if (line.find("rror") != std::string::npos || line.find("fatal:") != std::string::npos)
                error = line;
        }
        begin = end + 1;
    }
    return error.empty() ? last : error;
}

// Its first `most` bytes: a tool may write without end.
std::string written_to(std::FILE* file, size_t most) {
    std::string text;
    std::array<char, 1 << 16> piece;
    std::rewind(file);
    while (text.size() < most) {
        const size_t n =
            std::fread(piece.data(), 1, std::min(piece.size(), most - text.size()), file);
        if (n == 0) break;
        text.append(piece.data(), n);
    }
    return text;
}
constexpr size_t kMostErrors = 64 << 10, kMostOutput = 1 << 30;
// The limit of a tool with a time limit, which is somebody's program.
constexpr off_t kMostLogged = 64 << 20;

// Why a tool was ended before its time.
enum class Ended { no, limit, output, interrupted };

std::string end_of(const Tool& tool, Ended ended, int status) {
    if (ended == Ended::output) return fmt::format("wrote more than {} MiB", kMostLogged >> 20);
    const bool alarm = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM && tool.limit_s > 0;
    if (alarm || ended == Ended::limit) return fmt::format("timed out after {} s", tool.limit_s);
    if (WIFSIGNALED(status))
        return fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                           ::strsignal(WTERMSIG(status)));
    return fmt::format("failed with exit code {}", WEXITSTATUS(status));
}

tl::unexpected<Error> failed(const Tool& tool, const std::string& end, const std::string& line,
                             std::string advice) {
    const std::string name =
        tool.name.empty() ? fmt::format("{}", fmt::join(tool.argv, " ")) : tool.name;
    return fail(ErrorKind::environment,
                fmt::format("{} {}{}{}", name, end, line.empty() ? "" : ": ", line),
                std::move(advice));
}

off_t size_of(std::FILE* file) {
    struct stat found{};
    return ::fstat(::fileno(file), &found) == 0 ? found.st_size : 0;
}

// A program may ignore its alarm, or SIGTERM. `why` is asked until it ends.
Ended wait_for_end(const Tool& tool, bp::child& child, const std::function<Ended()>& why) {
    using std::chrono::milliseconds, std::chrono::seconds, std::chrono::steady_clock;
    constexpr seconds kAfterSignal{2};
    const auto late = steady_clock::now() + seconds{tool.limit_s} + kAfterSignal;
    std::error_code error;
    Ended ended = Ended::no;
    steady_clock::time_point kill_at{};
    for (milliseconds pause{1}; child.running(error) && !error;
         pause = std::min(pause * 2, milliseconds{16})) {
        const auto now = steady_clock::now();
        if (ended != Ended::no) {
            if (now > kill_at) ::kill(child.id(), SIGKILL);
        } else {
            ended = tool.limit_s > 0 && now > late ? Ended::limit : why();
            if (ended != Ended::no) ::kill(child.id(), SIGTERM);
            kill_at = now + kAfterSignal;
        }
        std::this_thread::sleep_for(pause);
    }
    child.wait(error);
    return ended;
}

}  // namespace

Tool git(const fs::path& folder, std::vector<std::string> arguments) {
    Tool tool;
    // A repository's own settings may name a program that watches its files.
    tool.argv = {"git", "-c", "core.fsmonitor=", "-C", folder.string()};
    tool.argv.insert(tool.argv.end(), arguments.begin(), arguments.end());
    // Never prompts for a password.
    tool.env = {{"GIT_TERMINAL_PROMPT", "0"}};
    // `git rev-parse --local-env-vars` lists them.
    tool.unset = {"GIT_ALTERNATE_OBJECT_DIRECTORIES",
                  "GIT_COMMON_DIR",
                  "GIT_CONFIG",
                  "GIT_CONFIG_COUNT",
                  "GIT_CONFIG_PARAMETERS",
                  "GIT_DIR",
                  "GIT_GRAFT_FILE",
                  "GIT_IMPLICIT_WORK_TREE",
                  "GIT_INDEX_FILE",
                  "GIT_INTERNAL_SUPER_PREFIX",
                  "GIT_NO_REPLACE_OBJECTS",
                  "GIT_OBJECT_DIRECTORY",
                  "GIT_PREFIX",
                  "GIT_REPLACE_REF_BASE",
                  "GIT_SHALLOW_FILE",
                  "GIT_WORK_TREE"};
    return tool;
}

fs::path find_program(const std::string& name, const std::string& search_path) {
    std::vector<fs::path> folders;
    for (const auto folder : std::views::split(search_path, ':'))
        folders.emplace_back(folder.begin(), folder.end());
    return bp::search_path(name, folders);
}

fs::path find_program(const std::string& name) { return find_program(name, current_path()); }

std::string build_path() {
    const std::string path = current_path();
    const std::string own = program_path().parent_path();
    if (fmt::format(":{}:", path).find(fmt::format(":{}:", own)) != std::string::npos) return path;
    return path.empty() ? own : fmt::format("{}:{}", own, path);
}

Expected<void> run_tool(const Tool& tool, const fs::path& log) {
    const auto program = TRY(resolve(tool));
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(log.c_str(), "ae"),
                                                               &std::fclose);
    if (!file)
        return fail(ErrorKind::io, "cannot write the log", "choose a writable folder",
                    log.string());
    const off_t before = size_of(file.get());
    // Whoever starts a program with a limit wants an end of what that starts, too. The others may
    // ask on the terminal (git), which only one group can.
    const bool own_group = tool.limit_s > 0;
    std::error_code error;
    std::unique_lock lock(spawn_mutex);
    bp::child child(
        bp::exe = program.string(), bp::args = arguments(tool), bp::start_dir = tool.cwd.string(),
        environment_of(tool), (bp::std_out & bp::std_err) > file.get(),
        bp::std_in < (tool.input.empty() ? "/dev/null" : tool.input.string()),
        bp::extend::on_exec_setup = [&](auto&) { limit_tool(tool, own_group); }, error);
    lock.unlock();
    if (error || !child.valid())
        return fail(ErrorKind::spawn,
                    fmt::format("cannot start {}: {}", program.string(), error.message()));
    const Ended ended = wait_for_end(tool, child, [&] {
        if (is_termination_pending()) return Ended::interrupted;
        const bool too_much = own_group && size_of(file.get()) - before > kMostLogged;
        return too_much ? Ended::output : Ended::no;
    });
    const int status = child.native_exit_code();
    const bool by_alarm = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    if (own_group && (by_alarm || ended != Ended::no)) ::kill(-child.id(), SIGKILL);
    if (ended == Ended::interrupted)
        return fail(ErrorKind::interrupted, fmt::format("{} was interrupted", tool.argv.front()));
    if (status == 0) return {};
    const off_t written = std::max<off_t>(0, size_of(file.get()) - before);
    const std::string text =
        read_file(log, std::min<std::uint64_t>(kMostErrors, static_cast<std::uint64_t>(written)))
            .value_or("");
    return failed(tool, end_of(tool, ended, status), relevant_line(text),
                  fmt::format("see the output in {}", log.string()));
}

Expected<std::string> output_of(const Tool& tool) {
    const auto program = TRY(resolve(tool));
    // Files, not pipes: a pipe has no end while a process that the tool left keeps it open.
    using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
    const File output(std::tmpfile(), &std::fclose), errors(std::tmpfile(), &std::fclose);
    if (!output || !errors)
        return fail(ErrorKind::io, "cannot make a temporary file",
                    "set TMPDIR to a folder that can be written");
    std::unique_lock lock(spawn_mutex);
    std::error_code error;
    bp::child child(
        bp::exe = program.string(), bp::args = arguments(tool), bp::start_dir = tool.cwd.string(),
        environment_of(tool), bp::std_out > output.get(), bp::std_err > errors.get(),
        bp::std_in < bp::null, bp::extend::on_exec_setup = [&](auto&) { limit_tool(tool); }, error);
    lock.unlock();
    if (error || !child.valid())
        return fail(ErrorKind::spawn,
                    fmt::format("cannot start {}: {}", program.string(), error.message()));
    const Ended ended = wait_for_end(tool, child, [] { return Ended::no; });
    const int status = child.native_exit_code();
    std::string text = written_to(output.get(), kMostOutput);
    if (status == 0) return text;
    const std::string reason = relevant_line(written_to(errors.get(), kMostErrors));
    return failed(tool, end_of(tool, ended, status),
                  reason.empty() ? relevant_line(text) : reason, {});
}

Expected<void> start_tool(const Tool& tool, std::chrono::milliseconds watched) {
    const auto program = TRY(resolve(tool));
    std::error_code error;
    std::unique_lock lock(spawn_mutex);
    bp::child child(
        bp::exe = program.string(), bp::args = arguments(tool), bp::start_dir = tool.cwd.string(),
        environment_of(tool), (bp::std_out & bp::std_err) > bp::null, bp::std_in < bp::null,
        bp::extend::on_exec_setup =
            [](auto&) {
                unblock_signals();
                ::setsid();
            },
        error);
    lock.unlock();
    if (error || !child.valid())
        return fail(ErrorKind::spawn,
                    fmt::format("cannot start {}: {}", program.string(), error.message()));
    const auto until = std::chrono::steady_clock::now() + watched;
    while (child.running(error) && !error) {
        if (std::chrono::steady_clock::now() > until) {
            child.detach();
            return {};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    const int status = child.native_exit_code();
    if (status == 0) return {};
    return failed(tool, end_of(tool, Ended::no, status), {}, {});
}

}  // namespace compat::prepare
