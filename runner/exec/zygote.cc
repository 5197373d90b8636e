#include "runner/exec/zygote.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <initializer_list>

#include "runner/base/files.h"
#include "runner/exec/descriptors.h"

namespace compat::exec {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// The limit for the last line of the zygote's log.
constexpr size_t kLongestLine = 300;

// One message; empty on a timeout or a hang-up.
std::string receive(int socket, Milliseconds timeout) {
    if (!wait_readable(socket, timeout)) return {};
    std::array<char, 1024> buffer;
    const ssize_t n = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    return n > 0 ? std::string(buffer.data(), static_cast<size_t>(n)) : std::string();
}

bool send(int socket, std::string message, std::initializer_list<int> descriptors) {
    constexpr size_t kMost = 2;
    iovec text{message.data(), message.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMost * sizeof(int))> room{};
    const size_t bytes = descriptors.size() * sizeof(int);
    msghdr header{};
    header.msg_iov = &text;
    header.msg_iovlen = 1;
    header.msg_control = room.data();
    header.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(control), descriptors.begin(), bytes);
    return ::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(message.size());
}

constexpr std::string_view kLost = "lost ";

// number_after("forked 123", "forked") is 123; -1: another word.
int number_after(std::string_view answer, std::string_view word) {
    int number = -1;
    if (answer.starts_with(word) && answer.substr(word.size()).starts_with(' '))
        std::from_chars(answer.data() + word.size() + 1, answer.data() + answer.size(), number);
    return number;
}

std::string last_line(const FileBelow& log) {
    const std::string text = read_file(log).value_or("");
    const size_t end = text.find_last_not_of(" \r\n");
    if (end == std::string::npos) return {};
    const size_t newline = text.rfind('\n', end);
    const size_t begin = newline == std::string::npos ? 0 : newline + 1;
    return text.substr(begin, std::min(end + 1 - begin, kLongestLine));
}

}  // namespace

Expected<std::shared_ptr<EarlyZygote>> EarlyZygote::start(Job job) {
    const auto cannot = [](const char* why) {
        return fail(ErrorKind::spawn, fmt::format("cannot start the import process: {}", why));
    };
    int sockets[2], pipe[2];
    if (!open_message_sockets(sockets)) return cannot(std::strerror(errno));
    std::shared_ptr<EarlyZygote> early(new EarlyZygote);
    early->socket_ = Fd(sockets[0]);
    const Fd its_socket(sockets[1]);
    if (!open_pipe(pipe)) return cannot(std::strerror(errno));
    early->output_ = Fd(pipe[0]);
    const Fd its_output(pipe[1]);
    const auto pid = TRY(spawn(job, its_output.get(), its_socket.get(), Spawning::server));
    if (pid == 0) return cannot("no process or memory available");
    early->pid_ = pid;
    early->job_ = std::move(job);
    return early;
}

EarlyZygote::~EarlyZygote() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

ZygoteLauncher::ZygoteLauncher(asio::io_context& io, PosixLauncher& launcher, Notify notify)
    : io_(io), launcher_(launcher), notify_(std::move(notify)), socket_(io), import_timer_(io) {}

ZygoteLauncher::~ZygoteLauncher() = default;

void ZygoteLauncher::warm_up(Zygote zygote, std::function<void()> on_ready) {
    zygote_ = std::move(zygote);
    zygote_.job.helper = true;
    on_ready_ = std::move(on_ready);
    auto& early = zygote_.early;
    if (!early) {
        auto started = EarlyZygote::start(zygote_.job);
        if (!started) return give_up(to_line(started.error()));
        early = std::move(*started);
    }
    Fd ours = std::move(early->socket_);
    launcher_.processes().expect(zygote_.job.id);
    auto child =
        launcher_.adopt(std::exchange(early->pid_, 0), std::move(early->output_), zygote_.job,
                        false, [this](const ChildResult& ended) { on_exit(ended); });
    if (!child) return give_up(to_line(child.error()));
    child_ = std::move(*child);
    socket_.assign(ours.release());
    when_readable(socket_, [this] { on_message(); });
    import_timer_.expires_after(zygote_.import_timeout);
    import_timer_.async_wait([this](const error_code& error) {
        if (!error)
            give_up(fmt::format(
                "the imports took longer than {}",
                format_duration(std::chrono::duration<double>(zygote_.import_timeout))));
    });
}

