// Every setting of a run in one table: its flag, its variable, where suite.json sets it, its
// default. The order is flag, environment, suite.json, default. Not here: what a setting does.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "suites/suite.h"

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

struct SettingRow {
    Setting setting;
    std::string_view name;
    std::string_view flag;      // empty: set by the environment only
    std::string_view variable;  // COMPAT_*
    std::string_view in_suite;  // key of suite.json; empty: none
    std::string_view allowed;   // "on|off"; empty: anything
    std::string_view help;
};

inline constexpr std::array<SettingRow, 21> kSettings{{
    {Setting::jobs, "jobs", "-j,--jobs", "COMPAT_JOBS", "", "",
     "modules that run at the same time"},
    {Setting::timeout, "timeout", "--timeout", "COMPAT_TIMEOUT", "limits.module_timeout", "",
     "longest time for one module: 90s, 30m, 2h"},
    {Setting::test_timeout, "test timeout", "--test-timeout", "COMPAT_TEST_TIMEOUT",
     "limits.test_timeout", "", "longest time for one test"},
    {Setting::retries, "retries", "--retries", "COMPAT_RETRIES", "retries", "",
     "how often failed tests are tried again"},
    {Setting::results, "results", "--results", "COMPAT_RESULTS", "", "", "folder of the results"},
    {Setting::shim, "shim", "--shim", "COMPAT_SHIM", "", "on|off",
     "device redirection in the children"},
    {Setting::warm, "warm start", "--warm", "COMPAT_WARM", "warm", "on|off",
     "modules as forks of one process that has imported the suite's preload"},
    {Setting::confirm, "confirm", "--confirm", "COMPAT_CONFIRM", "", "new|all",
     "failures in forked processes to confirm: each signature once a run, or every one"},
    {Setting::policy, "policy", "--policy", "COMPAT_POLICY", "", "missing|full|none",
     "what is redirected: only devices that the host lacks, every request, or nothing"},
    {Setting::masquerade, "masquerade", "--masquerade", "COMPAT_MASQUERADE", "", "on|off",
     "whether tensors on MPS answer as CUDA's to the suite"},
    {Setting::simulate, "simulated device", "--simulate", "COMPAT_SIMULATE", "", "off|mps|cuda",
     "an accelerator that a CPU build of torch is given in the children"},
    {Setting::fallback, "fallback", "--fallback", "COMPAT_FALLBACK", "device.fallback_enabled",
     "on|off", "PYTORCH_ENABLE_MPS_FALLBACK in the children"},
    {Setting::python, "python", "--python", "COMPAT_PYTHON", "", "",
     "interpreter of an environment to use as it is, instead of making one"},
    {Setting::root, "root", "--root", "COMPAT_ROOT", "", "",
     "folder of the suite's source, instead of getting it"},
    {Setting::framework, "framework", "--framework", "COMPAT_FRAMEWORK", "framework",
     "unittest|pytest|gtest|ctest", "test framework"},
    {Setting::name, "name", "--name", "COMPAT_NAME", "", "", "series that the run belongs to"},
    {Setting::progress, "progress", "--progress", "COMPAT_PROGRESS", "", "auto|bar|plain|json",
     "display: a bar on a terminal, lines elsewhere; json: events on stdout"},
    {Setting::color, "color", "--color", "COMPAT_COLOR", "", "auto|always|never", "colours"},
    {Setting::torch_requirement, "torch requirement", "", "COMPAT_TORCH_REQUIREMENT", "", "",
     "the torch that environments are pinned to"},
    {Setting::base_python, "base python", "", "COMPAT_BASE_PYTHON", "", "",
     "the Python that environments are made with"},
    {Setting::cache, "cache", "", "COMPAT_CACHE", "", "", "sources, environments and shims"},
}};

struct Value {
    std::string text;
    std::string origin;  // "--jobs", "COMPAT_JOBS", "suite.json: limits.module_timeout", "default"
};

// The origin of a Python that is that of the project's own environment.
inline constexpr std::string_view kProjectEnvironment = ".venv";

using Flags = std::map<Setting, std::string>;

// A command line, as far as every command understands it.
struct Invocation {
    Flags flags;
    std::vector<std::string> argv;       // as typed
    std::vector<std::string> passed_on;  // what followed the first "--": pytest's, or a program's
};

// A setting that no suite sets, before one is loaded; not checked yet.
[[nodiscard]] std::string text_before_suite(const Flags& flags, Setting setting);

// The absolute folder of the results. Errors: usage, where a setting cannot be read.
[[nodiscard]] Expected<std::filesystem::path> results_folder(const Invocation& invocation);

class Settings {
  public:
    // `flags` holds what the command line gave, by setting. `suite` may be null (doctor without
    // one). Errors: usage, naming the flag or variable and the allowed values.
    [[nodiscard]] static Expected<Settings> resolve(const Flags& flags, const suites::Suite* suite);

    [[nodiscard]] const Value& operator[](Setting setting) const { return values_.at(setting); }
    [[nodiscard]] const std::string& text(Setting setting) const {
        return values_.at(setting).text;
    }
    [[nodiscard]] bool on(Setting setting) const { return text(setting) == "on"; }
    // "mps" or "cuda"; empty: no accelerator is simulated.
    [[nodiscard]] std::string simulated() const {
        return text(Setting::simulate) == "off" ? "" : text(Setting::simulate);
    }
    // Whether tensors answer as CUDA's: where they are on MPS and requests are redirected there.
    [[nodiscard]] bool masquerades() const {
        return simulated() == "mps" && text(Setting::policy) != "none" && on(Setting::masquerade);
    }
    [[nodiscard]] int jobs() const { return jobs_; }
    [[nodiscard]] std::chrono::milliseconds timeout() const { return timeout_; }
    [[nodiscard]] std::chrono::milliseconds test_timeout() const { return test_timeout_; }
    [[nodiscard]] int retries() const { return retries_; }

  private:
    [[nodiscard]] Expected<void> settle_redirection();

    std::map<Setting, Value> values_;
    int jobs_ = 1;
    std::chrono::milliseconds timeout_{};
    std::chrono::milliseconds test_timeout_{};
    int retries_ = 0;
};

}  // namespace compat::config
