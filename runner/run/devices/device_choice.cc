#include "runner/run/devices/device_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "runner/base/device_kind.h"
#include "runner/base/files.h"
#include "runner/base/text.h"
#include "runner/run/devices/host_devices.h"
#include "suites/tree.h"

namespace compat::run {

using config::Setting;

namespace {

constexpr std::string_view kPlace = "{device}";

// In code, not in a comment that has its line for itself.
std::optional<int> line_that_names(const RE2& named, const std::string& text) {
    re2::StringPiece found;
    if (!RE2::PartialMatch(text, named, &found)) return std::nullopt;
    const auto end = text.begin() + (found.data() - text.data());
    return 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
}

// "file:line"; empty: no Python file of the source names the device.
std::string place_that_names(const DeviceKind& device, const fs::path& root) {
    const RE2 named(
        fmt::format(
            R"RE((?m)^[^#\n]*(["']{0}(:\d+)?["']|\btorch\.{0}\b|\bbackends\.{0}\b|\bis_{0}\b))RE",
            device.word),
        RE2::Latin1);
    for (const auto& file : suites::list_tree(root)) {
        if (!file.path.ends_with(".py") || file.unreadable != 0) continue;
        const auto text = read_file(root / file.path);
        if (!text) continue;
        if (const auto line = line_that_names(named, *text))
            return fmt::format("{}:{}", file.path, *line);
    }
    return {};
}

constexpr std::array kLibrarySettings{
    Setting::precision,       Setting::prefer,   Setting::allow_tpu,
    Setting::memory_fraction, Setting::recovery, Setting::optimizations,
};

// "cuda" of "cuda:1".
std::string type_of(const std::string& device) { return device.substr(0, device.find(':')); }

tl::unexpected<Error> refuse_device(const std::string& message, const std::string& advice,
                                    const config::Value& wanted) {
    return fail(ErrorKind::usage, fmt::format("device {}: {}", wanted.text, message), advice,
                wanted.origin);
}

Expected<void> use_cpu(Ready& ready, const config::Value& wanted) {
    if (wanted.text.find(':') != std::string::npos)
        return refuse_device("the CPU has no index", "write cpu", wanted);
    const std::string found = std::exchange(ready.prepared.accelerator, "cpu");
    if (!is_accelerator(found)) return {};
    if (!device_kind(found).can_be_hidden && ready.child.shim_library.empty())
        return refuse_device(fmt::format("only the shim keeps tests from {}, and it is off", found),
                             "leave --shim on", wanted);
    ready.child.on_cpu = true;
    return {};
}

Expected<void> use_accelerator(const Ready& ready, const config::Value& wanted) {
    const std::string& found = ready.prepared.accelerator;
    const std::string type = type_of(wanted.text);
    const bool can_be_simulated =
        ready.settings[Setting::simulate].text == "off" && device_kind(type).simulated > 0;
    const std::string advice =
        can_be_simulated ? fmt::format("leave the device out, or simulate one: --simulate {}", type)
                         : "leave the device out";
    if (type != found)
        return refuse_device(fmt::format("torch finds none here, only {}", found), advice, wanted);
    if (type == wanted.text) return {};
    const auto names = device_names(ready.prepared.devices);
    if (names.empty())
        return refuse_device("which devices are here is unknown: device-probe did not say",
                             fmt::format("write {}, without an index", type), wanted);
    if (std::ranges::count(names, wanted.text) > 0) return {};
    return refuse_device(fmt::format("torch finds only {}", fmt::join(names, ", ")),
                         "name one of them", wanted);
}

Expected<void> check_simulated(const config::Value& wanted) {
    const DeviceKind& kind = device_kind(wanted.text);
    std::vector<std::string> names;
    for (int i = 0; i < kind.simulated; ++i) names.push_back(fmt::format("{}:{}", kind.word, i));
    if (wanted.text == kind.word || std::ranges::count(names, wanted.text) > 0) return {};
    return refuse_device(fmt::format("it is not simulated: there {} {}",
                                     names.size() == 1 ? "is" : "are", fmt::join(names, " and ")),
                         names.size() == 1 ? "name that one" : "name one of them", wanted);
}

Expected<void> check_device(Ready& ready, const config::Value& wanted, const prepare::Say& say) {
    const std::string type = type_of(wanted.text);
    const std::string& simulated = ready.child.simulate;
    const DeviceKind& kind = device_kind(type);
    if (!kind.has_kernels)
        return refuse_device(
            fmt::format("a run never uses a {}: torch has no kernels for it", kind.title),
            "leave the device out", wanted);
    // In a file or a variable it is for the runs that simulate nothing.
    if (!simulated.empty() && type != simulated && wanted.source == config::Source::flag)
        return refuse_device(fmt::format("{} is simulated", simulated),
                             fmt::format("leave the device out, or --simulate {}", simulated),
                             wanted);
    if (!simulated.empty() && type == simulated) return check_simulated(wanted);
    if (!simulated.empty()) {
        say(fmt::format("{}: device {} is for runs that simulate nothing; this one uses {}",
                        wanted.origin, wanted.text, simulated));
        return {};
    }
    return kind.is_accelerator ? use_accelerator(ready, wanted) : use_cpu(ready, wanted);
}

