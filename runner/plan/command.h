// Makes argv and environment of the child that runs a module. Pure. Not here: starting
// it (runner/exec), making what it names (runner/prepare).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "runner/plan/plan.h"
#include "suites/suite.h"

namespace compat::plan {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Settings that all children of a run share.
struct ChildSettings {
    std::filesystem::path python;        // the environment's interpreter
    std::filesystem::path root;          // the suite's source, the child's working folder
    std::filesystem::path harness;       // harness/main.py
    std::filesystem::path activation;    // first on PYTHONPATH where the shim is on
    std::filesystem::path shim_library;  // empty: the shim is off
    std::string policy = "missing";
    bool masquerade = false;
    std::string simulate;  // "mps", "cuda": an accelerator that the shim simulates; empty: none
    bool fallback = true;
    int threads = 1;           // OMP_NUM_THREADS where nobody has set it; 0: it stays unset
    std::string keyword;       // -k EXPR; empty: none
    std::int64_t maxfail = 0;  // a child stops after this many failed tests; 0: never
    bool collect_only = false;
    std::vector<std::string> options;  // for pytest, as they are
    Variables inherited;               // the runner's own environment
    Variables from_user;               // --env K=V
};

// Files of one attempt, absolute.
struct AttemptPaths {
    std::filesystem::path log, events, devices, only;
    std::string id;  // by which the child's processes are known: COMPAT_JOB
};

struct ChildCommand {
    std::vector<std::string> argv;
    Variables env;  // what is this child's own, on top of `child_variables`
};

// The environment that all children of a run have in common, whole, sorted by name.
[[nodiscard]] Variables child_variables(const suites::Suite& suite, const ChildSettings& settings);

[[nodiscard]] ChildCommand child_command(const suites::Suite& suite, const ChildSettings& settings,
                                         const Job& job, const AttemptPaths& paths);

// The command line of the process that imports the suite's `preload` and is forked for each module
// (warm start): that of a module's child up to the harness, and nothing of a module. It has the end
// of a socket as its descriptor `socket`.
[[nodiscard]] std::vector<std::string> zygote_argv(const suites::Suite& suite,
                                                   const ChildSettings& settings, int socket);

// The whole environment of a program of the user's own: a child's without a suite, sorted by name.
// Settings that name no `python` leave PATH alone; an empty `record` names no file to record in.
[[nodiscard]] Variables program_variables(const ChildSettings& settings,
                                          const std::filesystem::path& record);

// What a child gets on top of the inherited environment, files of the attempt left out: for the
// record of a run and for commands that people copy. Sorted by name.
[[nodiscard]] Variables added_variables(const suites::Suite& suite, const ChildSettings& settings);

}  // namespace compat::plan
