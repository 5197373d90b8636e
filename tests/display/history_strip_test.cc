#include "runner/display/history_strip.h"

#include <gtest/gtest.h>

#include <set>

namespace compat::display {
namespace {

using parsers::State;

TEST(HistoryStrip, EachStateHasASymbolOfItsOwn) {
    std::set<char> symbols;
    for (std::size_t i = 0; i < parsers::kStateNames.size(); ++i)
        EXPECT_TRUE(symbols.insert(symbol_of(static_cast<State>(i))).second) << i;
}

TEST(HistoryStrip, EachWayHasAStripAndOneLegendNamesTheSymbolsInUse) {
    EXPECT_EQ(history_strips({{"a: device cpu", {State::passed, State::failed, State::crashed}},
                              {"a: device mps", {State::skipped}}},
                             80, false),
              "    a: device cpu\n        .FC\n    a: device mps\n        s\n"
              "    . passed  F failed  s skipped  C crashed  (oldest run left)\n");
}

TEST(HistoryStrip, ALongHistoryKeepsItsNewestRuns) {
    std::vector<State> states(1000, State::passed);
    states.back() = State::failed;
    const std::string text = history_strips({{"a", states}}, 40, false);
    // 32 columns: 15 for the words and the blank, 17 runs.
    EXPECT_EQ(text.substr(0, text.find("\n    .")),
              "    a\n        (983 earlier) ................F");
    EXPECT_NE(history_strips({{"a", states}}, 3, false).find("(999 earlier) F\n"),
              std::string::npos);
}

TEST(HistoryStrip, ColorsAreAsked) {
    EXPECT_NE(history_strips({{"a", {State::failed}}}, 80, true).find("\033[31mF\033[0m"),
              std::string::npos);
}

}  // namespace
}  // namespace compat::display
