// Information about this host and process that POSIX does not offer. Each system implements it in a
// folder (linux/). Not for other processes (runner/exec/process_table.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace compat {

// The executable of this process; empty: unknown.
[[nodiscard]] std::filesystem::path program_path();

// "AMD EPYC 7763 64-Core Processor"; empty: unknown.
[[nodiscard]] std::string cpu_model();

// Processes that hold a flock(2) on this file; empty if unknown.
[[nodiscard]] std::vector<int> lock_holders(const std::filesystem::path& file);

// Call between fork and exec: the system sends `signal` when the parent dies.
void end_with_parent(int signal);

// "SIGSEGV"; "signal 99" for a number without a name.
[[nodiscard]] std::string signal_name(int signal);

}  // namespace compat
