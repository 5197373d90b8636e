#include "suites/glob.h"

#include <gtest/gtest.h>

namespace compat::suites {
namespace {

struct GlobCase {
    std::string_view glob;
    std::string_view path;
    bool matches;
    bool covers;
};

constexpr GlobCase kGlobs[] = {
    {"test_*.py", "test_a.py", true, true},
    {"test_*.py", "a/test_a.py", false, false},
    {"a/*.py", "a/b/c.py", false, false},
    {"a/**/*.py", "a/c.py", true, true},
    {"a/**/*.py", "a/b/d/c.py", true, true},
    {"**/test_a.py", "test_a.py", true, true},
    {"a/**", "a/b/c.py", true, true},
    {"a/**", "a", false, false},
    {"**", "a/b", true, true},
    {"a/?.py", "a/b.py", true, true},
    {"a/?.py", "a/bc.py", false, false},
    {"a/[bc].py", "a/c.py", true, true},
    {"a/[!bc].py", "a/c.py", false, false},
    {"a", "a/b/c.py", false, true},
    {"models/b*", "models/bert/test_x.py", false, true},
    {"models/b*", "models/albert/test_x.py", false, false},
    {"", "a", false, false},
};

TEST(Glob, MatchesAndCoversPaths) {
    for (const GlobCase& c : kGlobs) {
        EXPECT_EQ(glob_matches(c.glob, c.path), c.matches) << c.glob << " on " << c.path;
        EXPECT_EQ(glob_covers(c.glob, c.path), c.covers) << c.glob << " over " << c.path;
    }
}

}  // namespace
}  // namespace compat::suites
