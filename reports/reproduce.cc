#include "reports/reproduce.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "runner/base/files/fs.h"
#include "runner/base/framework.h"
#include "runner/base/names.h"
#include "runner/base/run/subset.h"

namespace compat::reports {

namespace {

// A regular expression for CTest that matches only `name`.
std::string exact_pattern(std::string_view name) {
    std::string pattern = "^";
    for (const char c : name) {
        if (std::string_view("^$.*+?()[]|\\").find(c) != std::string_view::npos) pattern += '\\';
        pattern += c;
    }
    return pattern + "$";
}

// pytest's name of a test begins with a path from its rootdir, which may be above the suite, where
// the command is run.
std::string from_suite(const std::string& name, const std::string& module) {
    const std::string below = "/" + module;
    const auto path = std::string_view(name).substr(0, name.find("::"));
    return path.ends_with(below) ? name.substr(path.size() - module.size()) : name;
}

std::vector<std::string> framework_command(const CommandSource& run, const std::string& module,
                                           const std::string& name) {
    const std::string& framework = run.framework;
    if (is_framework(framework, Framework::gtest)) {
        std::vector<std::string> words{"./" + module};
        if (!name.empty()) words.push_back("--gtest_filter=" + name);
        return words;
    }
    if (is_framework(framework, Framework::ctest)) {
        const fs::path folder = fs::path(module).parent_path();
        std::vector<std::string> words{std::string(framework), "--test-dir",
                                       folder.empty() ? "." : folder.string(), "--verbose"};
        if (!name.empty()) words.insert(words.end(), {"-R", exact_pattern(name)});
        return words;
    }
    // Options come last: one with an optional value would take the name for it.
    std::vector<std::string> words{run.python, "-m", framework, "-v",
                                   name.empty() ? module : from_suite(name, module)};
    const Subset options = options_in(run.rerun_argv);
    if (!options.empty()) words.insert(words.end(), options.begin() + 1, options.end());
    return words;
}

}  // namespace

ReproduceCommands::ReproduceCommands(CommandSource run) : run_(std::move(run)) {
    const auto& words = run_.rerun_argv;
    // "--" and what follows is for the framework.
    const Subset options = options_in(words);
    for (std::size_t i = 0; i + options.size() < words.size(); ++i)
        runner_before_ += shell_quoted(words[i]) + " ";
    for (const std::string& word : options) runner_after_ += " " + shell_quoted(word);
    std::string variables;
    for (const auto& [variable, value] : run_.env)
        if (!is_secret_name(variable) && value.find(kMasked) == std::string::npos)
            variables += shell_quoted(variable + "=" + value) + " ";
    plain_before_ = fmt::format("cd {} && {}{}", shell_quoted(run_.root),
                                variables.empty() ? "" : "env ", variables);
}

Reproduce ReproduceCommands::of(const std::string& target, const std::string& module,
                                const std::string& name) const {
    return {runner_before_ + shell_quoted(target) + runner_after_,
            plain_before_ + shell_quoted(framework_command(run_, module, name))};
}

}  // namespace compat::reports
