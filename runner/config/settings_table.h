// All settings, one row each: type, default, and where a user sets it. Options, checks, `doctor`,
// the JSON Schema of the configuration files and docs/reference/settings.md come from this table.
// Not here: the order of precedence (settings.h) and the effects of a setting.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/device_kind.h"
#include "runner/base/framework.h"

namespace compat::config {

enum class Setting {
    jobs,
    timeout,
    test_timeout,
    retries,
    results,
    shim,
    warm,
    confirm,
    policy,
    masquerade,
    simulate,
    default_device,
    keep_going,
    seeds,
    device,
    precision,
    prefer,
    allow_tpu,
    memory_fraction,
    recovery,
    optimizations,
    diagnose,
    diagnose_time,
    device_memory,
    macos,
    start_method,
    mac_like,
    sanitize,
    fallback,
    nccl_bandwidth,
    nccl_latency,
    python,
    root,
    framework,
    isolation,
    network,
    tmp_size,
    hub,
    hub_lock,
    hub_max,
    name,
    expectations,
    progress,
    color,
    issue_text,
    torch_requirement,
    base_python,
    cache,
    on,
    slurm_partition,
    slurm_account,
    slurm_constraint,
    slurm_gres,
    slurm_time,
    slurm_mem,
    slurm_cpus,
    slurm_setup,
    slurm_shards,
    slurm_target_time,
    slurm_in_flight,
};

enum class Type {
    words,     // one of `allowed`, separated by "|"
    on_off,    // true or false in a JSON or TOML file
    number,    // a whole number from `least` to `most`
    duration,  // "90s", "30m", "1h30m"
    size,      // "8G", "512M", or bytes
    device,    // a type of device, or one with an index: "cuda:1"
    fraction,  // a number above 0, at most 1
    amount,    // a number of `least` or more, in the unit that is `allowed`
    path,      // in a file: relative to that file; or one of `allowed`, separated by "|"
    program,   // a path if it has a slash, else a name on PATH
    text,
};

// Under which heading help lists an option of a command with many.
enum class Heading {
    none,
    selection,
    running,
    limits,
    devices,
    isolation,
    environment,
    verdict,
    output,
    cluster
};
inline constexpr std::array<std::string_view, 10> kHeadings{
    "Options",   "Selection",   "Running", "Limits", "Redirection and devices",
    "Isolation", "Environment", "Verdict", "Output", "Shards and Slurm"};
[[nodiscard]] constexpr std::string_view name_of(Heading heading) {
    return kHeadings[static_cast<std::size_t>(heading)];
}

struct SettingRow {
    Setting setting;
    std::string_view name;
    Type type;
    std::string_view allowed;
    int least, most;
    std::string_view fixed;     // the default; empty: none, or computed (default_of)
    std::string_view computed;  // a computed default, described for users
    std::string_view flag;      // empty: none
    std::string_view variable;  // COMPAT_*, COMPUTE_*
    std::string_view in_suite;  // key of suite.json; empty: none
    std::string_view key;       // key of configuration files
    std::string_view help;
    Heading heading = Heading::none;

