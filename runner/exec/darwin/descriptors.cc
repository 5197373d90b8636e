// descriptors.h on macOS, which has neither pipe2 nor SOCK_SEQPACKET.
#include "runner/exec/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace compat::exec {

// Not atomic, as macOS has no pipe2(2): a child that another thread starts in between would inherit
// the ends. The event loop starts children on one thread, and close_from_on_exec closes the rest.
bool open_pipe(int (&ends)[2]) {
    if (::pipe(ends) != 0) return false;
    for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
    return true;
}

// macOS has no SOCK_SEQPACKET for AF_UNIX, and datagrams do not show a closed end. Only warm start
// asks for them, which needs a sub-reaper as well (adopt_orphans).
bool open_message_sockets(int (&)[2]) {
    errno = ENOTSUP;
    return false;
}

}  // namespace compat::exec
