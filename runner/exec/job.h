// One child process to run, as the executor sees it. Not here: suites, modules and test frameworks
// (runner/plan).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/files/file_below.h"
#include "runner/base/files/fs.h"

namespace compat::exec {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct Sandbox;

struct Job {
    std::string name;               // for people: the module's path
    std::vector<std::string> argv;  // argv[0] is an absolute path; no shell
    fs::path cwd;
    // The whole environment: `env` overrides `common_env`, which jobs share because thousands of
    // them wait in memory.
    std::shared_ptr<const Variables> common_env;
    Variables env;
    std::shared_ptr<const Sandbox> sandbox{};  // it runs in this one; null: in none
    FileBelow log;       // receives stdout and stderr
    FileBelow events;    // the progress protocol is read here
    FileBelow writable;  // a folder for the files of this job alone, made anew; empty: none
    // The key for the MACs of its events (base/line_mac.h). The child reads it from its stdin,
    // a pipe, so that no process sees it in a command line or an environment. Empty: stdin is
    // /dev/null.
    std::string key{};
    Milliseconds timeout{};       // of the whole child; 0: none
    Milliseconds test_timeout{};  // between a test's start and its end; 0: none
    std::uint64_t log_bytes = 64ull << 20;
    std::uint64_t memory_bytes = 0;  // of all its processes together; 0: no limit
    int attempt = 1;                 // at this module, from 1
    std::string id;       // the value of COMPAT_JOB in `env`, which identifies its processes
    bool warm = false;    // may be forked from the zygote
    bool last = false;    // added to a run, it starts after all waiting jobs
    bool helper = false;  // serves all jobs: its descendants belong to other jobs
};

}  // namespace compat::exec
