// Information about this host and process that POSIX does not offer. Each system implements it in a
// folder (linux/, darwin/). Not for other processes (runner/exec/process_table.h).
#pragma once

#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runner/base/files/fs.h"

namespace compat {

// The executable of this process; empty: unknown.
[[nodiscard]] fs::path program_path();

// "Debian GNU/Linux 12 (bookworm)", "macOS 14.5"; empty: unknown.
[[nodiscard]] std::string os_name();

// "AMD EPYC 7763 64-Core Processor"; empty: unknown.
[[nodiscard]] std::string cpu_model();

// Processes that hold a flock(2) on this file; empty if unknown.
[[nodiscard]] std::vector<int> lock_holders(const fs::path& file);

// The environment variable with folders for the loader of shared libraries.
[[nodiscard]] const char* library_path_variable();

// In bytes, because POSIX leaves the units of rusage to the system.
struct UsageBytes {
    std::int64_t max_rss = 0;
    std::int64_t read = 0, written = 0;  // from and to disks; 0 where the system counts no bytes
};
[[nodiscard]] UsageBytes bytes_of(const rusage& used);

// POSIX does not name these fields as all systems do.
struct FileTimes {
    timespec accessed{}, modified{}, changed{};
};
[[nodiscard]] FileTimes times_of(const struct stat& file);

// Makes the new file `to` share the blocks of `from` until one of them is written (reflink). False:
// the file systems cannot, and there is no `to`.
[[nodiscard]] bool clone_file(const fs::path& from, const fs::path& to);

// Call between fork and exec: the system sends `signal` when the parent dies. Does nothing on
// macOS.
void end_with_parent(int signal);

// "SIGSEGV"; "signal 99" for a number without a name.
[[nodiscard]] std::string signal_name(int signal);

}  // namespace compat
