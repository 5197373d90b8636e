#include "suites/suite.h"

#include <array>

namespace compat::suites {

namespace {

constexpr std::array<std::pair<SourceKind, std::string_view>, 5> kSources{{
    {SourceKind::path, "path"},
    {SourceKind::pypi_wheel, "pypi wheel"},
    {SourceKind::pypi_sdist, "pypi sdist"},
    {SourceKind::git, "git"},
    {SourceKind::debian, "debian"},
}};

}  // namespace

std::string_view name_of(SourceKind kind) {
    return kSources[static_cast<std::size_t>(kind)].second;
}

std::vector<std::string> default_modules(Framework framework) {
    std::vector<std::string> globs;
    for (const std::string_view glob : traits_of(framework).modules)
        if (!glob.empty()) globs.emplace_back(glob);
    return globs;
}

}  // namespace compat::suites
