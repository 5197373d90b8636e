// pidfd_open(2), which older C libraries do not wrap: a descriptor of a process, readable once the
// process has ended.
#pragma once

#include <sys/syscall.h>

#include "runner/exec/fd.h"

namespace compat::exec {

// Close-on-exec by default.
[[nodiscard]] inline Fd open_pidfd(int pid) {
    return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace compat::exec
