#include "runner/plan/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runner/base/files/fs.h"
#include "runner/base/names.h"
#include "runner/base/nearest.h"
#include "suites/glob.h"

namespace compat::plan {

namespace {

using Found = std::vector<std::size_t>;

template <class Predicate>
Found select(const std::vector<ModuleFile>& modules, Predicate takes) {
    Found found;
    for (std::size_t i = 0; i < modules.size(); ++i)
        if (takes(modules[i].path)) found.push_back(i);
    return found;
}

// "./tests//a/" -> "tests/a"; the root itself is ".".
std::string normal(std::string_view path) {
    std::string text = fs::path(path).lexically_normal().generic_string();
    while (text.size() > 1 && text.ends_with('/')) text.pop_back();
    return text.empty() ? "." : text;
}

std::string joined(const std::string& folder, const std::string& path) {
    return folder == "." ? path : folder + '/' + path;
}

// The places that a relative path of a target may start from, as paths from the root.
std::vector<std::string> places(const suites::Suite& suite, const std::string& path) {
    const std::string in_tests = joined(normal(suite.layout.tests), path);
    if (in_tests == path) return {path};
    return {path, in_tests};
}

Found by_path(const suites::Suite& suite, const std::vector<ModuleFile>& modules,
              const std::string& path) {
    if (path == ".") return select(modules, [](const std::string&) { return true; });
    for (const std::string& place : places(suite, path)) {
        Found found = select(modules, [&](const std::string& module) {
            return module == place || module.starts_with(place + '/') ||
                   (suites::is_glob(place) && suites::glob_covers(place, module));
        });
        if (!found.empty()) return found;
    }
    return {};
}

// "tests.ops.test_a.Class.test_x": the longest front part that is a module or a folder; what
// follows a module is the test.
Match by_dots(const suites::Suite& suite, const std::vector<ModuleFile>& modules,
              std::string_view target) {
    if (target.find('/') != std::string_view::npos || target.empty()) return {};
    const std::string dotted(target);
    for (std::size_t end = dotted.size(); end != std::string::npos && end > 0;
         end = dotted.rfind('.', end - 1)) {
        std::string path = dotted.substr(0, end);
        std::replace(path.begin(), path.end(), '.', '/');
        std::string rest = end < dotted.size() ? dotted.substr(end + 1) : std::string();
        for (const std::string& place : places(suite, path)) {
            Match match;
            match.modules =
                select(modules, [&](const std::string& module) { return module == place + ".py"; });
            if (match.modules.empty() && rest.empty())
                match.modules = select(modules, [&](const std::string& module) {
                    return module.starts_with(place + '/');
                });
            if (match.modules.empty()) continue;
            for (std::size_t dot = rest.find('.'); dot != std::string::npos;
                 dot = rest.find('.', dot + 2))
                rest.replace(dot, 1, "::");
            match.test = rest;
            return match;
        }
    }
    return {};
}

// Everything that a target may name, as a user would write it: paths from the root and from the
// tests folder, folders, dotted names and bare file names, groups.
std::vector<std::string> names(const suites::Suite& suite, const std::vector<ModuleFile>& modules) {
    std::set<std::string> paths;
    for (const ModuleFile& module : modules) {
        for (std::size_t end = module.path.size(); end != std::string::npos && end > 0;
             end = module.path.rfind('/', end - 1))
            paths.insert(module.path.substr(0, end));
    }
    std::vector<std::string> all;
    for (const suites::Group& group : suite.groups) all.push_back(group.name);
    const std::string tests = normal(suite.layout.tests) + '/';
    for (const std::string& path : paths) {
        all.push_back(path);
        if (path.starts_with(tests)) all.push_back(path.substr(tests.size()));
    }
    return all;
}

bool looks_dotted(std::string_view target) {
    return target.find('/') == std::string_view::npos &&
           target.find('.') != std::string_view::npos && !target.ends_with(".py");
}

// Nearest by the whole of what was written; failing that, paths whose last component is near the
// target's last one ("test_tensor.py" for "ops/test_tensors.py").
std::vector<std::string> suggestions(const suites::Suite& suite,
                                     const std::vector<ModuleFile>& modules,
                                     std::string_view target) {
    constexpr std::size_t kMost = 5;
    const std::string path = normal(target);
    std::vector<std::string> all = names(suite, modules);
    if (looks_dotted(path))
        for (std::string& name : all) {
            if (name.ends_with(".py")) name.resize(name.size() - 3);
            std::replace(name.begin(), name.end(), '/', '.');
        }
    std::vector<std::string> near = nearest(path, all, kMost);
    if (!near.empty()) return near;

    const auto last = [](const std::string& name) { return fs::path(name).stem().string(); };
    std::vector<std::string> lasts;
    for (const ModuleFile& module : modules) lasts.push_back(last(module.path));
    for (const std::string& word : nearest(last(path), lasts, kMost))
        for (const ModuleFile& module : modules)
            if (last(module.path) == word && near.size() < kMost) near.push_back(module.path);
    return near;
}

}  // namespace

std::vector<std::string> selecting_ids(std::string_view id, Framework framework) {
    std::vector<std::string> ids{std::string(id)};
    auto bare = id.substr(0, id.find('['));
    for (auto end = bare.rfind("::"); end != bare.npos; end = bare.rfind("::")) {
        ids.emplace_back(bare);
        bare = bare.substr(0, end);
    }
    const auto at_test = id.rfind("::");
    const auto at_suite = at_test == id.npos ? at_test : id.substr(0, at_test).rfind("::");
    if (!traits_of(framework).selects_without_instance || at_suite == id.npos) return ids;
    const auto module = id.substr(0, at_suite), test = id.substr(at_test + 2);
    const auto suite = id.substr(at_suite + 2, at_test - at_suite - 2);
    const auto without_first = suite.find('/') == suite.npos ? 0 : suite.find('/') + 1;
    for (const auto first : {size_t{0}, without_first})
        for (const auto last : {suite.size(), suite.rfind('/')}) {
            if (last == suite.npos || last <= first) continue;
            const auto name = fmt::format("{}::{}", module, suite.substr(first, last - first));
            ids.push_back(name);
            ids.push_back(fmt::format("{}::{}", name, test));
            ids.push_back(fmt::format("{}::{}", name, test.substr(0, test.find('/'))));
        }
    return ids;
}

bool is_in(const suites::Group& group, std::string_view path) {
    return std::any_of(group.paths.begin(), group.paths.end(), [&](const std::string& place) {
        const std::string folder = normal(place);
        return folder == "." || suites::glob_covers(folder, path);
    });
}

Expected<Match> resolve(const suites::Suite& suite, const std::vector<ModuleFile>& modules,
                        std::string_view target) {
    const std::size_t colons = target.find("::");
    const std::string_view front = target.substr(0, colons);
    Match match;
    if (colons != std::string_view::npos) match.test = target.substr(colons + 2);

    const auto group =
        std::find_if(suite.groups.begin(), suite.groups.end(),
                     [&](const suites::Group& candidate) { return candidate.name == front; });
    if (group != suite.groups.end())
        match.modules =
            select(modules, [&](const std::string& module) { return is_in(*group, module); });
    if (match.modules.empty() && !front.empty())
        match.modules = by_path(suite, modules, normal(front));
    if (match.modules.empty()) {
        Match dotted = by_dots(suite, modules, front);
        if (!match.test.empty() && !dotted.test.empty()) dotted.test += "::" + match.test;
        if (!dotted.test.empty()) match.test = dotted.test;
        match.modules = dotted.modules;
    }
    if (match.modules.empty()) {
        std::string advice = did_you_mean(suggestions(suite, modules, front));
        if (advice.empty())
            advice =
                fmt::format("`runner list {}` shows what there is",
                            suite.by_convention ? shell_quoted(suite.folder.string()) : suite.name);
        return fail(ErrorKind::usage, fmt::format("target \"{}\" matches no test module", target),
                    std::move(advice));
    }

    const std::size_t found = match.modules.size();
    std::erase_if(match.modules, [&](std::size_t i) { return modules[i].excluded; });
    if (match.modules.empty())
        return fail(ErrorKind::usage,
                    fmt::format("target \"{}\" selects only excluded modules", target),
                    "see layout.exclude in its suite.json");
    if (!match.test.empty() && found > 1)
        return fail(ErrorKind::usage,
                    fmt::format("target \"{}\" names a test in {} modules", target, found),
                    "put one module before \"::\"");
    return match;
}

}  // namespace compat::plan
