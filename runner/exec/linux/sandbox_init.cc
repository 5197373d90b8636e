// The init of a sandbox: the first process of its namespace, which is this program too.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runner/base/exit_code.h"
#include "runner/exec/launcher_posix.h"
#include "runner/exec/linux/left_files.h"
#include "runner/exec/linux/sandbox_messages.h"
#include "runner/exec/linux/socket_filter.h"
#include "runner/exec/sandbox.h"

namespace compat::exec {

namespace {

// Exit statuses of an init: as a shell's, and for whoever calls it from a terminal.
constexpr int kNoProgram = 127;
constexpr int kNotForUsers = static_cast<int>(ExitCode::usage);

constexpr unsigned long kProcFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

std::string why_not(std::string_view what) {
    return fmt::format("{}: {}", what, std::strerror(errno));
}

// Root of a sandbox is root of the host for the files of /proc, whatever its rights. So its /proc
// is read-only, and with it each that is mounted further in: the kernel gives no more rights than
// the outer one has. It also has no part that is covered, unlike that of bwrap: below a covered one
// the kernel lets nobody mount another. For others the kernel's files refuse to open.
//
// `processes`: a folder that shows only processes and can be written, for the maps of user
// namespaces. Nothing finds it by a path. Empty: done.
std::string protect_proc(int& processes) {
    if (::geteuid() != 0) return {};
    if (::mount("proc", "/proc", "proc", kProcFlags, "subset=pid") != 0)
        return why_not("/proc of processes alone, which needs Linux 5.8");
    processes = ::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (processes < 0) return why_not("/proc");
    if (::mount("proc", "/proc", "proc", kProcFlags | MS_RDONLY, nullptr) != 0)
        return why_not("a read-only /proc");
    return {};
}

// All but those in `kept`, a set of bits. With no_new_privs, which is set, exec adds none.
void drop_capabilities(std::uint64_t kept) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> now{};
    if (::syscall(SYS_capget, &header, now.data()) != 0) return;
    for (size_t i = 0; i < now.size(); ++i) {
        const auto bits = static_cast<std::uint32_t>(kept >> (32 * i));
        now[i].effective &= bits;
        now[i].permitted &= bits;
        now[i].inheritable = 0;
    }
    ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    ::syscall(SYS_capset, &header, now.data());
}

// Root's zygote maps root into the namespaces of its children, which needs it.
constexpr std::uint64_t kForServers = 1ull << CAP_SETFCAP;

void send_text(int socket, std::string_view text) {
    ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
}

// Nobody but the sandbox's own processes reaches its loopback.
constexpr int kWaitingConnections = 128;

int listen_on(std::uint16_t port) {
    const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&  // NOLINT
        ::listen(listening, kWaitingConnections) == 0)
        return listening;
    return -1;
}

// With a socket that listens on `port` of this network namespace; 0: without one. The socket
// belongs to the runner then: no process of the sandbox keeps it.
void announce(int socket, std::uint16_t port) {
    if (port == 0) return send_text(socket, kInitMessage);
    const int listening = listen_on(port);
    if (listening < 0) return send_text(socket, why_not("a port of the sandbox's own"));
    std::string text(kInitMessage);
    iovec words{text.data(), text.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof listening)> room{};
    msghdr header{};
    header.msg_iov = &words;
    header.msg_iovlen = 1;
    header.msg_control = room.data();
    header.msg_controllen = room.size();
    cmsghdr* control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof listening);
    std::memcpy(CMSG_DATA(control), &listening, sizeof listening);
    ::sendmsg(socket, &header, MSG_NOSIGNAL);
    ::close(listening);
}

// Empty: the other end is closed.
std::string receive_text(int socket) {
    std::array<char, 64> buffer;
    ssize_t n = 0;
    do n = ::recv(socket, buffer.data(), buffer.size(), 0);
    while (n < 0 && errno == EINTR);
    return n > 0 ? std::string(buffer.data(), static_cast<size_t>(n)) : std::string();
}

std::vector<char*> pointers(const std::vector<std::string>& words, size_t first) {
    std::vector<char*> argv;
    for (size_t i = first; i < words.size(); ++i)
        argv.push_back(const_cast<char*>(words[i].c_str()));  // NOLINT: execv takes it so
    argv.push_back(nullptr);
    return argv;
}

std::string held(std::string_view variable) {
    return std::string(kHeldVariable).append(variable);
}

const char* held_value(std::string_view variable) { return std::getenv(held(variable).c_str()); }

// Reaps others until the leader has ended; its own status stays.
void wait_for_leader(pid_t leader) {
    siginfo_t ended{};
    while (true) {
        ended.si_pid = 0;
        if (::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) != 0) {
            if (errno == EINTR) continue;
            return;
        }
        if (ended.si_pid == leader) return;
        ::waitpid(ended.si_pid, nullptr, 0);
    }
}

// Announces itself only now that the leader cannot trace it: that one begins when both have.
int answer_for(pid_t leader, int socket, std::uint16_t port) {
    drop_capabilities(0);
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    announce(socket, port);
    wait_for_leader(leader);
    if (receive_text(socket) != kWaitMessage) return 0;  // the runner is gone
    const char* tmp = held_value("TMPDIR");
    const std::string left = left_files_as_text(tmp && *tmp == '/' ? tmp : "/tmp");
    int status = 0;
    rusage used{};
    while (::wait4(leader, &status, 0, &used) < 0 && errno == EINTR) continue;
    std::string message(kEndedMessage);
    message.append(reinterpret_cast<const char*>(&status), sizeof status);  // NOLINT: as received
    message.append(reinterpret_cast<const char*>(&used), sizeof used);      // NOLINT
    message += left;
    send_text(socket, message);
    receive_text(socket);  // until the runner has read it and closes its end
    return 0;
}

