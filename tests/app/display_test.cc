#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/app/bar.h"
#include "runner/app/columns.h"
#include "runner/app/time_left.h"

namespace compat::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Columns, AreThoseThatATerminalTakes) {
    struct Row {
        std::string text;
        std::size_t columns;
    };
    for (const auto& [text, columns] : std::vector<Row>{
             {"", 0},
             {"plain", 5},
             {"Grüße", 5},
             {"e\u0301", 1},  // a combining accent
             {"試験", 4},
             {"ｆｕｌｌ", 8},
             {"😀", 2},
             {"\u263a\ufe0f", 2},  // a narrow sign asked to be an emoji
             {"\xff\xfe", 2},      // no UTF-8: a "?" each
             {"\xe8\xa9", 2},      // cut off in the middle
             {"\u202e", 1},        // would turn the line around
         })
        EXPECT_EQ(columns_of(text), columns) << text;
}

TEST(Columns, AreNeverExceededByWhatIsCut) {
    const std::string text = "ab試験\xff😀é";
    EXPECT_EQ(cut_to(text, 100), "ab試験?😀é");
    EXPECT_EQ(cut_to(text, 5), "ab試…");
    EXPECT_EQ(cut_to(text, 4), "ab…");  // no half of a wide character
    EXPECT_EQ(cut_to(text, 1), "…");
    EXPECT_EQ(cut_to(text, 0), "");
    for (std::size_t width = 0; width < 12; ++width)
        EXPECT_LE(columns_of(cut_to(text, width)), width) << width;
}

TEST(Bar, ReplacesWhatItDrew) {
    Bar bar;
    const TerminalSize size{24, 20};
    EXPECT_EQ(bar.clear(size), "");
    EXPECT_EQ(bar.draw({"one", "two"}, size), "one\r\ntwo");
    EXPECT_EQ(bar.draw({"three"}, size), "\r\033[1A\033[Jthree");
    EXPECT_EQ(bar.clear(size), "\r\033[J");
    EXPECT_EQ(bar.clear(size), "");
}

TEST(Bar, IsNarrowerAndLowerThanTheTerminal) {
    Bar bar;
    const std::string drawn = bar.draw({"not shown", std::string(50, 'x'), "last"}, {3, 10});
    EXPECT_EQ(drawn, "xxxxxxxx…\r\nlast");
    EXPECT_EQ(Bar().draw({"anything"}, {1, 1}), "…");
}

TEST(Bar, CountsTheLinesThatANarrowerTerminalHasBroken) {
    Bar bar;
    (void)bar.draw({std::string(30, 'x'), std::string(5, 'y')}, {24, 40});
    EXPECT_THAT(bar.draw({"z"}, {24, 10}), StartsWith("\r\033[3A\033[J"));
    (void)bar.draw({std::string(39, 'x')}, {24, 40});
    EXPECT_THAT(bar.clear({2, 2}), HasSubstr("\033[1A")) << "no further than the first row";
}

TEST(TimeLeft, IsWhatModulesTookBefore) {
    using Open = std::vector<ModuleTime>;
    EXPECT_EQ(time_left(Open{{{}, {}}}, {}, 1), std::nullopt) << "nothing is known of any";
    EXPECT_EQ(time_left(Open{}, {3}, 1), 0);
    EXPECT_EQ(time_left(Open{{10, {}}, {20, {}}}, {}, 1), 30);
    EXPECT_EQ(time_left(Open{{10, {}}, {20, {}}}, {}, 2), 20) << "the longest takes that";
    EXPECT_EQ(time_left(Open{{10, 4}, {20, 25}}, {}, 1), 6) << "one is late, and may end any time";
    EXPECT_EQ(time_left(Open{{10, {}}, {{}, {}}}, {}, 1), 20) << "the unknown one as the mean";
    EXPECT_EQ(time_left(Open{{{}, {}}, {{}, {}}}, {4, 8}, 1), 12);
}

}  // namespace
}  // namespace compat::app
