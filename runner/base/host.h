// What only the system itself can say or do for us, where POSIX has no word for it. One folder a
// system implements it (linux/). Not for other processes: exec/process_table.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace compat {

// Of this process; empty: not known.
[[nodiscard]] std::filesystem::path program_path();

// "AMD EPYC 7763 64-Core Processor"; empty: not known.
[[nodiscard]] std::string cpu_model();

// The processes that hold a flock(2) on this file, as far as the system tells.
[[nodiscard]] std::vector<int> lock_holders(const std::filesystem::path& file);

// Between fork and exec: should the parent end, this process gets `signal`.
void end_with_parent(int signal);

// "SIGSEGV"; "signal 99" where the number has no name.
[[nodiscard]] std::string signal_name(int signal);

}  // namespace compat
