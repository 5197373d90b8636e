#include "runner/exec/zygote.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

#include "runner/base/files.h"

namespace compat::exec {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Of the zygote's last words, this much is repeated.
constexpr size_t kLongestReason = 300;

// One message; empty where there is none in time or the other side has hung up.
std::string receive(int socket, Milliseconds patience) {
    const SteadyTime until = std::chrono::steady_clock::now() + patience;
    pollfd waiting{socket, POLLIN, 0};
    while (true) {
        const auto left =
            std::chrono::duration_cast<Milliseconds>(until - std::chrono::steady_clock::now());
        const int ready = ::poll(&waiting, 1, std::max(0, static_cast<int>(left.count())));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return {};
        std::array<char, 1024> buffer;
        const ssize_t n = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
        return n > 0 ? std::string(buffer.data(), static_cast<size_t>(n)) : std::string();
    }
}

bool send(int socket, std::string message, int descriptor) {
    iovec text{message.data(), message.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptor)> room{};
    msghdr header{};
    header.msg_iov = &text;
    header.msg_iovlen = 1;
    header.msg_control = room.data();
    header.msg_controllen = room.size();
    cmsghdr* control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
    return ::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(message.size());
}

constexpr std::string_view kLost = "lost ";

// "forked 123" → 123 where `word` is "forked"; -1: it says something else.
int number_after(std::string_view answer, std::string_view word) {
    int number = -1;
    if (answer.starts_with(word) && answer.substr(word.size()).starts_with(' '))
        std::from_chars(answer.data() + word.size() + 1, answer.data() + answer.size(), number);
    return number;
}

std::string last_line(const std::filesystem::path& log) {
    const std::string text = read_file(log).value_or("");
    const size_t end = text.find_last_not_of(" \r\n");
    if (end == std::string::npos) return {};
    const size_t newline = text.rfind('\n', end);
    const size_t begin = newline == std::string::npos ? 0 : newline + 1;
    return text.substr(begin, std::min(end + 1 - begin, kLongestReason));
}

}  // namespace

ZygoteLauncher::ZygoteLauncher(asio::io_context& io, PosixLauncher& launcher, Say say)
    : io_(io), launcher_(launcher), say_(std::move(say)), socket_(io), patience_(io) {}

ZygoteLauncher::~ZygoteLauncher() = default;

void ZygoteLauncher::warm_up(Zygote zygote, std::function<void()> go_on) {
    zygote_ = std::move(zygote);
    zygote_.job.helper = true;
    go_on_ = std::move(go_on);
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return give_up(std::strerror(errno));
    Fd ours(ends[0]);
    const Fd theirs(ends[1]);
    launcher_.processes().expect(zygote_.job.id);
    auto child =
        launcher_.start_by([&](int output) { return spawn(zygote_.job, output, theirs.get()); },
                           zygote_.job, false, [this](const Ended& ended) { gone(ended); });
    if (!child) return give_up(to_line(child.error()));
    child_ = std::move(*child);
    socket_.assign(ours.release());
    when_readable(socket_, [this] { answered(); });
    patience_.expires_after(zygote_.patience);
    patience_.async_wait([this](const error_code& error) {
        if (!error)
            give_up(fmt::format("it took longer than {}",
                                human(std::chrono::duration<double>(zygote_.patience))));
    });
}

void ZygoteLauncher::answered() {
    const std::string answer = receive(socket_.native_handle(), {});
    if (answer.starts_with(kLost))
        return give_up(fmt::format("its imports initialise {}, which a forked process cannot use",
                                   answer.substr(kLost.size())));
    const int threads = number_after(answer, "ready");
    if (threads < 0) return;  // it has hung up: its end, or our patience's, says more
    if (threads != 1)
        return give_up(fmt::format("it has {} threads, which a fork would lose", threads));
    ready_ = true;
    done_warming();
}

void ZygoteLauncher::gone(const Ended& ended) { give_up("it has ended: " + describe(ended.end)); }

void ZygoteLauncher::give_up(const std::string& why) {
    const std::string said = last_line(zygote_.job.log);
    say_(fmt::format("warm start is off{}: the process that imports for all: {}{}{}",
                     ready_ ? " from here on" : "", why, said.empty() ? "" : ": ", said));
    ready_ = false;
    const auto ended = std::move(child_);
    error_code ignored;
    socket_.close(ignored);
    done_warming();
}

// From the loop: whoever goes on may start jobs at once.
void ZygoteLauncher::done_warming() {
    patience_.cancel();
    if (go_on_) asio::post(io_, std::exchange(go_on_, nullptr));
}

bool ZygoteLauncher::is_like_the_zygote(const Job& job) const {
    return job.cwd == zygote_.job.cwd && job.common_env == zygote_.job.common_env;
}

Expected<std::unique_ptr<Child>> ZygoteLauncher::start(const Job& job,
                                                       std::function<void(Ended)> on_end) {
    if (!ready_ || !job.warm || !is_like_the_zygote(job))
        return launcher_.start(job, std::move(on_end));
    auto forked =
        launcher_.start_by([&](int output) { return fork(job, output); }, job, true, on_end);
    if (forked || ready_) return forked;
    return launcher_.start(job, std::move(on_end));
}

Expected<int> ZygoteLauncher::fork(const Job& job, int output) {
    const auto& own = zygote_.job.argv;
    const auto [mine, theirs] =
        std::mismatch(own.begin(), own.end(), job.argv.begin(), job.argv.end());
    std::string message;
    for (auto word = theirs; word != job.argv.end(); ++word) message += *word + '\0';
    message += '\0';
    for (const auto& [name, value] : job.env) message += name + '=' + value + '\0';

    launcher_.processes().expect(job.id);
    std::string answer;
    if (send(socket_.native_handle(), std::move(message), output))
        answer = receive(socket_.native_handle(), zygote_.answer);
    if (answer == "later") return 0;
    if (const int pid = number_after(answer, "forked"); pid > 0) return pid;
    give_up(answer.empty() ? "it does not answer" : answer);
    end_strays(job);
    return fail(ErrorKind::spawn, "it could not be forked");
}

// What it may have forked all the same: two processes would write one job's files.
void ZygoteLauncher::end_strays(const Job& job) {
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