// `prefer` is a hint, `device` is binding.
void note_preference(const Ready& ready, const prepare::Say& say) {
    const auto& [family, origin, source] = ready.settings[Setting::prefer];
    const std::string device = device_name(ready);
    const std::string& simulated = ready.child.simulate;
    const DeviceKind& kind = device_kind(family);
    if (!kind.is_accelerator)
        say(fmt::format("{}={}: {} is simulated; the run uses it", origin, family, simulated));
    if (!kind.has_kernels)
        say(fmt::format("{}={}: a run never uses a {}; it uses {}", origin, family, kind.title,
                        device));
    if (family == "gpu" && !is_accelerator(device))
        say(fmt::format("{}=gpu: no GPU is here; the run uses the CPU", origin));
}

}  // namespace

plan::Variables device_library_variables(const config::Settings& settings) {
    plan::Variables variables;
    for (const Setting setting : kLibrarySettings)
        if (const auto& value = settings[setting]; value.source != config::Source::fallback)
            variables.emplace_back(config::row_of(setting).variable, value.text);
    return variables;
}

Expected<void> choose_device(Ready& ready, const prepare::Say& say) {
    const config::Value& device = ready.settings[Setting::device];
    const config::Value& kind = ready.settings[Setting::prefer];
    if (device.text != "auto") {
        TRY(check_device(ready, device, say));
    } else if (!is_accelerator(kind.text) && ready.child.simulate.empty()) {
        TRY(use_cpu(ready, kind));
    } else {
        note_preference(ready, say);
    }
    auto& variables = ready.child.device_library;
    variables = device_library_variables(ready.settings);
    // A simulated device to which requests for CUDA are sent is still the device of the run.
    const std::string& simulated = ready.child.simulate;
    const bool is_wanted = !simulated.empty() && type_of(device.text) == simulated;
    variables.emplace_back(plan::kDeviceVariable, is_wanted            ? device.text
                                                  : !simulated.empty() ? simulated
                                                                       : device_name(ready));
    return {};
}

void choose_redirection(Ready& ready, const prepare::Say& say) {
    const DeviceKind& device = device_kind(ready.child.simulate);
    if (ready.child.simulate.empty() || !device.takes_cuda_code() ||
        ready.settings[Setting::policy].given() || ready.settings[Setting::masquerade].given())
        return;
    const std::string place = place_that_names(device, ready.child.root);
    if (place.empty()) {
        say(fmt::format(
            "simulated {}: requests for CUDA are sent to {}, because no code of the suite names "
            "{} (--policy none redirects nothing)",
            device.machine, device.title, device.word));
        return;
    }
    ready.child.policy = "none";
    ready.child.masquerade = false;
    say(
        fmt::format("simulated {}: nothing is redirected, because {} names {} (--policy missing "
                    "sends requests for CUDA to {})",
                    device.machine, printable(place), device.word, device.title));
}

std::string device_name(const Ready& ready) {
    const auto& child = ready.child;
    if (!child.simulate.empty() && device_kind(child.simulate).takes_cuda_code() &&
        child.policy != "none")
        return "cuda";
    const std::string& wanted = ready.settings.text(Setting::device);
    if (wanted != "auto" && (child.simulate.empty() || type_of(wanted) == child.simulate))
        return wanted;
    if (!child.simulate.empty()) return child.simulate;
    return child.shim_library.empty() ? "cpu" : ready.prepared.accelerator;
}

void tell_device(Ready& ready, const std::string& name) {
    const auto fill = [&](std::string& text) {
        for (size_t at = 0; (at = text.find(kPlace, at)) != std::string::npos; at += name.size())
            text.replace(at, kPlace.size(), name);
    };
    auto& child = ready.child;
    child.from_user = ready.given_variables;
    child.options = ready.given_options;
    auto device_env = ready.suite.device_env;
    for (auto* variables : {&device_env, &child.from_user})
        for (auto& [variable, value] : *variables) fill(value);
    ready.suite.env.insert(ready.suite.env.end(), device_env.begin(), device_env.end());
    if (ready.suite.framework == Framework::pytest)
        child.device_options = ready.suite.device_options;
    for (auto* options : {&child.device_options, &child.options})
        for (auto& option : *options) fill(option);
}

}  // namespace compat::run
