// The terminal that a run is watched on: its size, whose it is, and single keys. Not for what is
// drawn there (bar.h).
#pragma once

#include <cstddef>

namespace compat::display {

struct TerminalSize {
    std::size_t rows = 24;
    std::size_t columns = 80;
};

// Of stdout, as it is now.
[[nodiscard]] TerminalSize terminal_size();

// Whether what this process writes to its terminal is meant for it: not while a shell has put the
// run into the background.
[[nodiscard]] bool has_terminal();

// While `attend` is called from time to time keys come without Enter and unseen, as long as stdin
// is a terminal and ours. Given back by `release`, by the destructor, and where the process dies of
// a signal that it can still handle. One object at a time.
class Keys {
  public:
    Keys() = default;
    ~Keys() { release(); }
    Keys(const Keys&) = delete;
    Keys& operator=(const Keys&) = delete;

    void attend();
    void release();
    // The next key that was struck; 0: none.
    [[nodiscard]] char next();

  private:
    bool taken_ = false;
};

}  // namespace compat::display
