// The suites that are shipped, and the document that explains their format.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "runner/base/files.h"
#include "suites/load.h"
#include "suites/schema.h"
#include "tests/paths.h"

namespace compat::suites {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = COMPAT_SOURCE_DIR;

std::vector<fs::path> shipped() {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(kSource / "suites"))
        if (fs::exists(entry.path() / "suite.json")) folders.push_back(entry.path());
    return folders;
}

TEST(ShippedSuites, AllLoadUnderTheirFoldersName) {
    ASSERT_GE(shipped().size(), 4u);
    for (const fs::path& folder : shipped()) {
        const auto suite = load_suite(folder);
        ASSERT_TRUE(suite.has_value()) << to_line(suite.error());
        EXPECT_EQ(suite->name, folder.filename());
        if (!suite->requirements.empty()) {
            EXPECT_TRUE(fs::is_regular_file(folder / suite->requirements)) << folder;
        }
        EXPECT_TRUE(fs::is_regular_file(folder / "README.md")) << folder;
    }
}

// A release from a forge has links, and every package its exact version: else a run next year is
// another run.
TEST(ShippedSuites, OutsideCodeIsPinnedAndLinked) {
    const std::regex pin("[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9._+!-]*");
    for (const fs::path& folder : shipped()) {
        const auto suite = load_suite(folder);
        ASSERT_TRUE(suite.has_value()) << to_line(suite.error());
        if (suite->source.kind == SourceKind::path) continue;
        EXPECT_THAT(suite->links_base, ::testing::HasSubstr("{path}#L{line}")) << folder;
        if (!traits_of(suite->framework).in_python) continue;
        ASSERT_NE(suite->requirements, "") << folder;
        std::istringstream lines(read_file(folder / suite->requirements).value());
        std::set<std::string> packages;
        for (std::string line; std::getline(lines, line);) {
            if (line.empty() || line.starts_with('#')) continue;
            EXPECT_TRUE(std::regex_match(line, pin)) << folder << ": " << line;
            EXPECT_TRUE(packages.insert(line.substr(0, line.find('='))).second) << line;
        }
        EXPECT_TRUE(packages.contains("torch")) << folder;
    }
}

TEST(SuiteFormatDocument, ItsExampleLoads) {
    const std::string text = read_file(kSource / "docs/reference/suite-format.md").value();
    const std::size_t begin = text.find("```jsonc\n");
    ASSERT_NE(begin, std::string::npos);
    const std::size_t end = text.find("\n```", begin);
    const auto suite = parse_suite(text.substr(begin + 9, end - begin - 9), "example/suite.json");
    EXPECT_TRUE(suite.has_value()) << to_line(suite.error());
}

}  // namespace
}  // namespace compat::suites
