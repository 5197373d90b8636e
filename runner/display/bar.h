// A few lines at the bottom of a terminal that are redrawn.
// Returns the text that draws or clears them and writes
// nothing itself. Not here: what the lines say (display.h).
#pragma once

#include <string>
#include <vector>

#include "runner/display/terminal.h"

namespace compat::display {

class Bar {
  public:
    // Redraws. Lines are cut to the terminal's width; if they are too many, the last ones are
    // drawn.
    [[nodiscard]] std::string draw(const std::vector<std::string>& lines, TerminalSize size);
    // Leaves the cursor where the first line began.
    [[nodiscard]] std::string clear(TerminalSize size);
    [[nodiscard]] bool is_drawn() const { return !drawn_.empty(); }

  private:
    std::vector<std::size_t> drawn_;  // columns of each line
};

}  // namespace compat::display
