#include "suites/convention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "runner/base/files.h"
#include "suites/glob.h"
#include "suites/settings.h"
#include "suites/tree.h"

namespace compat::suites {

namespace {

struct SettingsFile {
    std::string_view file;
    std::string_view section;
};

// In the order of pytest: the first file with its section counts.
constexpr std::array<SettingsFile, 5> kSettings{{
    {"pytest.ini", "pytest"},
    {".pytest.ini", "pytest"},
    {"pyproject.toml", "tool.pytest.ini_options"},
    {"tox.ini", "pytest"},
    {"setup.cfg", "tool:pytest"},
}};

struct PytestSettings {
    std::string where;  // "pyproject.toml [tool.pytest.ini_options]"
    std::vector<std::string> testpaths;
    std::vector<std::string> python_files;
};

std::string contents(const fs::path& path) { return read_file(path).value_or(std::string()); }

std::optional<PytestSettings> pytest_settings(const fs::path& root) {
    for (const SettingsFile& candidate : kSettings) {
        std::error_code error;
        const fs::path path = root / candidate.file;
        if (!fs::is_regular_file(path, error)) continue;
        auto section = read_section(contents(path), candidate.section);
        // pytest accepts an empty pytest.ini.
        if (!section && !candidate.file.ends_with("pytest.ini")) continue;
        PytestSettings settings;
        settings.where = fmt::format("{} [{}]", candidate.file, candidate.section);
        if (section) {
            settings.testpaths = (*section)["testpaths"];
            settings.python_files = (*section)["python_files"];
        }
        return settings;
    }
    return std::nullopt;
}

bool matches_any(const std::vector<std::string>& globs, std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return std::any_of(globs.begin(), globs.end(),
                       [&](const std::string& glob) { return glob_matches(glob, name); });
}

bool is_under(std::string_view path, std::string_view folder) {
    return folder == "." ||
           (path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/');
}

std::vector<TreeFile> under(const std::vector<TreeFile>& files, std::string_view folder) {
    std::vector<TreeFile> inside;
    for (const TreeFile& file : files)
        if (is_under(file.path, folder)) inside.push_back(file);
    return inside;
}

// The deepest folder that contains all folders.
std::string common_folder(const std::vector<std::string>& folders) {
    std::string common = folders.front();
    for (const std::string& folder : folders)
        while (!common.empty() && folder != common && !is_under(folder, common)) {
            const std::size_t slash = common.rfind('/');
            common.resize(slash == std::string::npos ? 0 : slash);
        }
    return common.empty() ? "." : common;
}

// The folder of the test modules: from `testpaths`, else tests/ or test/, else the folders of those
// names inside packages, else the root.
std::string tests_folder(const std::vector<TreeFile>& modules,
                         const std::optional<PytestSettings>& settings) {
    if (settings) {
        std::vector<std::string> given;
        for (const std::string& path : settings->testpaths) {
            const std::string folder = fs::path(path).lexically_normal().generic_string();
            const std::string bare =
                folder.ends_with('/') ? folder.substr(0, folder.size() - 1) : folder;
            if (!under(modules, bare).empty()) given.push_back(bare);
        }
        if (!given.empty()) return common_folder(given);
    }
    for (const char* folder : {"tests", "test"})
        if (!under(modules, folder).empty()) return folder;
    std::set<std::string> inner;
    for (const TreeFile& module : modules)
        for (const std::string_view name : {"/tests/", "/test/"})
            if (const std::size_t at = module.path.find(name); at != std::string::npos)
                inner.insert(module.path.substr(0, at + name.size() - 1));
    return inner.empty() ? "." : common_folder({inner.begin(), inner.end()});
}

struct Style {
    std::size_t test_cases = 0;  // modules with unittest classes
    std::size_t functions = 0;   // modules that import pytest or have test functions
};

bool needs_pytest(std::string_view line) {
    const std::string_view bare = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    return bare.starts_with("import pytest") || bare.starts_with("from pytest") ||
           line.starts_with("def test") || line.starts_with("async def test");
}

bool is_test_case(std::string_view line) {
    return line.starts_with("class ") && line.find("TestCase") != std::string_view::npos;
}

Style style_of(const fs::path& root, const std::vector<TreeFile>& modules) {
    Style style;
    for (const TreeFile& module : modules) {
        const std::string text = contents(root / module.path);
        bool pytest = false, test_case = false;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            const std::string_view line(text.data() + at, end - at);
            pytest = pytest || needs_pytest(line);
            test_case = test_case || is_test_case(line);
            at = end + 1;
        }
        if (pytest)
            ++style.functions;
        else if (test_case)
            ++style.test_cases;
    }
    return style;
}

std::string quoted_list(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

std::string counted(std::size_t n, std::string_view noun) {
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

bool has_package_under_src(const std::vector<TreeFile>& files) {
    return std::any_of(files.begin(), files.end(), [](const TreeFile& file) {
        return file.path.starts_with("src/") && file.path.ends_with(".py");
    });
}

// Tests in C++: a build folder of CMake, or executables with names of tests.
bool find_programs(Suite& suite, const std::vector<TreeFile>& files) {
    suite.layout.tests = ".";
    for (const Framework framework : {Framework::ctest, Framework::gtest}) {
        const auto globs = default_modules(framework);
        const auto found = std::count_if(files.begin(), files.end(), [&](const TreeFile& file) {
            return matches_any(globs, file.path) &&
                   (!traits_of(framework).modules_are_programs || file.executable);
        });
        if (found == 0) continue;
        suite.framework = framework;
        suite.layout.modules = globs;
        suite.detected.push_back(
            framework == Framework::ctest
                ? std::string("ctest: CTestTestfile.cmake in a build folder")
                : fmt::format("gtest: {} ({})",
                              counted(static_cast<std::size_t>(found), "executable"),
                              quoted_list(globs)));
        return true;
    }
    return false;
}

}  // namespace

Expected<Suite> find_by_convention(const fs::path& folder) {
    std::vector<TreeFile> files = list_tree(folder);
    const auto unreadable = std::find_if(files.begin(), files.end(),
                                         [](const TreeFile& file) { return file.unreadable != 0; });
    const std::string unreadable_folder = unreadable == files.end() ? "" : unreadable->path;
    std::erase_if(files, [](const TreeFile& file) { return file.unreadable != 0; });
    const auto settings = pytest_settings(folder);

    Suite suite;
    suite.folder = folder;
    suite.by_convention = true;
    const fs::path whole = fs::absolute(folder).lexically_normal();
    suite.name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
    suite.source = {SourceKind::path, ".", {}};

    std::vector<std::string> globs = default_modules(Framework::pytest);
    if (settings && !settings->python_files.empty()) globs = settings->python_files;
    std::vector<TreeFile> modules;
    for (const TreeFile& file : files)
        if (matches_any(globs, file.path)) modules.push_back(file);
    if (modules.empty() && find_programs(suite, files)) return suite;
    if (modules.empty() && !unreadable_folder.empty())
        return fail(ErrorKind::suite, "found no test module, and cannot read this folder",
                    "make it readable", (folder / unreadable_folder).string());
    if (modules.empty())
        return fail(ErrorKind::suite,
                    fmt::format("found no suite.json and no test module ({})", quoted_list(globs)),
                    "choose another folder or write a suite.json (docs/reference/suite-format.md)",
                    folder.string());

    suite.layout.tests = tests_folder(modules, settings);
    modules = under(modules, suite.layout.tests);
    suite.layout.modules = globs;
    suite.detected.push_back(fmt::format("{} in {}/ ({})", counted(modules.size(), "test module"),
                                         suite.layout.tests, quoted_list(globs)));

    const bool src = has_package_under_src(files);
    suite.layout.pythonpath = {src ? "src" : "."};
    suite.detected.push_back(src ? "src layout: src/ is on PYTHONPATH"
                                 : "flat layout: the project folder is on PYTHONPATH");

    const auto conftest = std::find_if(files.begin(), files.end(), [](const TreeFile& file) {
        return file.path == "conftest.py" || file.path.ends_with("/conftest.py");
    });
    const Style style = style_of(folder, modules);
    if (settings) {
        suite.framework = Framework::pytest;
        suite.detected.push_back("pytest: " + settings->where);
    } else if (conftest != files.end()) {
        suite.framework = Framework::pytest;
        suite.detected.push_back("pytest: " + conftest->path);
    } else if (style.functions > 0 || style.test_cases == 0) {
        suite.framework = Framework::pytest;
        suite.detected.push_back(
            fmt::format("pytest: {} with test functions or an import of pytest",
                        counted(style.functions, "module")));
    } else {
        suite.framework = Framework::unittest;
        suite.detected.push_back(
            fmt::format("unittest: {} with unittest classes, none that needs pytest",
                        counted(style.test_cases, "module")));
    }
    return suite;
}

}  // namespace compat::suites
