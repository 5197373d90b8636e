// Pairs of descriptors that no child inherits. Each system implements them in a folder (linux/,
// darwin/).
#pragma once

namespace compat::exec {

// The read end and the write end of a pipe. False: errno says why.
[[nodiscard]] bool open_pipe(int (&ends)[2]);

// Two ends of a connection that keeps messages apart, passes descriptors and shows when the other
// end is closed. False: errno says why.
[[nodiscard]] bool open_message_sockets(int (&ends)[2]);

}  // namespace compat::exec