void ZygoteLauncher::on_message() {
    const std::string answer = receive(socket_.native_handle(), {});
    if (answer.starts_with(kLost))
        return give_up(fmt::format("the imports initialise {}, which a forked process cannot use",
                                   answer.substr(kLost.size())));
    const int threads = number_after(answer, "ready");
    if (threads < 0) return;  // a hang-up: on_exit or the timeout gives the reason
    if (threads != 1)
        return give_up(fmt::format(
            "the imports started threads ({} in all), which a fork would lose", threads));
    ready_ = true;
    finish_warm_up();
}

void ZygoteLauncher::on_exit(const ChildResult& ended) {
    give_up("the import process ended: " + describe(ended.end));
}

void ZygoteLauncher::give_up(const std::string& why) {
    if (gave_up_) return;
    gave_up_ = true;
    const std::string line = last_line(zygote_.job.log);
    notify_(fmt::format("warm start disabled{}: {}{}{}", ready_ ? " for the remaining jobs" : "",
                        why, line.empty() ? "" : ": ", line));
    error_code ignored;
    socket_.close(ignored);
    // In a sandbox its end would be that of the jobs that it has forked: it ends by itself when
    // they have, or else with the run.
    const auto ended = ready_ && zygote_.job.sandbox ? nullptr : std::move(child_);
    ready_ = false;
    finish_warm_up();
}

// From the loop: `on_ready` may start jobs at once.
void ZygoteLauncher::finish_warm_up() {
    import_timer_.cancel();
    if (on_ready_) asio::post(io_, std::exchange(on_ready_, nullptr));
}

bool ZygoteLauncher::shares_setup(const Job& job) const {
    return job.cwd == zygote_.job.cwd && job.common_env == zygote_.job.common_env &&
           job.sandbox == zygote_.job.sandbox;
}

Expected<std::unique_ptr<Child>> ZygoteLauncher::start(const Job& job,
                                                       std::function<void(ChildResult)> on_end) {
    if (!ready_ || !job.warm || !shares_setup(job)) return launcher_.start(job, std::move(on_end));
    auto forked =
        launcher_.start_with([&](int output) { return fork(job, output); }, job, true, on_end);
    if (forked || ready_) return forked;
    return launcher_.start(job, std::move(on_end));
}

Expected<PosixLauncher::Spawned> ZygoteLauncher::fork(const Job& job, int output) {
    const auto& own = zygote_.job.argv;
    const auto [mine, theirs] =
        std::mismatch(own.begin(), own.end(), job.argv.begin(), job.argv.end());
    std::string message;
    for (auto word = theirs; word != job.argv.end(); ++word) message += *word + '\0';
    // Not in `argv`, which every process can read.
    if (!job.key.empty()) message += std::string("--key") + '\0' + job.key + '\0';
    message += '\0';
    for (const auto& [name, value] : job.env) message += name + '=' + value + '\0';

    int ends[2] = {-1, -1};
    if (job.sandbox && !open_sandbox_sockets(ends))
        return fail(ErrorKind::spawn, std::strerror(errno));
    Fd ours(ends[0]), its(ends[1]);
    launcher_.processes().expect(job.id);
    const int socket = socket_.native_handle();
    const bool sent = its.valid() ? send(socket, std::move(message), {output, its.get()})
                                  : send(socket, std::move(message), {output});
    its = Fd();
    const std::string answer = sent ? receive(socket, zygote_.answer_timeout) : std::string();
    if (answer == "later") return PosixLauncher::Spawned{};
    const int pid = number_after(answer, "forked");
    if (pid <= 0) return fork_failed(job, answer);
    if (!ours.valid()) return PosixLauncher::Spawned{pid};
    auto init = SandboxInit::meet(*job.sandbox, std::move(ours), 0, zygote_.answer_timeout);
    if (!init) return fork_failed(job, init.error().message);
    const int leader = (*init)->leader();
    return PosixLauncher::Spawned{leader, std::move(*init)};
}

Expected<PosixLauncher::Spawned> ZygoteLauncher::fork_failed(const Job& job,
                                                             const std::string& why) {
    give_up(why.empty() ? "the import process does not answer" : why);
    kill_strays(job);
    return fail(ErrorKind::spawn, "the zygote could not fork");
}

// A fork that the zygote did not report: two processes would write the files of one job.
void ZygoteLauncher::kill_strays(const Job& job) {
    ProcessTable& system = launcher_.processes().table();
    for (const int pid : system.pids()) {
        const auto stat = system.find(pid);
        if (!stat || stat->parent != ::getpid()) continue;
        const std::string id = system.environment_value(pid, kJobVariable);
        if (!id.empty() && (id == job.id || id == zygote_.job.id))
            system.signal(pid, stat->start, SIGKILL);
    }
}

}  // namespace compat::exec
