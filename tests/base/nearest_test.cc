#include "runner/base/nearest.h"

#include <gmock/gmock.h>

namespace compat {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EditDistance, CountsEachKindOfTypo) {
    EXPECT_EQ(edit_distance("", ""), 0u);
    EXPECT_EQ(edit_distance("ops", "ops"), 0u);
    EXPECT_EQ(edit_distance("ops", "op"), 1u);
    EXPECT_EQ(edit_distance("ops", "oops"), 1u);
    EXPECT_EQ(edit_distance("ops", "ups"), 1u);
    EXPECT_EQ(edit_distance("utils", "utlis"), 1u);
    EXPECT_EQ(edit_distance("", "abc"), 3u);
}

TEST(Nearest, OrdersByDistanceAndOmitsDistantWords) {
    const std::vector<std::string> known{"pipelines", "pipeline", "models", "generation"};
    EXPECT_THAT(nearest("piplines", known, 5), ElementsAre("pipelines", "pipeline"));
    EXPECT_THAT(nearest("piplines", known, 1), ElementsAre("pipelines"));
    EXPECT_THAT(nearest("PIPELINES", known, 1), ElementsAre("pipelines"));
    EXPECT_THAT(nearest("xyz", known, 5), IsEmpty());
}

TEST(Nearest, OmitsWordsMuchFartherThanTheNearest) {
    const std::vector<std::string> known{"generation/test_utils.py",
                                         "generation/test_streamers.py"};
    EXPECT_THAT(nearest("generation/test_util.py", known, 5),
                ElementsAre("generation/test_utils.py"));
    EXPECT_THAT(nearest("generation/test_ut.py", known, 5),
                ElementsAre("generation/test_utils.py"));
}

TEST(Nearest, AllowsOneTypoInShortWords) {
    const std::vector<std::string> known{"cpu", "mps"};
    EXPECT_THAT(nearest("cpi", known, 5), ElementsAre("cpu"));
    EXPECT_THAT(nearest("abc", known, 5), IsEmpty());
}

TEST(DidYouMean, ReadsAsASentence) {
    EXPECT_EQ(did_you_mean({}), "");
    EXPECT_EQ(did_you_mean(std::vector<std::string>{"a"}), "did you mean \"a\"?");
    EXPECT_EQ(did_you_mean(std::vector<std::string>{"a", "b", "c"}),
              "did you mean \"a\", \"b\" or \"c\"?");
}

}  // namespace
}  // namespace compat
