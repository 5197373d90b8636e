// All settings, one row each: type, default, and where a user sets it. Options, checks, `doctor`,
// the JSON Schema of the configuration files and docs/reference/settings.md come from this table.
// Not here: the order of precedence (settings.h) and the effects of a setting.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
    diagnose,
    diagnose_time,
    device_memory,
    macos,
    fallback,
    python,
    root,
    framework,
    name,
    progress,
    color,
    torch_requirement,
    base_python,
    cache,
};

enum class Type {
    words,     // one of `allowed`, separated by "|"
    on_off,    // true or false in a JSON or TOML file
    number,    // a whole number from `least` to `most`
    duration,  // "90s", "30m", "1h30m"
    size,      // "8G", "512M", or bytes
    path,      // in a file: relative to that file
    program,   // a path if it has a slash, else a name on PATH
    text,
};

struct SettingRow {
    Setting setting;
    std::string_view name;
    Type type;
    std::string_view allowed;
    int least, most;
    std::string_view fixed;     // the default; empty: none, or computed (default_of)
    std::string_view computed;  // a computed default, described for users
    std::string_view flag;      // empty: none
    std::string_view variable;  // COMPAT_*
    std::string_view in_suite;  // key of suite.json; empty: none
    std::string_view key;       // key of configuration files
    std::string_view help;
};

inline constexpr int kMostJobs = 4096;
inline constexpr int kMostRetries = 10;  // as suite.schema.json
inline constexpr int kMostSeeds = 1000;

