// One child process to run: everything the executor may know of it. It knows no test framework.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/clock.h"

namespace compat::exec {

struct Job {
    std::string name;               // for people: the module's path
    std::vector<std::string> argv;  // argv[0] is an absolute path; never given to a shell
    std::filesystem::path cwd;
    std::vector<std::pair<std::string, std::string>> env;  // the child's whole environment
    std::filesystem::path log;                             // receives stdout and stderr
    std::filesystem::path events;                          // the progress protocol is read here
    Milliseconds timeout{};                                // 0: none
    std::uint64_t log_bytes = 64ull << 20;
};

}  // namespace compat::exec
