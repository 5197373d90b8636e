// Where the values of a JSON text stand in it: from JSON pointers to lines and columns, by one SAX
// pass. Also finds what a tree of values cannot show: syntax errors and keys that appear twice. Not
// a validator (suites/load.cc).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace compat::suites {

// Both count from 1; columns count characters, not bytes. Line 0: unknown.
struct Position {
    int line = 0;
    int column = 0;
};

struct Positions {
    struct Problem {
        Position at;
        std::string message;
    };

    std::map<std::string, Position> values;  // by JSON pointer: "/limits/memory", "" the whole
    std::map<std::string, Position> keys;    // of the key before that value
    std::optional<Problem> problem;  // the first: bad syntax, a repeated key, nesting too deep

    // Of the value; where the pointer is unknown, of the nearest value around it.
    [[nodiscard]] Position of(const std::string& pointer) const;
    // Of the key before the value; of the value where it has none.
    [[nodiscard]] Position of_key(const std::string& pointer) const;
};

// Comments are allowed (// and /* */), a byte order mark too. Deeper than 32 levels is a problem.
[[nodiscard]] Positions find_positions(std::string_view text);

// A reference token of a JSON pointer: "a/b" -> "a~1b".
[[nodiscard]] std::string pointer_token(std::string_view key);

}  // namespace compat::suites
