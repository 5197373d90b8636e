// descriptors.h on Linux.
#include "runner/exec/descriptors.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace compat::exec {

bool open_pipe(int (&ends)[2]) { return ::pipe2(ends, O_CLOEXEC) == 0; }

bool open_message_sockets(int (&ends)[2]) {
    return ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
}

}  // namespace compat::exec
