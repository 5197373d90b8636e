// One child process to run: everything the executor may know of it. It knows no test framework.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/clock.h"

namespace compat::exec {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct Job {
    std::string name;               // for people: the module's path
    std::vector<std::string> argv;  // argv[0] is an absolute path; never given to a shell
    std::filesystem::path cwd;
    // The child's whole environment: what it has in common with other jobs, and then its own, which
    // wins. Thousands of jobs wait in memory.
    std::shared_ptr<const Variables> common_env;
    Variables env;
    std::filesystem::path log;     // receives stdout and stderr
    std::filesystem::path events;  // the progress protocol is read here
    Milliseconds timeout{};        // of the whole child; 0: none
    Milliseconds test_timeout{};   // between a test's start and its end; 0: none
    std::uint64_t log_bytes = 64ull << 20;
    std::uint64_t memory_bytes = 0;  // of all its processes together; 0: no bound
    int attempt = 1;                 // the how-manieth at this module
    std::string id;       // the value of COMPAT_JOB in `env`, by which its processes are known
    bool warm = false;    // it may be forked from the zygote
    bool helper = false;  // it works for all jobs: what comes from it is not its own
};

}  // namespace compat::exec
