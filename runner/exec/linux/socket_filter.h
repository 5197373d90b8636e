// Which kinds of sockets a sandbox's processes open: those of programs (Unix, IPv4, IPv6, and
// netlink for routes), as under a kernel that has no others. Namespaces do not cover every family:
// VSOCK reaches the hypervisor. Not for what a socket then reaches (the network namespace).
#pragma once

#include <linux/filter.h>

#include <vector>

namespace compat::exec {

// A program of seccomp(2), for all system-call interfaces of this machine. io_uring, which opens
// sockets past it, is refused with ENOSYS.
[[nodiscard]] std::vector<sock_filter> socket_filter();

// Holds for this process and all that it starts. Sets no_new_privs. False: errno says why.
[[nodiscard]] bool limit_sockets();

}  // namespace compat::exec
