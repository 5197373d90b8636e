#include "runner/exec/linux/socket_filter.h"

#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace compat::exec {

namespace {

// A system-call interface, by the kernel's tables of system calls.
struct Interface {
    std::uint32_t arch, socket, socketpair;
    std::uint32_t socketcall;  // kNoCall: there is none
};

constexpr std::uint32_t kNoCall = ~0U;
#if defined(__x86_64__)
constexpr std::array<Interface, 2> kInterfaces{
    {{AUDIT_ARCH_X86_64, 41, 53, kNoCall}, {AUDIT_ARCH_I386, 359, 360, 102}}};
#elif defined(__aarch64__)
constexpr std::array<Interface, 2> kInterfaces{
    {{AUDIT_ARCH_AARCH64, 198, 199, kNoCall}, {AUDIT_ARCH_ARM, 281, 288, kNoCall}}};
#else
#error "the numbers of socket(2) and socketpair(2) on this architecture are missing"
#endif
// x32 is x86-64 with this bit; no other interface uses it.
constexpr std::uint32_t kX32Bit = 0x40000000;
constexpr std::uint32_t kIoUringSetup = 425;  // everywhere
constexpr std::array<std::uint32_t, 2> kOpenBySocketcall{1, 8};  // socket, socketpair
constexpr std::array<std::uint32_t, 3> kFamilies{AF_UNIX, AF_INET, AF_INET6};

using Code = std::vector<sock_filter>;

Code operator+(Code code, const Code& more) {
    code.insert(code.end(), more.begin(), more.end());
    return code;
}

Code load(size_t offset) {
    return {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset))};
}

// Loads an int, which the kernel takes from the lower half of a register.
Code load_argument(size_t number) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    return load(offsetof(seccomp_data, args) + number * sizeof(std::uint64_t));
}

Code answer(std::uint32_t action) { return {BPF_STMT(BPF_RET | BPF_K, action)}; }
Code allow() { return answer(SECCOMP_RET_ALLOW); }
Code refuse(int error) { return answer(SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)); }

Code when_equal(std::uint32_t value, const Code& then) {
    const auto past = static_cast<std::uint8_t>(then.size());
    return Code{BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, past)} + then;
}

Code by_family() {
    Code code = load_argument(0);
    for (const auto family : kFamilies) code = code + when_equal(family, allow());
    return code +
           when_equal(AF_NETLINK, load_argument(2) + when_equal(NETLINK_ROUTE, allow())) +
           refuse(EAFNOSUPPORT);
}

// Its arguments lie in memory, which a filter cannot read.
Code by_socketcall() {
    Code code = load_argument(0);
    for (const auto call : kOpenBySocketcall) code = code + when_equal(call, refuse(EAFNOSUPPORT));
    return code + allow();
}

Code by_call(const Interface& interface) {
    Code code = load(offsetof(seccomp_data, nr)) +
                Code{BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~kX32Bit)} +
                when_equal(interface.socket, by_family()) +
                when_equal(interface.socketpair, by_family()) +
                when_equal(kIoUringSetup, refuse(ENOSYS));
    if (interface.socketcall != kNoCall)
        code = code + when_equal(interface.socketcall, by_socketcall());
    return code + allow();
}

}  // namespace

std::vector<sock_filter> socket_filter() {
    Code code = load(offsetof(seccomp_data, arch));
    for (const auto& interface : kInterfaces)
        code = code + when_equal(interface.arch, by_call(interface));
    return code + refuse(ENOSYS);
}

bool limit_sockets() {
    Code code = socket_filter();
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    // SPEC_ALLOW: a filter of sockets is no reason to slow down the speculation of all tests.
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                     &program) == 0;
}

}  // namespace compat::exec
