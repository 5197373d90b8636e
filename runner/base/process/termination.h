// Asks whether somebody wants the runner to end, while the signals for it are blocked. Not for the
// event loop of a run, which handles them (runner/exec/signals.h).
#pragma once

namespace compat {

// Whether the process ignores the signal: by `trap '' INT`, `nohup` or `&`, which ask for that.
[[nodiscard]] bool is_ignored(int signal);

// Whether one of kTerminationSignals is blocked and came since, and no loop has handled it.
[[nodiscard]] bool is_termination_pending();

}  // namespace compat
