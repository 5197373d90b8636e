#include "suites/suite.h"

#include <array>

namespace compat::suites {

namespace {

struct FrameworkRow {
    Framework framework;
    std::string_view name;
    bool python;
    std::array<std::string_view, 4> modules;  // the framework's own globs; "" for none
};

constexpr std::array<FrameworkRow, 4> kFrameworks{{
    {Framework::unittest, "unittest", true, {"test*.py"}},
    {Framework::pytest, "pytest", true, {"test_*.py", "*_test.py"}},
    {Framework::gtest, "gtest", false, {"*_test", "*_tests", "*Test", "*Tests"}},
    {Framework::ctest, "ctest", false, {"CTestTestfile.cmake"}},
}};

constexpr std::array<std::pair<SourceKind, std::string_view>, 5> kSources{{
    {SourceKind::path, "path"},
    {SourceKind::pypi_wheel, "pypi wheel"},
    {SourceKind::pypi_sdist, "pypi sdist"},
    {SourceKind::git, "git"},
    {SourceKind::debian, "debian"},
}};

}  // namespace

std::string_view name_of(Framework framework) {
    return kFrameworks[static_cast<std::size_t>(framework)].name;
}

std::string_view name_of(SourceKind kind) {
    return kSources[static_cast<std::size_t>(kind)].second;
}

std::optional<Framework> framework_of(std::string_view name) {
    for (const FrameworkRow& row : kFrameworks)
        if (row.name == name) return row.framework;
    return std::nullopt;
}

bool is_python(Framework framework) {
    return kFrameworks[static_cast<std::size_t>(framework)].python;
}

std::vector<std::string> default_modules(Framework framework) {
    std::vector<std::string> globs;
    for (const std::string_view glob : kFrameworks[static_cast<std::size_t>(framework)].modules)
        if (!glob.empty()) globs.emplace_back(glob);
    return globs;
}

}  // namespace compat::suites
