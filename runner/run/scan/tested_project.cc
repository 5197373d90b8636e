#include "runner/run/scan/tested_project.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "runner/base/files.h"
#include "runner/run/ready.h"
#include "runner/run/scan/scan_sources.h"

namespace compat::run {

namespace fs = std::filesystem;
using config::Setting;

namespace {

// Files at the top of a project.
constexpr std::array<std::string_view, 7> kProjectFiles{
    "suite.json", "pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", ".git"};

}  // namespace

fs::path project_above(const std::vector<std::string>& paths) {
    std::error_code error;
    fs::path folder = real_path(paths.front());
    for (const std::string& path : paths)
        while (!is_inside(real_path(path), folder)) folder = folder.parent_path();
    if (!fs::is_directory(folder, error)) folder = folder.parent_path();
    for (fs::path above = folder; above != above.parent_path(); above = above.parent_path())
        for (const std::string_view file : kProjectFiles)
            if (fs::exists(above / file, error)) return above;
    return folder;
}

Expected<TestedProject> find_tested_project(const std::string& folder,
                                            const std::vector<std::string>& paths,
                                            const config::Invocation& invocation,
                                            const prepare::Say& say) {
    TestedProject project;
    project.folder = folder.empty() ? project_above(paths) : real_path(folder);
    for (const std::string& path : paths)
        if (!is_inside(real_path(path), project.folder))
            return fail(
                ErrorKind::usage, "scan --verify: this path is not in the project",
                fmt::format("the project is {}; --project names another", project.folder.string()),
                path);
    config::Invocation own = invocation;
    own.suite = project.folder;
    own.flags[Setting::shim] = "on";
    auto ready = open_suite(project.folder.string(), own, say);
    if (!ready) return tl::unexpected(ready.error());
    if (auto made = make_ready(*ready, Need::children, say); !made)
        return tl::unexpected(made.error());
    if (!is_inside(real_path(ready->prepared.source.root), project.folder))
        return fail(ErrorKind::usage, "scan --verify: the tests of this project are elsewhere",
                    "name the folder that has sources and tests with --project",
                    ready->prepared.source.root.string());
    project.name = project.folder.filename().string();
    project.python = ready->prepared.environment.python.string();
    project.torch = ready->prepared.environment.torch_version;
    project.accelerator = ready->prepared.accelerator;
    if (project.torch.empty())
        return fail(ErrorKind::usage, "scan --verify: the project's environment has no torch",
                    "name another with --python", project.python);
    return project;
}

}  // namespace compat::run
