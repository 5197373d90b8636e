// The terminal: its size, whether it belongs to this process, and single keys. Not for drawing
// (bar.h).
#pragma once

#include <cstddef>
#include <string_view>

namespace compat::display {

struct TerminalSize {
    std::size_t rows = 24;
    std::size_t columns = 80;
};

// The current size of stdout's terminal.
[[nodiscard]] TerminalSize terminal_size();

// Whether this process may draw on its terminal:
// not while it runs in the background of a shell.
[[nodiscard]] bool has_terminal();

// Whether text on stdout has colors. `setting`: auto (on a terminal, unless NO_COLOR is set),
// always or never.
[[nodiscard]] bool use_color(std::string_view setting);

// SGR codes of the colors in use.
inline constexpr const char* kRed = "31";
inline constexpr const char* kGreen = "32";
inline constexpr const char* kYellow = "33";

// Reads keys without Enter and without echo while stdin is this process's terminal. Call `attend`
// from time to time. `release`, the destructor and handlers of deadly signals restore the terminal.
// One object at a time.
class Keys {
  public:
    Keys() = default;
    ~Keys() { release(); }
    Keys(const Keys&) = delete;
    Keys& operator=(const Keys&) = delete;

    void attend();
    void release();
    // The next key pressed; 0: none.
    [[nodiscard]] char next();

  private:
    bool taken_ = false;
};

}  // namespace compat::display
