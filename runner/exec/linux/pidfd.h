// A descriptor that stands for a process and can be read once it has ended; pidfd_open(2) has no
// wrapper in older C libraries.
#pragma once

#include <sys/syscall.h>

#include "runner/exec/fd.h"

namespace compat::exec {

// Closed on exec, as the kernel makes it.
[[nodiscard]] inline Fd open_pidfd(int pid) {
    return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace compat::exec
