// The block of memory that sysctl(KERN_PROCARGS2) returns: what a process got from exec. Not for
// reading it (process_table.cc). Needs no macOS, so that it is tested everywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace compat::exec {

struct ProcessArguments {
    std::vector<std::string> argv;
    std::vector<std::string> environment;  // NAME=VALUE; empty: none, or no permission
};

// The number of arguments as an int, the executable's path, NULs up to the first argument, the
// arguments, the environment; each string ends with a NUL. An empty result: not such a block.
[[nodiscard]] ProcessArguments parse_process_arguments(std::string_view block);

}  // namespace compat::exec
