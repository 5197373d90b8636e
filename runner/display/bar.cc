#include "runner/display/bar.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/display/columns.h"

namespace compat::display {

namespace {
constexpr const char* kClearBelow = "\033[J";
}

std::string Bar::clear(TerminalSize size) {
    if (drawn_.empty()) return {};
    // A terminal that became narrower has wrapped the lines.
    std::size_t rows = 0;
    for (const std::size_t columns : drawn_)
        rows += std::max<std::size_t>(1, (columns + size.columns - 1) / size.columns);
    rows = std::min(rows, size.rows);
    drawn_.clear();
    return (rows > 1 ? fmt::format("\r\033[{}A", rows - 1) : std::string("\r")) + kClearBelow;
}

std::string Bar::draw(const std::vector<std::string>& lines, TerminalSize size) {
    std::string text = clear(size);
    // One row stays for what comes above. A line as wide as the terminal would wrap on some.
    const std::size_t room = std::max<std::size_t>(2, size.rows) - 1;
    const std::size_t first = lines.size() > room ? lines.size() - room : 0;
    const std::size_t columns = std::max<std::size_t>(2, size.columns) - 1;
    for (std::size_t i = first; i < lines.size(); ++i) {
        const std::string shown = cut_to(lines[i], columns);
        text += (i == first ? "" : "\r\n") + shown;
        drawn_.push_back(columns_of(shown));
    }
    return text;
}

}  // namespace compat::display
