#include "runner/config/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <thread>

#include "runner/prepare/cache.h"
#include "runner/prepare/prepare.h"
#include "suites/units.h"

namespace compat::config {

namespace {

// In the largest unit that is whole: "30m", "90s", "1500ms".
std::string duration_words(std::chrono::milliseconds duration) {
    const auto count = duration.count();
    if (count % 60'000 == 0) return fmt::format("{}m", count / 60'000);
    if (count % 1'000 == 0) return fmt::format("{}s", count / 1'000);
    return fmt::format("{}ms", count);
}

// What the suite says where it says something else than the default.
std::optional<std::string> from_suite(Setting setting, const suites::Suite& suite) {
    static const suites::Suite kSilent;
    if (setting == Setting::framework) return std::string(name_of(suite.framework));
    if (setting == Setting::timeout && suite.limits.module_timeout != kSilent.limits.module_timeout)
        return duration_words(suite.limits.module_timeout);
    if (setting == Setting::test_timeout &&
        suite.limits.test_timeout != kSilent.limits.test_timeout)
        return duration_words(suite.limits.test_timeout);
    if (setting == Setting::retries && suite.retries != kSilent.retries)
        return std::to_string(suite.retries);
    if (setting == Setting::fallback &&
        suite.device.fallback_enabled != kSilent.device.fallback_enabled)
        return suite.device.fallback_enabled ? "on" : "off";
    if (setting == Setting::warm && suite.warm != kSilent.warm) return suite.warm ? "on" : "off";
    return std::nullopt;
}

std::string default_of(Setting setting, const suites::Suite* suite) {
    switch (setting) {
        case Setting::jobs:
            return std::to_string(std::max(1u, std::thread::hardware_concurrency()));
        case Setting::timeout:
            return duration_words(suites::Suite{}.limits.module_timeout);
        case Setting::test_timeout:
            return duration_words(suites::Suite{}.limits.test_timeout);
        case Setting::retries:
            return "0";
        case Setting::results:
            return "results";
        case Setting::shim:
        case Setting::warm:
        case Setting::fallback:
            return "on";
        case Setting::confirm:
            return "new";
        case Setting::policy:
            return "missing";
        case Setting::simulate:
            return "off";
        case Setting::name:
            return suite ? suite->name : "";
        case Setting::framework:
            return "";
        case Setting::progress:
        case Setting::color:
            return "auto";
        case Setting::torch_requirement:
            return std::string(prepare::kTorchRequirement);
        case Setting::base_python:
            return "python3";
        case Setting::cache:
            return prepare::Cache::default_root().string();
        case Setting::masquerade:  // as the policy says
        case Setting::python:
        case Setting::root:
            return "";
    }
    return "";
}

// "a|b" allows exactly a and b.
bool allows(std::string_view allowed, std::string_view value) {
    while (true) {
        const size_t bar = allowed.find('|');
        if (allowed.substr(0, bar) == value) return true;
        if (bar == std::string_view::npos) return false;
        allowed.remove_prefix(bar + 1);
    }
}

// A project that says nothing of its environment means the one that is active, else its own.
std::optional<Value> environment_of_project(const suites::Suite& suite) {
    const char* active = std::getenv("VIRTUAL_ENV");
    if (active && *active) return Value{active, "VIRTUAL_ENV"};
    std::error_code error;
    const auto own = std::filesystem::absolute(suite.folder / ".venv").lexically_normal();
    if (std::filesystem::exists(own / "bin" / "python", error))
        return Value{own.string(), std::string(kProjectEnvironment)};
    return std::nullopt;
}

Value lookup(const SettingRow& row, const Flags& flags, const suites::Suite* suite) {
    if (const auto flag = flags.find(row.setting); flag != flags.end())
        return {flag->second, std::string(row.flag.substr(row.flag.rfind(',') + 1))};
    const std::string variable(row.variable);
    if (const char* value = std::getenv(variable.c_str()); value && *value)
        return {value, variable};
    if (suite && !row.in_suite.empty())
        if (auto value = from_suite(row.setting, *suite))
            return {*value, suite->by_convention ? "found in the project"
                                                 : fmt::format("suite: {}", row.in_suite)};
    if (row.setting == Setting::python && suite && suite->by_convention)
        if (auto environment = environment_of_project(*suite)) return *environment;
    return {default_of(row.setting, suite), "default"};
}

struct Numbers {
    Setting setting;
    const char* what;
    int least;
    int* into;
};
struct Durations {
    Setting setting;
    std::chrono::milliseconds* into;
};

}  // namespace

std::string text_before_suite(const Flags& flags, Setting setting) {
    for (const auto& row : kSettings)
        if (row.setting == setting) return lookup(row, flags, nullptr).text;
    return {};
}

Expected<std::filesystem::path> results_folder(const Invocation& invocation) {
    return Settings::resolve(invocation.flags, nullptr).map([](const Settings& settings) {
        return std::filesystem::absolute(settings.text(Setting::results));
    });
}

Expected<Settings> Settings::resolve(const Flags& flags, const suites::Suite* suite) {
    Settings settings;
    for (const auto& row : kSettings) {
        Value value = lookup(row, flags, suite);
        if (value.text.empty() && value.origin.starts_with('-'))
            return fail(ErrorKind::usage, "the value is empty", "give one, or leave the flag out",
                        value.origin);
        if (!row.allowed.empty() && !value.text.empty() && value.origin != "default" &&
            !(suite && value.origin.starts_with("suite:")) && !allows(row.allowed, value.text))
            return fail(ErrorKind::usage, fmt::format("\"{}\" is not allowed", value.text),
                        fmt::format("use one of {}", row.allowed), value.origin);
        settings.values_.emplace(row.setting, std::move(value));
    }
    if (const auto settled = settings.settle_redirection(); !settled)
        return tl::unexpected(settled.error());
    const Numbers numbers[] = {{Setting::jobs, "a number of jobs", 1, &settings.jobs_},
                               {Setting::retries, "a number of retries", 0, &settings.retries_}};
    for (const auto& [setting, what, least, into] : numbers) {
        const Value& value = settings[setting];
        const char* end = value.text.data() + value.text.size();
        if (std::from_chars(value.text.data(), end, *into).ptr != end || *into < least)
            return fail(ErrorKind::usage, fmt::format("\"{}\" is not {}", value.text, what),
                        fmt::format("use a whole number from {}", least), value.origin);
    }
    const Durations durations[] = {{Setting::timeout, &settings.timeout_},
                                   {Setting::test_timeout, &settings.test_timeout_}};
    for (const auto& [setting, into] : durations) {
        const Value& value = settings[setting];
        const auto duration = suites::parse_duration(value.text);
        if (!duration)
            return fail(ErrorKind::usage, fmt::format("\"{}\" is not a duration", value.text),
                        "write it as 90s, 30m or 1h30m", value.origin);
        *into = *duration;
    }
    return settings;
}

Expected<void> Settings::settle_redirection() {
    Value& policy = values_.at(Setting::policy);
    Value& masquerade = values_.at(Setting::masquerade);
    if (simulated() == "cuda") {
        if (policy.origin != "default" && policy.text != "none")
            return fail(
                ErrorKind::usage,
                "nothing is redirected where CUDA is simulated: what code asks for is there",
                "leave the policy out", policy.origin);
        policy.text = "none";
    }
    if (policy.text == "none" && simulated().empty())
        return fail(ErrorKind::usage, "without a simulated device there is nothing but redirection",
                    "use --shim off to run without it", policy.origin);
    if (masquerade.text.empty()) masquerade.text = policy.text == "missing" ? "on" : "off";
    return {};
}

}  // namespace compat::config
