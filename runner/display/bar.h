// A few lines at the end of a terminal that are drawn over and over: what must be written to draw
// them and to take them away. Pure; writes nothing itself. Not here: what the lines say
// (display.h).
#pragma once

#include <string>
#include <vector>

#include "runner/display/terminal.h"

namespace compat::display {

class Bar {
  public:
    // Replaces what was drawn. Lines are cut to the terminal; of more than it has room for, the
    // last are kept.
    [[nodiscard]] std::string draw(const std::vector<std::string>& lines, TerminalSize size);
    // Takes it away: the cursor stands where the first line began.
    [[nodiscard]] std::string clear(TerminalSize size);
    [[nodiscard]] bool is_drawn() const { return !drawn_.empty(); }

  private:
    std::vector<std::size_t> drawn_;  // columns of each line on the terminal
};

}  // namespace compat::display
