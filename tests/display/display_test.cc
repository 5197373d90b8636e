#include "runner/display/display.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/display/bar.h"
#include "runner/display/columns.h"
#include "runner/display/time_left.h"

namespace compat::display {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Columns, MatchTheWidthOnATerminal) {
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

TEST(Columns, LimitCutText) {
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

TEST(Bar, CountsLinesThatANarrowerTerminalWrapped) {
    Bar bar;
    (void)bar.draw({std::string(30, 'x'), std::string(5, 'y')}, {24, 40});
    EXPECT_THAT(bar.draw({"z"}, {24, 10}), StartsWith("\r\033[3A\033[J"));
    (void)bar.draw({std::string(39, 'x')}, {24, 40});
    EXPECT_THAT(bar.clear({2, 2}), HasSubstr("\033[1A")) << "no further than the first row";
}

TEST(TimeLeft, UsesTheLastDurationsOfModules) {
    using Before = std::map<std::string, double>;
    const SteadyTime start{};
    const auto after = [&](double seconds) {
        return start + std::chrono::duration_cast<SteadyTime::duration>(
                           std::chrono::duration<double>(seconds));
    };
    EXPECT_EQ(TimeLeft({"a"}, Before{}, 1).at(start), std::nullopt) << "nothing is known of any";
    EXPECT_EQ(TimeLeft({"a", "b"}, {{"a", 10}, {"b", 20}}, 1).at(start), 30);
    EXPECT_EQ(TimeLeft({"a", "b"}, {{"a", 10}, {"b", 20}}, 2).at(start), 20)
        << "the longest takes that";
    EXPECT_EQ(TimeLeft({"a", "b"}, {{"a", 10}}, 1).at(start), 20) << "the unknown one as the mean";

    TimeLeft late({"a", "b"}, {{"a", 10}, {"b", 20}}, 1);
    late.started("a", after(21));
    late.started("b", start);
    EXPECT_EQ(late.at(after(25)), 6) << "one is late, and may end any time";

    TimeLeft unknown({"a", "b", "c", "d"}, Before{}, 1);
    unknown.started("a", start);
    unknown.done("a", 4);
    unknown.done("b", 8);  // in an earlier sitting
    unknown.done("elsewhere", 100);
    EXPECT_EQ(unknown.at(start), 12);
}

TEST(TimeLeft, KeepsTheEstimateOfARetriedModule) {
    TimeLeft left({"a", "b"}, {{"a", 10}}, 1);
    const auto before = left.at(SteadyTime{});
    left.started("a", SteadyTime{});
    left.started("b", SteadyTime{});
    EXPECT_EQ(left.at(SteadyTime{}), before);
    left.stopped("a");
    left.stopped("b");
    EXPECT_EQ(left.at(SteadyTime{}), before);
    left.done("a", 1);
    left.done("b", 2);
    EXPECT_EQ(left.at(SteadyTime{}), 0);
}

TEST(TimeLeft, SaysFinishingInsteadOfZero) {
    EXPECT_EQ(format_time_left({}), "");
    EXPECT_EQ(format_time_left(0), "finishing");
    EXPECT_EQ(format_time_left(0.2), "about 1s left");
    EXPECT_EQ(format_time_left(59.5), "about 1m 00s left");
}

TEST(Display, CountsInWords) {
    std::array<long, parsers::kStateNames.size()> counts{};
    EXPECT_EQ(format_counts(counts), "no tests");
    counts[static_cast<size_t>(parsers::State::passed)] = 3;
    counts[static_cast<size_t>(parsers::State::timed_out)] = 1;
    EXPECT_EQ(format_counts(counts), "3 passed, 1 timed out");
}

}  // namespace
}  // namespace compat::display
