#include "runner/run/device_choice.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <optional>

#include "runner/base/files.h"
#include "runner/base/text.h"
#include "suites/tree.h"

namespace compat::run {

using config::Setting;

namespace {

constexpr std::string_view kPlace = "{device}";

// In code, not in a comment that has its line for itself.
std::optional<int> line_that_names_mps(const std::string& text) {
    static const RE2 named(
        R"RE((?m)^[^#\n]*(["']mps(:\d+)?["']|\btorch\.mps\b|\bbackends\.mps\b|\bis_mps\b))RE",
        RE2::Latin1);
    re2::StringPiece found;
    if (!RE2::PartialMatch(text, named, &found)) return std::nullopt;
    const auto end = text.begin() + (found.data() - text.data());
    return 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
}

// "file:line"; empty: no Python file of the source names mps.
std::string place_that_names_mps(const std::filesystem::path& root) {
    for (const auto& file : suites::list_tree(root)) {
        if (!file.path.ends_with(".py") || file.unreadable != 0) continue;
        const auto text = read_file(root / file.path);
        if (!text) continue;
        if (const auto line = line_that_names_mps(*text))
            return fmt::format("{}:{}", file.path, *line);
    }
    return {};
}

}  // namespace

void choose_redirection(Ready& ready, const prepare::Say& say) {
    if (ready.child.simulate != "mps" || ready.settings[Setting::policy].given() ||
        ready.settings[Setting::masquerade].given())
        return;
    const std::string place = place_that_names_mps(ready.child.root);
    if (place.empty()) {
        say("simulated Mac: requests for CUDA are sent to MPS, because no code of the suite names "
            "mps (--policy none redirects nothing)");
        return;
    }
    ready.child.policy = "none";
    ready.child.masquerade = false;
    say(
        fmt::format("simulated Mac: nothing is redirected, because {} names mps (--policy missing "
                    "sends requests "
                    "for CUDA to MPS)",
                    printable(place)));
}

std::string device_name(const Ready& ready) {
    const auto& child = ready.child;
    if (child.simulate == "mps" && child.policy != "none") return "cuda";
    if (!child.simulate.empty()) return child.simulate;
    return child.shim_library.empty() ? "cpu" : ready.prepared.accelerator;
}

void tell_device(Ready& ready) {
    const std::string name = device_name(ready);
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
