// The options of a run. Settings that all commands share are in config/settings.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace compat::run {

struct RunRequest {
    std::string suite;
    std::vector<std::string> targets;
    std::string keyword;
    std::vector<std::string> env;  // "K=V"
    bool dry_run = false;
    int verbosity = 0;
    std::int64_t maxfail = 0;  // 0: never
    bool flaky_fails = false;
    std::vector<std::string> fail_on;  // marks that make the run fail
    std::string order;                 // empty: longest first
    std::string shard;                 // "2/5"; empty: all
    int repeat = 1;                    // runs, one after the other
    std::string repeat_of;             // the first of them; empty: this run
    // Stored even if it selected no test: other runs are compared with it.
    bool keep_empty = false;
    bool discovery_printed = false;  // by the caller, or by the first of several runs
    bool options_checked = false;    // those for pytest, by the first of several runs
};

}  // namespace compat::run
