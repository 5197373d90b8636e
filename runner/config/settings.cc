#include "runner/config/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <optional>

#include "runner/prepare/share.h"
#include "suites/units.h"

namespace compat::config {

namespace {

// The files that apply to one command.
struct Files {
    std::optional<ConfigFile> project, user;
};

Expected<Files> read_files(const fs::path& suite_folder) {
    auto project = TRY(read_project_file(suite_folder));
    auto user = TRY(read_user_file());
    return Files{std::move(project), std::move(user)};
}

std::optional<Value> from_file(const std::optional<ConfigFile>& file, Setting setting,
                               Source source) {
    if (!file) return std::nullopt;
    const auto given = file->values.find(setting);
    if (given == file->values.end()) return std::nullopt;
    return Value{given->second.text, given->second.where, source};
}

std::optional<Value> from_suite(const SettingRow& row, const suites::Suite& suite) {
    if (suite.by_convention && row.setting == Setting::framework)
        return Value{std::string(name_of(suite.framework)), "found in the project", Source::suite};
    const auto given = suite.setting_texts.find(row.in_suite);
    if (given == suite.setting_texts.end()) return std::nullopt;
    return Value{given->second, fmt::format("suite: {}", row.in_suite), Source::suite};
}

std::string active_environment() {
    const char* active = std::getenv("VIRTUAL_ENV");
    return active ? active : "";
}

// A project without suite.json uses the active environment, else its own .venv.
std::optional<Value> environment_of_project(const fs::path& project) {
    if (auto active = active_environment(); !active.empty())
        return Value{std::move(active), "VIRTUAL_ENV", Source::environment};
    std::error_code error;
    const auto own = fs::absolute(project / kProjectEnvironment).lexically_normal();
    if (fs::exists(own / "bin" / "python", error))
        return Value{own.string(), std::string(kProjectEnvironment), Source::environment};
    return std::nullopt;
}

// A user who starts bin/runner of an environment that is not active means that environment.
std::optional<Value> environment_of_runner() {
    if (!active_environment().empty()) return std::nullopt;
    const fs::path python = prepare::own_python();
    if (python.empty()) return std::nullopt;
    return Value{python.string(), "the runner's environment", Source::environment};
}

// "--simulate mps", …
std::vector<std::string> simulating_options() {
    std::vector<std::string> options;
    for (const DeviceKind& row : kDeviceKinds)
        if (row.simulated > 0) options.push_back(fmt::format("--simulate {}", row.word));
    return options;
}

Value lookup(const SettingRow& row, const Invocation& invocation, const Files& files,
             const suites::Suite* suite) {
    if (const auto flag = invocation.flags.find(row.setting); flag != invocation.flags.end())
        return {flag->second, std::string(long_flag(row)), Source::flag};
    const std::string variable(row.variable);
    if (const char* value = std::getenv(variable.c_str()); value && *value)
        return {value, variable, Source::variable};
    if (auto value = from_file(files.project, row.setting, Source::project_file)) return *value;
    if (suite && !row.in_suite.empty())
        if (auto value = from_suite(row, *suite)) return *value;
    const bool has_environment = suite ? suite->by_convention : !invocation.project.empty();
    if (row.setting == Setting::python && has_environment)
        if (auto own = environment_of_project(suite ? suite->folder : invocation.project))
            return *own;
    if (auto value = from_file(files.user, row.setting, Source::user_file)) return *value;
    if (row.setting == Setting::python && (!suite || suite->by_convention))
        if (auto environment = environment_of_runner()) return *environment;
    const bool suites_name = row.setting == Setting::name && suite;
    return {suites_name ? suite->name : default_of(row), "default", Source::fallback};
}

}  // namespace

std::string text_before_suite(const Invocation& invocation, Setting setting) {
    const auto files = read_files(invocation.suite);
    return files ? lookup(row_of(setting), invocation, *files, nullptr).text : std::string();
}

Expected<fs::path> results_folder(const Invocation& invocation) {
    return Settings::resolve(invocation, nullptr).map([](const Settings& settings) {
        return fs::absolute(settings.text(Setting::results));
    });
}

Expected<Settings> Settings::resolve(const Invocation& invocation, const suites::Suite* suite) {
    const auto files = TRY(read_files(suite ? suite->folder : invocation.suite));
    Settings settings;
    for (const auto* file : {&files.project, &files.user})
        if (*file) settings.files_.push_back((*file)->path);
    for (const auto& row : kSettings) {
        Value value = lookup(row, invocation, files, suite);
        if (value.source != Source::fallback)
            if (auto refused = refuse(row, value.text))
                return fail(ErrorKind::usage, std::move(refused->message),
                            std::move(refused->advice), value.origin);
        settings.values_.emplace(row.setting, std::move(value));
    }
    TRY(settings.settle_redirection());
    settings.jobs_ = std::stoi(settings.text(Setting::jobs));
    settings.retries_ = std::stoi(settings.text(Setting::retries));
    settings.seeds_ = std::stoi(settings.text(Setting::seeds));
    settings.timeout_ = *suites::parse_duration(settings.text(Setting::timeout));
    settings.test_timeout_ = *suites::parse_duration(settings.text(Setting::test_timeout));
    settings.diagnose_time_ = *suites::parse_duration(settings.text(Setting::diagnose_time));
    return settings;
}

Expected<void> Settings::settle_redirection() {
    Value& policy = values_.at(Setting::policy);
    Value& masquerade = values_.at(Setting::masquerade);
    if (const DeviceKind& device = device_kind(simulated()); device.serves_cuda) {
        if (policy.source != Source::fallback && policy.text != "none")
            return fail(ErrorKind::usage,
                        fmt::format("nothing is redirected where {} is simulated: what code asks "
                                    "for is there",
                                    device.title),
                        "leave the policy out", policy.origin);
        policy.text = "none";
    }
    for (const auto& row : kSettings) {
        const Value& value = values_.at(row.setting);
        if (needs_simulation(row) && value.text == "on" && simulated().empty())
            return fail(ErrorKind::usage, "only a simulated device has this setting",
                        fmt::format("add {}", fmt::join(simulating_options(), " or ")),
                        value.origin);
        if (value.source == Source::flag && !is_taken_with(row, simulated())) {
            const DeviceKind& owner = *simulation_with(row.key);
            return fail(ErrorKind::usage,
                        fmt::format("only a simulated {} has this setting", owner.machine),
                        fmt::format("add --simulate {}", owner.word), value.origin);
        }
    }
    if (policy.text == "none" && simulated().empty())
        return fail(ErrorKind::usage, "without a simulated device there is nothing but redirection",
                    "use --shim off to run without it", policy.origin);
    if (masquerade.text.empty()) masquerade.text = policy.text == "missing" ? "on" : "off";
    return {};
}

}  // namespace compat::config
