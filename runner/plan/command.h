// Makes argv and environment of the child that runs a module. Pure. Not here: starting
// it (runner/exec), making what it names (runner/prepare).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/base/files/fs.h"
#include "runner/base/run/run_info.h"
#include "runner/plan/plan.h"
#include "suites/suite.h"

namespace compat::plan {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Names the device of the run to the device library.
inline constexpr std::string_view kDeviceVariable = "COMPAT_DEVICE";

// A run's own hub of models and datasets (runner/hub), as its children reach it.
struct ChildHub {
    std::string endpoint;  // "http://127.0.0.1:8737"; empty: there is none
    fs::path home;         // HF_HOME: the clients' cache, of this run alone
    fs::path activation;   // on PYTHONPATH, after the shim's (runner/hub/child)
    bool takes_tokens = false;
};

// Settings that all children of a run share.
struct ChildSettings : RunSettings {
    fs::path python;        // the environment's interpreter
    fs::path root;          // the suite's source, the child's working folder
    fs::path harness;       // harness/main.py
    fs::path activation;    // first on PYTHONPATH where the shim is on
    fs::path shim_library;  // empty: the shim is off
    std::string policy = "missing";
    bool masquerade = false;
    std::string simulate;  // "mps", "cuda": an accelerator that the shim simulates; empty: none
    std::string device_memory;    // of each simulated device, "8G"; empty: a share of the host's
    std::string macos;            // of a simulated Mac, "15"; empty: the shim's default
    std::string start_method;     // of processes on a simulated Mac; empty: the shim's default
    bool mac_like = false;        // Python says that a simulated Mac is one
    bool sanitize = false;        // PyTorch's check of CUDA streams
    int processes = 1;            // that run at once and share the host's memory
    bool default_device = false;  // tensors without a device are made on the accelerator
    bool on_cpu = false;          // the host has an accelerator, and the suite is to run on the CPU
    Variables device_library = {};  // its settings (docs/guide/device-library.md)
    std::string default_dtype;      // of torch, whatever the code sets; empty: the code's
    int threads = 1;                // OMP_NUM_THREADS where nobody has set it; 0: it stays unset
    std::string keyword;            // -k EXPR; empty: none
    std::int64_t maxfail = 0;       // a child stops after this many failed tests; 0: never
    bool collect_only = false;
    std::vector<std::string> options;         // for pytest, as they are
    std::vector<std::string> device_options;  // the suite's own, before them
    Variables inherited;                      // the runner's own environment
    Variables from_user;                      // --env K=V
    Variables private_variables{};  // HOME, TMPDIR, …: folders of an isolated run; not recorded
    ChildHub hub{};
};

// Files of one attempt, absolute. The child's own files, events and devices, lie in a folder of
// their own.
struct AttemptPaths {
    fs::path log, events, devices, only;
    std::string id;                  // value of COMPAT_JOB, which identifies the child's processes
    int random_stream = 0;           // other random numbers than the suite's own; 0: those
    fs::path folder{};               // the run's, above all of them

    // Things that the attempt's tests got from a hub.
    [[nodiscard]] fs::path hub() const;
};

struct ChildCommand {
    std::vector<std::string> argv;
    Variables env;  // of this child only; added to `child_variables`
};

// The environment that all children of a run share, sorted by name.
[[nodiscard]] Variables child_variables(const suites::Suite& suite, const ChildSettings& settings);

[[nodiscard]] ChildCommand child_command(const suites::Suite& suite, const ChildSettings& settings,
                                         const Job& job, const AttemptPaths& paths);

// The command line of the zygote (warm start): a child's, without the arguments for a module.
// `socket` is the descriptor on which it receives requests; it imports `preload` first.
[[nodiscard]] std::vector<std::string> zygote_argv(const suites::Suite& suite,
                                                   const ChildSettings& settings, int socket,
                                                   const std::vector<std::string>& preload);

// The environment of a user's program (`runner exec`): a child's without a suite, sorted by name.
// Without `python` in the settings, PATH is unchanged. With an empty `record` nothing is recorded.
[[nodiscard]] Variables program_variables(const ChildSettings& settings, const fs::path& record);

// Variables that a child's environment adds to the inherited one, without the attempt's files. For
// a run's record and for commands that people copy. Sorted by name.
[[nodiscard]] Variables added_variables(const suites::Suite& suite, const ChildSettings& settings);

}  // namespace compat::plan