    // "a number of retries"
    [[nodiscard]] constexpr bool is_count() const { return name.find(' ') == name.npos; }
};

inline constexpr int kMostJobs = 4096;
inline constexpr int kMostRetries = 10;  // as suite.schema.json
inline constexpr int kMostSeeds = 1000;
inline constexpr int kMostShards = 10'000;  // as plan/cut.h
// As in shim/devices/settings.h.
inline constexpr std::string_view kDeviceWords = "auto|cpu|cuda|mps|xpu|hpu|mtia|privateuseone|tpu";
inline constexpr std::string_view kSwitchWords = "on|off|true|false|1|0";
inline constexpr std::string_view kNoFile = "none";

// clang-format off
inline constexpr std::array<SettingRow, 60> kSettings{{
    {Setting::jobs, "jobs", Type::number, "", 1, kMostJobs, "", "number of cores",
     "-j,--jobs", "COMPAT_JOBS", "", "jobs",
     "number of modules to run at once",
     Heading::running},
    {Setting::timeout, "timeout", Type::duration, "", 0, 0, "30m", "",
     "--timeout", "COMPAT_TIMEOUT", "limits.module_timeout", "timeout",
     "time limit for a module; restarts count anew",
     Heading::limits},
    {Setting::test_timeout, "test timeout", Type::duration, "", 0, 0, "5m", "",
     "--test-timeout", "COMPAT_TEST_TIMEOUT", "limits.test_timeout", "test_timeout",
     "time limit for one test",
     Heading::limits},
    {Setting::retries, "retries", Type::number, "", 0, kMostRetries, "0", "",
     "--retries", "COMPAT_RETRIES", "retries", "retries",
     "number of retries of failed tests",
     Heading::running},
    {Setting::results, "results", Type::path, "", 0, 0, "results", "",
     "--results", "COMPAT_RESULTS", "", "results",
     "results folder",
     Heading::output},
    {Setting::shim, "shim", Type::on_off, "on|off", 0, 0, "on", "",
     "--shim", "COMPAT_SHIM", "", "shim",
     "load the shim, which redirects requests for CUDA",
     Heading::devices},
    {Setting::warm, "warm start", Type::on_off, "on|off", 0, 0, "on", "",
     "--warm", "COMPAT_WARM", "warm", "warm",
     "fork each module from one process that has imported the suite's packages",
     Heading::running},
    {Setting::confirm, "confirm", Type::words, "new|all", 0, 0, "new", "",
     "--confirm", "COMPAT_CONFIRM", "", "confirm",
     "repeat failures of forked processes in a fresh one: one for each signature (new), or all",
     Heading::running},
    {Setting::policy, "policy", Type::words, "missing|full|none", 0, 0, "missing", "",
     "--policy", "COMPAT_POLICY", "", "policy",
     "which requests to redirect: for missing devices, all, or none (only with --simulate)",
     Heading::devices},
    {Setting::masquerade, "masquerade", Type::on_off, "on|off", 0, 0, "", "on with policy missing",
     "--masquerade", "COMPAT_MASQUERADE", "", "masquerade",
     "tensors on MPS report themselves as CUDA tensors",
     Heading::devices},
    {Setting::simulate, "simulated device", Type::words, kSimulatedWords, 0, 0, "off", "",
     "--simulate", "COMPAT_SIMULATE", "", "simulate",
     "simulate an accelerator that this host lacks",
     Heading::devices},
    {Setting::default_device, "default device", Type::on_off, "on|off", 0, 0, "off", "",
     "--default-device", "COMPAT_DEFAULT_DEVICE", "device.default_device", "default_device",
     "create tensors without an explicit device on the accelerator",
     Heading::devices},
    {Setting::keep_going, "keep going", Type::on_off, "on|off", 0, 0, "off", "",
     "--keep-going", "COMPAT_KEEP_GOING", "", "keep_going",
     "record each refusal, fall back to the CPU and continue; gives no verdict",
     Heading::devices},
    {Setting::seeds, "seeds", Type::number, "", 0, kMostSeeds, "0", "",
     "--seeds", "COMPAT_SEEDS", "", "seeds",
     "repeat each test with N random seeds; gives no verdict",
     Heading::running},
    {Setting::device, "device", Type::device, kDeviceWords, 0, 0, "auto", "",
     "--device", "COMPAT_DEVICE", "device.preferred", "device",
     "device to use; must be present on this host for a run; auto: MPS, else CUDA, else the CPU",
     Heading::devices},
    {Setting::precision, "precision", Type::words, "auto|fp32|fp16|bf16|int8", 0, 0, "auto", "",
     "--precision", "COMPAT_PRECISION", "device.precision", "precision",
     "the dtype that the device library recommends; auto: the best that works",
     Heading::devices},
    {Setting::prefer, "preferred kind", Type::words, "auto|cpu|gpu|tpu", 0, 0, "auto", "",
     "", "COMPUTE_PREFER", "", "prefer",
     "the kind of device to use where `device` is auto"},
    {Setting::allow_tpu, "allow TPU", Type::on_off, kSwitchWords, 0, 0, "on", "",
     "", "COMPUTE_ALLOW_TPU", "", "allow_tpu",
     "the device library may choose a TPU; a run never does"},
    {Setting::memory_fraction, "memory fraction", Type::fraction, "", 0, 0, "0.8", "",
     "", "COMPAT_MEMORY_FRACTION", "device.memory_fraction", "memory_fraction",
     "how much of a device's memory the device library counts on"},
    {Setting::recovery, "recovery", Type::on_off, kSwitchWords, 0, 0, "on", "",
     "", "COMPAT_RECOVERY", "device.fallback_enabled", "recovery",
     "the device library tries again after a device error"},
    {Setting::optimizations, "optimizations", Type::on_off, kSwitchWords, 0, 0, "on", "",
     "", "COMPAT_OPTIMIZATIONS", "device.enable_optimizations", "enable_optimizations",
     "off: precision auto means fp32 on every device"},
    {Setting::diagnose, "diagnose", Type::on_off, "on|off", 0, 0, "off", "",
     "--diagnose", "COMPAT_DIAGNOSE", "", "diagnose",
     "retry failed tests with recoveries, and report what passes; verdicts stay",
     Heading::running},
    {Setting::diagnose_time, "diagnose time", Type::duration, "", 0, 0, "10m", "",
     "--diagnose-time", "COMPAT_DIAGNOSE_TIME", "", "diagnose_time",
     "time limit for starting diagnostic attempts of a run",
     Heading::running},
    {Setting::device_memory, "device memory", Type::size, "", 0, 0, "",
     "a share of what the host can spare",
     "--device-memory", "COMPAT_DEVICE_MEMORY", "", "device_memory",
     "memory of each simulated device",
     Heading::devices},
    {Setting::macos, "macOS", Type::words, "14|15|26|27|14.0|15.0|26.0|27.0", 0, 0, "26", "",
     "--macos", "COMPAT_MACOS", "", "macos",
     "macOS of the simulated Mac: the last release of a number, or its first (.0)",
     Heading::devices},
    {Setting::start_method, "start method", Type::words, "spawn|fork", 0, 0, "spawn", "",
     "--start-method", "COMPAT_START_METHOD", "device.start_method", "start_method",
     "how Python starts processes on the simulated Mac, if the code does not say",
     Heading::devices},
    {Setting::mac_like, "Mac-like", Type::on_off, "on|off", 0, 0, "off", "",
     "--mac-like", "COMPAT_MAC_LIKE", "", "mac_like",
     "Python's `platform` and sw_vers say that the simulated Mac is one",
     Heading::devices},
    {Setting::sanitize, "sanitize", Type::on_off, "on|off", 0, 0, "off", "",
     "--sanitize", "COMPAT_SANITIZE", "", "sanitize",
     "find races between CUDA streams with PyTorch's check",
     Heading::devices},
    {Setting::fallback, "fallback", Type::on_off, "on|off", 0, 0, "on", "",
     "--fallback", "COMPAT_FALLBACK", "device.fallback_enabled", "fallback",
     "run operators that MPS lacks on the CPU (sets PYTORCH_ENABLE_MPS_FALLBACK)",
     Heading::devices},
    {Setting::nccl_bandwidth, "NCCL bandwidth", Type::amount, "GB/s", 1, 0, "300", "",
     "--nccl-bandwidth", "COMPAT_NCCL_BANDWIDTH", "", "nccl_bandwidth",
     "bandwidth between GPUs that reports model the time of collectives with",
     Heading::output},
    {Setting::nccl_latency, "NCCL latency", Type::amount, "microseconds", 0, 0, "5", "",
     "--nccl-latency", "COMPAT_NCCL_LATENCY", "", "nccl_latency",
     "latency of a collective in that model",
     Heading::output},
    {Setting::python, "python", Type::path, "", 0, 0, "", "",
     "--python", "COMPAT_PYTHON", "", "python",
     "use this Python environment (folder or interpreter) instead of making one",
     Heading::environment},
    {Setting::root, "root", Type::path, "", 0, 0, "", "",
     "--root", "COMPAT_ROOT", "", "root",
     "use this source folder instead of fetching one",
     Heading::environment},
    {Setting::framework, "framework", Type::words, kFrameworkNames, 0, 0, "",
     "the suite's",
     "--framework", "COMPAT_FRAMEWORK", "framework", "framework",
     "test framework",
     Heading::environment},
    {Setting::isolation, "isolation", Type::words, "off|tree|sandbox", 0, 0, "off", "",
     "--isolate", "COMPAT_ISOLATION", "", "isolation",
     "tree: a private copy of the source, HOME and TMPDIR; sandbox: also no network, no other files",
     Heading::isolation},
    {Setting::network, "network", Type::on_off, "on|off", 0, 0, "off", "",
     "--network", "COMPAT_NETWORK", "", "network",
     "let a sandbox use the network",
     Heading::isolation},
    {Setting::tmp_size, "tmp size", Type::size, "", 0, 0, "2G", "",
     "--tmp-size", "COMPAT_TMP_SIZE", "", "tmp_size",
     "limit of TMPDIR, in memory, for each process of a sandbox that runs a module",
     Heading::isolation},
    {Setting::hub, "hub", Type::words, "off|replay|record|generate", 0, 0, "off", "",
     "--hub", "COMPAT_HUB", "hub", "hub",
     "models and datasets from a hub on this machine: recorded ones, those and what they lack from "
     "the real hub, or generated ones",
     Heading::environment},
    {Setting::hub_lock, "hub lock", Type::path, "", 0, 0, "",
     "`hub.lock.json` in the suite's folder; without suite.json in the results",
     "--hub-lock", "COMPAT_HUB_LOCK", "hub_lock", "hub_lock",
     "file that names what the hub has recorded",
     Heading::environment},
    {Setting::hub_max, "hub max", Type::size, "", 0, 0, "20G", "",
     "--hub-max", "COMPAT_HUB_MAX", "", "hub_max",
     "what a run with `--hub record` may fetch",
     Heading::environment},
    {Setting::name, "name", Type::text, "", 0, 0, "", "the suite's name",
     "--name", "COMPAT_NAME", "", "name",
     "name of the series of runs, in run ids and in NAME@latest",
     Heading::output},
    {Setting::expectations, "expectations", Type::path, kNoFile, 0, 0, "",
     "`expectations.json` in the suite's folder, if it is there",
     "--expectations", "COMPAT_EXPECTATIONS", "expectations", "expectations",
     "file of expected results; none: expect nothing",
     Heading::verdict},
    {Setting::progress, "progress", Type::words, "auto|bar|plain|json", 0, 0, "auto", "",
     "--progress", "COMPAT_PROGRESS", "", "progress",
     "progress display; auto: a bar on a terminal, else lines",
     Heading::output},
    {Setting::color, "color", Type::words, "auto|always|never", 0, 0, "auto", "",
     "--color", "COMPAT_COLOR", "", "color",
     "colored output",
     Heading::output},
    {Setting::issue_text, "issue text", Type::on_off, "on|off", 0, 0, "on", "",
     "--issue-text", "COMPAT_ISSUE_TEXT", "", "issue_text",
     "offer each failing test in report.html as text for an issue, secrets masked",
     Heading::output},
    {Setting::torch_requirement, "torch requirement", Type::text, "", 0, 0, "", "",
     "--torch-requirement", "COMPAT_TORCH_REQUIREMENT", "", "torch_requirement",
     "torch that environments are pinned to",
     Heading::environment},
    {Setting::base_python, "base python", Type::program, "", 0, 0, "python3", "",
     "", "COMPAT_BASE_PYTHON", "", "base_python",
     "Python that makes environments and drives gtest and ctest"},
    {Setting::cache, "cache", Type::path, "", 0, 0, "",
     "`$XDG_CACHE_HOME/runner`, else `~/.cache/runner`",
     "", "COMPAT_CACHE", "", "cache",
     "folder of sources, environments and shims"},
    {Setting::on, "on", Type::words, "local|slurm", 0, 0, "local", "",
     "--on", "COMPAT_ON", "", "on",
     "where the modules run: on this machine, or as one array job of Slurm",
     Heading::cluster},
    {Setting::slurm_partition, "Slurm partition", Type::text, "", 0, 0, "", "Slurm's default",
     "--slurm-partition", "COMPAT_SLURM_PARTITION", "", "slurm_partition",
     "Slurm: partition of the job",
     Heading::cluster},
    {Setting::slurm_account, "Slurm account", Type::text, "", 0, 0, "", "the user's default",
     "", "COMPAT_SLURM_ACCOUNT", "", "slurm_account",
     "Slurm: account that the job is charged to"},
    {Setting::slurm_constraint, "Slurm constraint", Type::text, "", 0, 0, "", "",
     "", "COMPAT_SLURM_CONSTRAINT", "", "slurm_constraint",
     "Slurm: features that a node must have"},
    {Setting::slurm_gres, "Slurm gres", Type::text, "", 0, 0, "", "",
     "--slurm-gres", "COMPAT_SLURM_GRES", "", "slurm_gres",
     "Slurm: resources of each shard, such as gpu:1",
     Heading::cluster},
    {Setting::slurm_time, "Slurm time", Type::duration, "", 0, 0, "", "the partition's limit",
     "--slurm-time", "COMPAT_SLURM_TIME", "", "slurm_time",
     "Slurm: time limit for each shard; Slurm counts whole minutes",
     Heading::cluster},
    {Setting::slurm_mem, "Slurm memory", Type::size, "", 0, 0, "", "the partition's default",
     "--slurm-mem", "COMPAT_SLURM_MEM", "", "slurm_mem",
     "Slurm: memory of each shard",
     Heading::cluster},
    {Setting::slurm_cpus, "Slurm CPUs", Type::number, "", 1, kMostJobs, "", "the partition's default",
     "--slurm-cpus", "COMPAT_SLURM_CPUS", "", "slurm_cpus",
     "Slurm: CPUs of each shard; it runs as many modules at once unless `jobs` is given",
     Heading::cluster},
    {Setting::slurm_setup, "Slurm setup", Type::path, "", 0, 0, "", "",
     "", "COMPAT_SLURM_SETUP", "", "slurm_setup",
     "Slurm: bash script that each shard sources first, such as one with `module load`"},
    {Setting::slurm_shards, "Slurm shards", Type::number, "", 1, kMostShards, "",
     "as many as `slurm_target_time` needs",
     "--slurm-shards", "COMPAT_SLURM_SHARDS", "", "slurm_shards",
     "Slurm: number of shards",
     Heading::cluster},
    {Setting::slurm_target_time, "Slurm target time", Type::duration, "", 0, 0, "10m", "",
     "", "COMPAT_SLURM_TARGET_TIME", "", "slurm_target_time",
     "Slurm: time that a shard may take, by earlier durations"},
    {Setting::slurm_in_flight, "Slurm in flight", Type::number, "", 1, kMostShards, "", "all",
     "", "COMPAT_SLURM_IN_FLIGHT", "", "slurm_in_flight",
     "Slurm: number of shards that may run at once"},
}};
// clang-format on

[[nodiscard]] const SettingRow& row_of(Setting setting);

// Whether its flag takes no value: it is off unless the flag is there (`--no-…` where a file sets
// it).
[[nodiscard]] constexpr bool is_switch(const SettingRow& row) {
    return row.type == Type::on_off && row.fixed == "off";
}

// Whether it says where a run's processes are, and nothing of what they do.
[[nodiscard]] constexpr bool is_of_place(const SettingRow& row) {
    return row.setting == Setting::on || row.key.starts_with("slurm_");
}

// Whether it says what reports show, and nothing of a run.
[[nodiscard]] constexpr bool is_of_reports(const SettingRow& row) {
    return row.setting == Setting::issue_text || row.key.starts_with("nccl_");
}

// Only a run that simulates a device may switch it on, wherever it is set.
[[nodiscard]] constexpr bool needs_simulation(const SettingRow& row) {
    return row.setting == Setting::keep_going;
}
// Whether a run takes the setting where `simulated` is simulated. Elsewhere its option is an error;
// in a file or a variable it is for the runs that simulate its device.
[[nodiscard]] constexpr bool is_taken_with(const SettingRow& row, std::string_view simulated) {
    const DeviceKind* owner = simulation_with(row.key);
    return !owner || owner->word == simulated;
}

// "--jobs"; empty: no flag.
[[nodiscard]] std::string_view long_flag(const SettingRow& row);

// Whether the value is a path: of a path setting, but none of the words that it allows.
[[nodiscard]] bool is_path(const SettingRow& row, std::string_view value);

// "a|b" as two words.
[[nodiscard]] std::vector<std::string> words_of(std::string_view allowed);

// Why a value is invalid, and what is allowed.
struct Refusal {
    std::string message, advice;
};
[[nodiscard]] std::optional<Refusal> refuse(const SettingRow& row, std::string_view text);

// `size`: a text that `refuse` accepts.
[[nodiscard]] std::uint64_t bytes_of(std::string_view size);

// Empty: there is no default, or the suite has it.
[[nodiscard]] std::string default_of(const SettingRow& row);

}  // namespace compat::config
