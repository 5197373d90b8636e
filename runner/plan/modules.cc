// Lists a suite's test modules: the part of plan.h that reads the folder.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "runner/base/names.h"
#include "runner/plan/plan.h"
#include "suites/glob.h"
#include "suites/tree.h"

namespace compat::plan {

namespace {

bool lies_in(const std::string& path, const std::string& folder) {
    return folder.empty() || path.starts_with(folder + '/');
}

// A CTestTestfile.cmake includes those of the folders below: the topmost stands for all of them.
// Sorted by path, one that is above another need not come first.
void keep_topmost(std::vector<ModuleFile>& modules) {
    std::vector<std::string> folders;
    for (const ModuleFile& module : modules)
        folders.push_back(fs::path(module.path).parent_path().generic_string());
    const auto is_below_another = [&](const ModuleFile& module) {
        const std::string own = fs::path(module.path).parent_path().generic_string();
        return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
            return folder != own && lies_in(own, folder);
        });
    };
    std::erase_if(modules, is_below_another);
}

}  // namespace

Expected<std::vector<ModuleFile>> list_modules(const suites::Suite& suite, const fs::path& root) {
    std::error_code error;
    if (!fs::is_directory(root, error))
        return fail(ErrorKind::environment, "no such source folder",
                    "give the suite's checkout with --root", root.string());
    const fs::path tests = root / suite.layout.tests;
    if (!fs::is_directory(tests, error))
        return fail(ErrorKind::environment,
                    fmt::format("no tests folder \"{}\" in it", suite.layout.tests),
                    fmt::format("is this a checkout of {}?", suite.name), root.string());

    std::vector<ModuleFile> modules;
    for (const suites::TreeFile& file : suites::list_tree(root, suite.layout.tests)) {
        const bool closed = file.unreadable != 0;
        if (traits_of(suite.framework).modules_are_programs && !file.executable && !closed)
            continue;
        const std::string name = fs::path(file.path).filename().string();
        const auto takes = [&](const std::string& glob) {
            return suites::glob_matches(glob, name);
        };
        if (!closed &&
            std::none_of(suite.layout.modules.begin(), suite.layout.modules.end(), takes))
            continue;
        // It would be another name in every file that must be UTF-8.
        if (!is_utf8(file.path))
            return fail(ErrorKind::suite, "a test module's file name is not UTF-8",
                        "rename it, or leave it out by layout.modules",
                        (root / file.path).string());
        const bool excluded = std::any_of(
            suite.layout.exclude.begin(), suite.layout.exclude.end(),
            [&](const std::string& glob) { return suites::glob_covers(glob, file.path); });
        modules.push_back({file.path, file.bytes, excluded, file.unreadable});
    }
    if (traits_of(suite.framework).modules_contain_others) keep_topmost(modules);
    if (modules.empty())
        return fail(ErrorKind::nothing_selected,
                    fmt::format("no test module ({}) in it", fmt::join(suite.layout.modules, ", ")),
                    "see layout.modules in docs/reference/suite-format.md", tests.string());
    return modules;
}

}  // namespace compat::plan
