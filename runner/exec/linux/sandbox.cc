// The runner's side of a sandbox on Linux (sandbox.h): it meets the init and asks it for the end.
#include "runner/exec/sandbox.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "runner/exec/descriptors.h"
#include "runner/exec/linux/pidfd.h"
#include "runner/exec/linux/sandbox_messages.h"

namespace compat::exec {

namespace {

struct Received {
    std::string text;  // empty: a hang-up or a time-out
    int sender = 0;
    Fd descriptor{};  // that came with it
};

Received receive_message(int socket, Milliseconds timeout) {
    if (!wait_readable(socket, timeout)) return {};
    Received message;
    message.text.resize(kLongestMessage);
    iovec text{message.text.data(), message.text.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int))> room{};
    msghdr header{};
    header.msg_iov = &text;
    header.msg_iovlen = 1;
    header.msg_control = room.data();
    header.msg_controllen = room.size();
    const ssize_t n = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    message.text.resize(n > 0 ? static_cast<size_t>(n) : 0);
    for (cmsghdr* control = CMSG_FIRSTHDR(&header); control;
         control = CMSG_NXTHDR(&header, control)) {
        if (control->cmsg_level != SOL_SOCKET) continue;
        if (control->cmsg_type == SCM_CREDENTIALS) {
            ucred sender{};
            std::memcpy(&sender, CMSG_DATA(control), sizeof sender);
            message.sender = sender.pid;
        } else if (control->cmsg_type == SCM_RIGHTS) {
            for (std::size_t at = 0; at + CMSG_LEN(sizeof(int)) <= control->cmsg_len;
                 at += sizeof(int)) {
                int descriptor = -1;
                std::memcpy(&descriptor, CMSG_DATA(control) + at, sizeof descriptor);
                message.descriptor = Fd(descriptor);  // an earlier one is closed
            }
        }
    }
    return message;
}

bool send_message(int socket, std::string_view text) {
    return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(text.size());
}

std::vector<std::string> sandbox_argv(const Sandbox& sandbox, const std::vector<std::string>& own,
                                      const char* role, const std::vector<std::string>& argv) {
    std::vector<std::string> words = sandbox.argv;
    words.insert(words.end(), own.begin(), own.end());
    words.emplace_back("--");
    words.insert(words.end(), sandbox.init.begin(), sandbox.init.end());
    words.emplace_back(role);
    words.insert(words.end(), argv.begin(), argv.end());
    return words;
}

LeftFiles left_files(std::string_view text) {
    LeftFiles left;
    const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    try {
        left.count = json.at("count").get<std::int64_t>();
        left.bytes = json.at("bytes").get<std::int64_t>();
        for (const auto& file : json.at("files"))
            left.files.push_back({file.at(0).get<std::string>(), file.at(1).get<std::int64_t>()});
    } catch (const nlohmann::json::exception&) {
        return {};
    }
    return left;
}

}  // namespace

std::vector<std::string> init_words(const fs::path& program, std::uint16_t port) {
    std::vector<std::string> words{program, std::string(kInitWord)};
    if (port != 0) words.insert(words.end(), {std::string(kListenWord), std::to_string(port)});
    return words;
}

const char* process_folder() { return "/proc"; }

std::vector<std::string> rights_of_init() {
    if (::geteuid() != 0) return {};
    return {"CAP_SYS_ADMIN", "CAP_SETFCAP"};
}

std::vector<std::string> in_sandbox(const Sandbox& sandbox, const std::vector<std::string>& argv,
                                    const fs::path& writable) {
    std::vector<std::string> own;
    if (!writable.empty()) own = {"--bind", writable, writable};
    return sandbox_argv(sandbox, own, "child", argv);
}

std::vector<std::string> server_in_sandbox(const Sandbox& sandbox,
                                           const std::vector<std::string>& argv) {
    return sandbox_argv(sandbox, sandbox.of_server, "server", argv);
}

bool open_sandbox_sockets(int (&ends)[2]) {
    if (!open_message_sockets(ends)) return false;
    const int on = 1;
    return ::setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0;
}

Expected<std::unique_ptr<SandboxInit>> SandboxInit::meet(const Sandbox& sandbox, Fd socket,
                                                         int outer, Milliseconds timeout) {
    std::unique_ptr<SandboxInit> made(new SandboxInit);
    made->socket_ = std::move(socket);
    made->outer_ = outer;
    while (made->leader_ == 0 || made->pid_ == 0) {
        Received message = receive_message(made->socket_.get(), timeout);
        if (message.text == kInitMessage) {
            made->pid_ = message.sender;
            made->process_ = open_pidfd(message.sender);
            TRY(made->listen(sandbox, std::move(message.descriptor)));
        } else if (message.text == kLeaderMessage) {
            made->leader_ = message.sender;
        } else {
            return fail(ErrorKind::spawn, message.text.empty()
                                              ? "the sandbox did not start"
                                              : "the sandbox did not start: " + message.text);
        }
    }
    return made;
}

Expected<void> SandboxInit::listen(const Sandbox& sandbox, Fd listening) {
    if (!sandbox.port) return {};
    if (!listening.valid())
        return fail(ErrorKind::spawn, "the sandbox did not start: it sent no listening socket");
    answering_ = sandbox.port->answer(std::move(listening));
    if (!answering_)
        return fail(ErrorKind::spawn, "the sandbox did not start: nobody answers on its port");
    return {};
}

SandboxInit::~SandboxInit() {
    if (process_.valid()) ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
    if (outer_ <= 0) return;
    ::kill(outer_, SIGKILL);
    while (::waitpid(outer_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void SandboxInit::release() { send_message(socket_.get(), kGoMessage); }

std::optional<SandboxInit::End> SandboxInit::wait(Milliseconds timeout) {
    if (!send_message(socket_.get(), kWaitMessage)) return std::nullopt;
    const Received message = receive_message(socket_.get(), timeout);
    End end;
    const size_t fixed = kEndedMessage.size() + sizeof end.status + sizeof end.used;
    if (!message.text.starts_with(kEndedMessage) || message.text.size() < fixed)
        return std::nullopt;
    const char* at = message.text.data() + kEndedMessage.size();
    std::memcpy(&end.status, at, sizeof end.status);
    std::memcpy(&end.used, at + sizeof end.status, sizeof end.used);
    end.left = left_files(std::string_view(message.text).substr(fixed));
    return end;
}

}  // namespace compat::exec
