#include "runner/base/framework.h"

#include <gtest/gtest.h>

namespace compat {
namespace {

TEST(Framework, FindsEachRowByItsFrameworkAndName) {
    for (std::size_t i = 0; i < kFrameworks.size(); ++i) {
        const FrameworkTraits& row = kFrameworks[i];
        EXPECT_EQ(static_cast<std::size_t>(row.framework), i);
        EXPECT_EQ(&traits_of(row.framework), &row);
        EXPECT_EQ(traits_of(row.name), &row);
        EXPECT_EQ(framework_of(row.name), row.framework);
        EXPECT_TRUE(is_framework(row.name, row.framework));
        EXPECT_FALSE(row.modules.front().empty());
        EXPECT_LE(row.warm_start, row.in_python) << "only Python can be forked after its imports";
    }
}

TEST(Framework, FindsNoRowForOtherNames) {
    for (const char* name : {"", "junit", "pytest+unittest", "Pytest"}) {
        EXPECT_EQ(traits_of(name), nullptr);
        EXPECT_EQ(framework_of(name), std::nullopt);
    }
}

}  // namespace
}  // namespace compat
