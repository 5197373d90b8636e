// Texts that no tool would write, of any size, and the bound for reading them: the time grows with
// the size and not with its square. Shared by the hostile tests; not for what a reader makes of
// them.
#pragma once

#include <gtest/gtest.h>

#include <ctime>
#include <ostream>
#include <random>
#include <string>
#include <string_view>

namespace compat::parsers::testing {

struct Monster {
    std::string name;
    std::string (*of)(size_t size);  // about so many bytes
};

inline std::ostream& operator<<(std::ostream& out, const Monster& monster) {
    return out << monster.name;
}

inline std::string repeated(std::string_view part, size_t times) {
    std::string out;
    out.reserve(part.size() * times);
    for (size_t i = 0; i < times; ++i) out += part;
    return out;
}

inline std::string filled(std::string_view part, size_t size) {
    return repeated(part, size / part.size());
}

// As many levels as end a process whose functions call themselves for each: a level is a few bytes
// of text, and more of stack.
inline std::string nested(std::string_view part, size_t size) { return filled(part, 8 * size); }

// `part` with each number in place of "%", until the text is of the size.
inline std::string numbered(std::string_view part, size_t size) {
    std::string out;
    for (int i = 0; out.size() < size; ++i) {
        const std::string number = std::to_string(i);
        for (const char c : part) {
            if (c == '%')
                out += number;
            else
                out += c;
        }
    }
    return out;
}

inline std::string noise(size_t size) {
    std::mt19937 random(1);
    std::string out(size, '\0');
    for (char& c : out) c = static_cast<char>(random());
    return out;
}

// `broken(text)` reads and says what is wrong with what it read. A text four times as long takes
// about four times the processor's time, or so little that its square shows nowhere.
template <class Broken>
void expect_read_in_proportion(const Monster& monster, Broken broken) {
    constexpr size_t kSmall = 1 << 15;
    constexpr double kLittle = 0.1, kAtMost = 10, kAnyway = 20;
    const auto seconds = [&](size_t size) {
        const std::string text = monster.of(size);
        const std::clock_t begin = std::clock();
        EXPECT_EQ(broken(text), "") << size << " bytes";
        return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    };
    // Other programs slow down what fits no cache more than what does: the best of three.
    for (int left = 3; left > 0; --left) {
        const double large = seconds(4 * kSmall);
        EXPECT_LT(large, kAnyway);
        if (large <= kLittle) return;
        const double most = kAtMost * seconds(kSmall);
        if (large < most) return;
        if (left == 1) EXPECT_LT(large, most);
    }
}

}  // namespace compat::parsers::testing
