// A test's history as a strip of symbols, one a run: pytest's letters where it has one. Pure. Not
// for the history itself (Store::case_history).
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "parsers/record.h"

namespace compat::display {

// One strip: the runs of one series that ran the test in one way.
struct StripRow {
    std::string name;                    // "nightly: device cpu, fallback on, shim off"
    std::vector<parsers::State> states;  // oldest first
};

// The symbol of a state: "." for passed, "F" for failed.
[[nodiscard]] char symbol_of(parsers::State state);

// A strip that is wider than `columns` keeps its newest runs and says how many are left out.
[[nodiscard]] std::string history_strip(const std::vector<parsers::State>& states,
                                        std::size_t columns, bool color);
// "F failed  . passed  (oldest run left)"
[[nodiscard]] std::string history_legend(const std::set<parsers::State>& used, bool color);

// Two lines a row, its name and its strip, and a legend of the symbols in use. Lines end
// with a newline.
[[nodiscard]] std::string history_strips(const std::vector<StripRow>& rows, std::size_t columns,
                                         bool color);

}  // namespace compat::display
