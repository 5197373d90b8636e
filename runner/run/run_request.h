// What a command asks of a run. Values only; the settings that every command shares are
// config/settings.h.
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
    std::string order;      // empty: longest first
    std::string shard;      // "2/5"; empty: all
    int repeat = 1;         // runs, one after the other
    std::string repeat_of;  // the first of those; empty: this one
    // Stored although it selected no test: others are compared with it, or joined.
    bool keep_empty = false;
};

}  // namespace compat::run
