#include "runner/display/history_strip.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "runner/base/text.h"
#include "runner/display/terminal.h"

namespace compat::display {

namespace {

using parsers::State;

struct Symbol {
    State state;
    char symbol;
    const char* color;  // an SGR code
};

// As `pytest` prints them; the last three are states that pytest does not know.
constexpr std::array<Symbol, parsers::kStateNames.size()> kSymbols{{
    {State::passed, '.', kGreen},
    {State::failed, 'F', kRed},
    {State::errored, 'E', kRed},
    {State::skipped, 's', kYellow},
    {State::xfailed, 'x', kYellow},
    {State::xpassed, 'X', kYellow},
    {State::crashed, 'C', kRed},
    {State::timed_out, 'T', kRed},
    {State::not_run, '-', kYellow},
}};

const Symbol& row_of(State state) {
    return *std::find_if(kSymbols.begin(), kSymbols.end(),
                         [&](const Symbol& row) { return row.state == state; });
}

std::string painted(const Symbol& row, bool color) {
    return color ? fmt::format("\033[{}m{}\033[0m", row.color, row.symbol)
                 : std::string(1, row.symbol);
}

}  // namespace

char symbol_of(State state) { return row_of(state).symbol; }

std::string history_strip(const std::vector<State>& states, std::size_t columns, bool color) {
    std::size_t from = 0;
    std::string text;
    if (states.size() > columns) {
        // The words for those left out take columns, too; their number changes that by a digit.
        const std::size_t words = fmt::format("({} earlier)", states.size()).size() + 1;
        from = states.size() - (columns > words ? columns - words : 1);
        text = fmt::format("({} earlier) ", from);
    }
    for (; from < states.size(); ++from) text += painted(row_of(states[from]), color);
    return text;
}

std::string history_legend(const std::set<State>& used, bool color) {
    std::string legend;
    for (const Symbol& row : kSymbols)
        if (used.contains(row.state))
            legend += fmt::format("{}{} {}", legend.empty() ? "" : "  ", painted(row, color),
                                  parsers::name_of(row.state));
    return legend + "  (oldest run left)";
}

std::string history_strips(const std::vector<StripRow>& rows, std::size_t columns, bool color) {
    constexpr std::size_t kIndent = 8;
    std::string text;
    std::set<State> used;
    for (const StripRow& row : rows) {
        text += fmt::format("    {}\n{:{}}{}\n", printable(row.name), "", kIndent,
                            history_strip(row.states, columns - std::min(columns, kIndent), color));
        used.insert(row.states.begin(), row.states.end());
    }
    return text + fmt::format("    {}\n", history_legend(used, color));
}

}  // namespace compat::display