void say(const std::string& why) {
    // Nobody is left to be told where this cannot be written.
    [[maybe_unused]] const auto written =
        ::write(STDERR_FILENO, (why + "\n").c_str(), why.size() + 1);
}

// The job's own variables, and the folder that bwrap chose.
std::vector<std::string> variables_of_job() {
    std::vector<std::string> variables;
    const bool has_folder = held_value("PWD") != nullptr;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text(*entry);
        if (text.starts_with(kHeldVariable))
            variables.emplace_back(text.substr(kHeldVariable.size()));
        else if (text.starts_with("PWD=") && !has_folder)
            variables.emplace_back(text);
    }
    return variables;
}

[[noreturn]] void become(const std::vector<std::string>& words, size_t first) {
    const auto argv = pointers(words, first);
    const auto variables = variables_of_job();
    ::execve(argv.front(), argv.data(), pointers(variables, 0).data());
    say(why_not("cannot start " + words[first]));
    ::_exit(kNoProgram);
}

// Descriptor 3 is the socket.
int run_child(const std::vector<std::string>& words, std::uint16_t port) {
    constexpr int socket = kInheritedFd;
    ::fcntl(socket, F_SETFD, FD_CLOEXEC);
    const pid_t leader = ::fork();
    if (leader == 0) {
        ::setsid();
        drop_capabilities(0);
        send_text(socket, kLeaderMessage);
        if (receive_text(socket) != kGoMessage) ::_exit(EXIT_FAILURE);
        become(words, 1);
    }
    if (leader < 0) {
        send_text(socket, std::strerror(errno));
        return 1;
    }
    return answer_for(leader, socket, port);
}

// Descriptor 3 is the server's. Its forked processes outlive it.
int run_server(const std::vector<std::string>& words, int processes) {
    const pid_t server = ::fork();
    if (server == 0) {
        drop_capabilities(kForServers);
        if (processes >= 0) {
            // Not a number that the program may expect to be free.
            constexpr int kHigh = 221;
            int passed_on = ::fcntl(processes, F_DUPFD, kHigh);
            if (passed_on < 0) passed_on = ::dup(processes);  // a low limit on open files
            ::setenv(held(kProcessesVariable).c_str(), std::to_string(passed_on).c_str(), 1);
        }
        become(words, 1);
    }
    if (server < 0) return 1;
    ::close(kInheritedFd);
    ::close(processes);
    drop_capabilities(0);
    int status = 0, code = 1;
    for (pid_t ended = 0; (ended = ::wait(&status)) > 0 || errno == EINTR;)
        if (ended == server)
            code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return code;
}

bool write_text(int folder, const std::string& path, const std::string& text) {
    const int file = ::openat(folder, path.c_str(), O_WRONLY | O_CLOEXEC);
    const bool written =
        file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (file >= 0) ::close(file);
    return written;
}

// As harness/_compat_harness/namespaces.py does for forked children. Empty: it works.
std::string try_to_nest(int processes) {
    const bool root = processes >= 0;
    const std::string own = root ? "self/" : "/proc/self/";
    const std::string user = fmt::format("{0} {0} 1", ::getuid());
    const std::string group = fmt::format("{0} {0} 1", ::getgid());
    drop_capabilities(kForServers);
    if (::unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET) != 0)
        return why_not("namespaces in the sandbox");
    if (!write_text(processes, own + "setgroups", "deny") ||
        !write_text(processes, own + "uid_map", user) ||
        !write_text(processes, own + "gid_map", group))
        return why_not("a user namespace in the sandbox");
    const pid_t child = ::fork();
    if (child < 0) return why_not("a process namespace in the sandbox");
    if (child == 0) {
        errno = 0;
        ::mount("proc", "/proc", "proc", kProcFlags | (root ? MS_RDONLY : 0), nullptr);
        ::_exit(errno);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
    return errno == 0 ? std::string() : why_not("/proc in the sandbox");
}

// Takes "listen PORT" from the front; 0: it is not there.
std::uint16_t take_port(std::vector<std::string>& words) {
    if (words.size() < 2 || words[0] != kListenWord) return 0;
    const auto port = static_cast<std::uint16_t>(std::atoi(words[1].c_str()));
    words.erase(words.begin(), words.begin() + 2);
    return port;
}

int fail_with(const std::string& why) {
    say(why);
    return 1;
}

int check(int processes) {
    const std::string why = try_to_nest(processes);
    return why.empty() ? 0 : fail_with(why);
}

}  // namespace

int run_sandbox_init(std::vector<std::string> words) {
    const std::uint16_t port = take_port(words);
    const std::string_view how = words.empty() ? std::string_view() : std::string_view(words[0]);
    if (how == "of" && words.size() == 3)  // made by a zygote: "of" LEADER SOCKET
        return answer_for(std::atoi(words[1].c_str()), std::atoi(words[2].c_str()), port);
    if (words.size() < 2 || ::getpid() != 1) return kNotForUsers;  // no command for users
    // Before anything of the suite runs, also what it imports early.
    int processes = -1;
    if (const std::string why = protect_proc(processes); !why.empty()) return fail_with(why);
    if (!limit_sockets()) return fail_with(why_not("a filter of sockets (seccomp)"));
    if (how == "server") return run_server(words, processes);
    if (how == "check") return check(processes);
    ::close(processes);  // a test could find it in ours
    if (how == "child") return run_child(words, port);
    return kNotForUsers;
}

}  // namespace compat::exec
