// The filter of sockets, as the kernel applies it.
#include "runner/exec/linux/socket_filter.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace compat::exec {
namespace {

// The errno of a call in a process under the filter; 0: it succeeded.
int error_under_filter(const std::function<long()>& call) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (!limit_sockets()) ::_exit(255);
        ::_exit(call() >= 0 ? 0 : errno);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int error_of_socket(int family, int type, int protocol = 0) {
    return error_under_filter([=] { return ::socket(family, type, protocol); });
}

TEST(SocketFilter, LetsProgramsOpenTheirs) {
    EXPECT_EQ(error_of_socket(AF_UNIX, SOCK_STREAM), 0);
    EXPECT_EQ(error_of_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC), 0);
    EXPECT_EQ(error_of_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), 0);
    EXPECT_EQ(error_under_filter([] {
                  int ends[2];
                  return ::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends);
              }),
              0);
}

TEST(SocketFilter, RefusesOthersAsAKernelWithoutThem) {
    for (const int family : {AF_VSOCK, AF_PACKET, AF_ALG, AF_TIPC, AF_BLUETOOTH, AF_KEY, 0, -1})
        EXPECT_EQ(error_of_socket(family, SOCK_DGRAM), EAFNOSUPPORT) << family;
    EXPECT_EQ(error_of_socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT), EAFNOSUPPORT);
    EXPECT_EQ(error_under_filter([] {
                  int ends[2];
                  return ::socketpair(AF_TIPC, SOCK_SEQPACKET, 0, ends);
              }),
              EAFNOSUPPORT);
    // The kernel takes the lower half of an int.
    EXPECT_EQ(error_under_filter([] {
                  return ::syscall(SYS_socket, (1L << 32) + AF_VSOCK, SOCK_STREAM, 0);
              }),
              EAFNOSUPPORT);
}

TEST(SocketFilter, RefusesIoUring) {
    constexpr long kIoUringSetup = 425;
    EXPECT_EQ(error_under_filter([] { return ::syscall(kIoUringSetup, 1, nullptr); }), ENOSYS);
}

TEST(SocketFilter, HoldsForProcessesThatAreStarted) {
    EXPECT_EQ(error_under_filter([] {
                  EXPECT_EQ(::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
                  return static_cast<long>(::execl(
                      "/usr/bin/python3", "python3", "-c",
                      "import socket, sys\n"
                      "try: socket.socket(40, socket.SOCK_STREAM)\n"
                      "except OSError as error: sys.exit(error.errno)\n",
                      nullptr));
              }),
              EAFNOSUPPORT);
}

#if defined(__x86_64__)
constexpr int kVsock = AF_VSOCK;

// By the system calls of 32-bit programs, which a kernel may not have.
long call_32(long number, long first, long second, long third) {
    long result = 0;
    asm volatile("int $0x80"
                 : "=a"(result)
                 : "a"(number), "b"(first), "c"(second), "d"(third)
                 : "memory", "r8", "r9", "r10", "r11");
    if (result >= 0) return result;
    errno = static_cast<int>(-result);
    return -1;
}

TEST(SocketFilter, HoldsForThe32BitCalls) {
    constexpr long kSocket = 359, kSocketcall = 102, kOfSocket = 1, kGetpid = 20;
    if (error_under_filter([] { return call_32(kGetpid, 0, 0, 0); }) != 0)
        GTEST_SKIP() << "this kernel runs no 32-bit programs";
    EXPECT_EQ(error_under_filter([] { return call_32(kSocket, AF_UNIX, SOCK_STREAM, 0); }), 0);
    EXPECT_EQ(error_under_filter([] { return call_32(kSocket, kVsock, SOCK_STREAM, 0); }),
              EAFNOSUPPORT);
    EXPECT_EQ(error_under_filter([] { return call_32(kSocketcall, kOfSocket, 0, 0); }),
              EAFNOSUPPORT);
}

TEST(SocketFilter, HoldsForTheCallsOfX32) {
    constexpr long kX32Socket = 0x40000000 + 41;
    const int error =
        error_under_filter([] { return ::syscall(kX32Socket, kVsock, SOCK_STREAM, 0); });
    EXPECT_EQ(error, EAFNOSUPPORT);
}
#endif

}  // namespace
}  // namespace compat::exec