// clang-format off
inline constexpr std::array<SettingRow, 28> kSettings{{
    {Setting::jobs, "jobs", Type::number, "", 1, kMostJobs, "", "number of cores",
     "-j,--jobs", "COMPAT_JOBS", "", "jobs",
     "number of modules to run at once"},
    {Setting::timeout, "timeout", Type::duration, "", 0, 0, "30m", "",
     "--timeout", "COMPAT_TIMEOUT", "limits.module_timeout", "timeout",
     "time limit for a module; restarts count anew"},
    {Setting::test_timeout, "test timeout", Type::duration, "", 0, 0, "5m", "",
     "--test-timeout", "COMPAT_TEST_TIMEOUT", "limits.test_timeout", "test_timeout",
     "time limit for one test"},
    {Setting::retries, "retries", Type::number, "", 0, kMostRetries, "0", "",
     "--retries", "COMPAT_RETRIES", "retries", "retries",
     "number of retries of failed tests"},
    {Setting::results, "results", Type::path, "", 0, 0, "results", "",
     "--results", "COMPAT_RESULTS", "", "results",
     "results folder"},
    {Setting::shim, "shim", Type::on_off, "on|off", 0, 0, "on", "",
     "--shim", "COMPAT_SHIM", "", "shim",
     "load the shim, which redirects requests for CUDA"},
    {Setting::warm, "warm start", Type::on_off, "on|off", 0, 0, "on", "",
     "--warm", "COMPAT_WARM", "warm", "warm",
     "fork each module from one process that has imported the suite's packages"},
    {Setting::confirm, "confirm", Type::words, "new|all", 0, 0, "new", "",
     "--confirm", "COMPAT_CONFIRM", "", "confirm",
     "repeat failures of forked processes in a fresh one: one for each signature (new), or all"},
    {Setting::policy, "policy", Type::words, "missing|full|none", 0, 0, "missing", "",
     "--policy", "COMPAT_POLICY", "", "policy",
     "which requests to redirect: for missing devices, all, or none (only with --simulate)"},
    {Setting::masquerade, "masquerade", Type::on_off, "on|off", 0, 0, "", "on with policy missing",
     "--masquerade", "COMPAT_MASQUERADE", "", "masquerade",
     "tensors on MPS report themselves as CUDA tensors"},
    {Setting::simulate, "simulated device", Type::words, "off|mps|cuda", 0, 0, "off", "",
     "--simulate", "COMPAT_SIMULATE", "", "simulate",
     "simulate an accelerator that this host lacks"},
    {Setting::default_device, "default device", Type::on_off, "on|off", 0, 0, "off", "",
     "--default-device", "COMPAT_DEFAULT_DEVICE", "device.default_device", "default_device",
     "make tensors for which the code names no device on the accelerator"},
    {Setting::keep_going, "keep going", Type::on_off, "on|off", 0, 0, "off", "",
     "--keep-going", "COMPAT_KEEP_GOING", "", "keep_going",
     "where the simulated device refuses, write it down, compute on the CPU and go on"},
    {Setting::seeds, "seeds", Type::number, "", 0, kMostSeeds, "0", "",
     "--seeds", "COMPAT_SEEDS", "", "seeds",
     "run each test with N other streams of torch's random numbers, without a verdict"},
    {Setting::diagnose, "diagnose", Type::on_off, "on|off", 0, 0, "off", "",
     "--diagnose", "COMPAT_DIAGNOSE", "", "diagnose",
     "run failed tests again with what may mend them, and report what passes; verdicts stay"},
    {Setting::diagnose_time, "diagnose time", Type::duration, "", 0, 0, "10m", "",
     "--diagnose-time", "COMPAT_DIAGNOSE_TIME", "", "diagnose_time",
     "time limit for starting diagnostic attempts of a run"},
    {Setting::device_memory, "device memory", Type::size, "", 0, 0, "",
     "a share of what the host can spare",
     "--device-memory", "COMPAT_DEVICE_MEMORY", "", "device_memory",
     "memory of each simulated device"},
    {Setting::macos, "macOS", Type::words, "14|15|26|14.0|15.0|26.0", 0, 0, "26", "",
     "--macos", "COMPAT_MACOS", "", "macos",
     "macOS of the simulated Mac: the last release of a number, or its first (.0)"},
    {Setting::fallback, "fallback", Type::on_off, "on|off", 0, 0, "on", "",
     "--fallback", "COMPAT_FALLBACK", "device.fallback_enabled", "fallback",
     "run operators that MPS lacks on the CPU (sets PYTORCH_ENABLE_MPS_FALLBACK)"},
    {Setting::python, "python", Type::path, "", 0, 0, "", "",
     "--python", "COMPAT_PYTHON", "", "python",
     "use this Python environment (folder or interpreter) instead of making one"},
    {Setting::root, "root", Type::path, "", 0, 0, "", "",
     "--root", "COMPAT_ROOT", "", "root",
     "use this source folder instead of fetching one"},
    {Setting::framework, "framework", Type::words, kFrameworkNames, 0, 0, "",
     "the suite's",
     "--framework", "COMPAT_FRAMEWORK", "framework", "framework",
     "test framework"},
    {Setting::name, "name", Type::text, "", 0, 0, "", "the suite's name",
     "--name", "COMPAT_NAME", "", "name",
     "name of the series of runs, in run ids and in NAME@latest"},
    {Setting::progress, "progress", Type::words, "auto|bar|plain|json", 0, 0, "auto", "",
     "--progress", "COMPAT_PROGRESS", "", "progress",
     "progress display; auto: a bar on a terminal, else lines"},
    {Setting::color, "color", Type::words, "auto|always|never", 0, 0, "auto", "",
     "--color", "COMPAT_COLOR", "", "color",
     "colored output"},
    {Setting::torch_requirement, "torch requirement", Type::text, "", 0, 0, "", "",
     "", "COMPAT_TORCH_REQUIREMENT", "", "torch_requirement",
     "torch that environments are pinned to"},
    {Setting::base_python, "base python", Type::program, "", 0, 0, "python3", "",
     "", "COMPAT_BASE_PYTHON", "", "base_python",
     "Python that makes environments and drives gtest and ctest"},
    {Setting::cache, "cache", Type::path, "", 0, 0, "",
     "`$XDG_CACHE_HOME/runner`, else `~/.cache/runner`",
     "", "COMPAT_CACHE", "", "cache",
     "folder of sources, environments and shims"},
}};
// clang-format on

[[nodiscard]] const SettingRow& row_of(Setting setting);

// Whether its flag takes no value: it is off unless the flag is there (`--no-…` where a file sets
// it).
[[nodiscard]] constexpr bool is_switch(const SettingRow& row) {
    return row.type == Type::on_off && row.fixed == "off";
}

// "--jobs"; empty: no flag.
[[nodiscard]] std::string_view long_flag(const SettingRow& row);

// "a|b" as two words.
[[nodiscard]] std::vector<std::string> words_of(std::string_view allowed);

// Why a value is invalid, and what is allowed.
struct Refusal {
    std::string message, advice;
};
[[nodiscard]] std::optional<Refusal> refuse(const SettingRow& row, std::string_view text);

// Empty: there is no default, or the suite has it.
[[nodiscard]] std::string default_of(const SettingRow& row);

}  // namespace compat::config
