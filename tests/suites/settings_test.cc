#include "suites/settings.h"

#include <gmock/gmock.h>

namespace compat::suites {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Settings, ReadsIniListsOverSeveralLines) {
    const auto section = read_section(R"([metadata]
testpaths = wrong
[tool:pytest]
# note
addopts = -ra
testpaths =
    tests
    more/tests  # here too
python_files = test_*.py check_*.py
[other]
testpaths = wrong
)",
                                      "tool:pytest");
    ASSERT_TRUE(section.has_value());
    EXPECT_THAT(section->at("testpaths"), ElementsAre("tests", "more/tests"));
    EXPECT_THAT(section->at("python_files"), ElementsAre("test_*.py", "check_*.py"));
}

TEST(Settings, ReadsTomlLists) {
    const auto section = read_section(R"([tool.pytest.ini_options]
minversion = "7"
testpaths = [
  "tests",
  'integration',
]
python_files = ["*_check.py"]

[tool.ruff]
line-length = 100
)",
                                      "tool.pytest.ini_options");
    ASSERT_TRUE(section.has_value());
    EXPECT_THAT(section->at("testpaths"), ElementsAre("tests", "integration"));
    EXPECT_THAT(section->at("python_files"), ElementsAre("*_check.py"));
    EXPECT_THAT(section->at("minversion"), ElementsAre("7"));
    EXPECT_FALSE(section->contains("line-length"));
}

TEST(Settings, FindsAnEmptySection) {
    EXPECT_THAT(read_section("[pytest]", "pytest"), ::testing::Optional(IsEmpty()));
    EXPECT_EQ(read_section("[pytester]\na = b\n", "pytest"), std::nullopt);
    EXPECT_EQ(read_section("", "pytest"), std::nullopt);
}

TEST(Settings, ReadsBrokenText) {
    EXPECT_NO_FATAL_FAILURE({
        const auto open = read_section("[pytest\ntestpaths = [\"a\",", "pytest");
        (void)open;
    });
    EXPECT_EQ(read_section("[", "pytest"), std::nullopt);
}

}  // namespace
}  // namespace compat::suites
