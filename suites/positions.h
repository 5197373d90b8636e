// Maps JSON pointers to lines and columns of a JSON text, in one SAX pass.
// Also reports syntax errors and repeated keys, which a parsed document does not show.
// Not a validator (schema.h).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"

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

    // Bytes of the text, from `begin` to before `end`.
    struct Bytes {
        std::size_t begin = 0, end = 0;
    };

    std::map<std::string, Position> values;  // key: JSON pointer, "/limits/memory"; "" is the whole
    std::map<std::string, Position> keys;    // of the key before the value
    std::map<std::string, Bytes> bytes;      // of the values
    std::optional<Problem> problem;  // the first: bad syntax, a repeated key, nesting too deep

    // The position of the value; of the innermost enclosing value if the pointer is unknown.
    [[nodiscard]] Position of(const std::string& pointer) const;
    // The position of the key before the value; of the value if it has no key.
    [[nodiscard]] Position of_key(const std::string& pointer) const;
};

// Allows comments (// and /* */) and a byte order mark. More than 32 levels are a problem.
[[nodiscard]] Positions find_positions(std::string_view text);

// An error at a place of a file, for people to open: "FILE:LINE:COLUMN: MESSAGE: ADVICE".
[[nodiscard]] tl::unexpected<Error> refuse(const fs::path& file, Position at, std::string message,
                                           std::string advice = {});

// A reference token of a JSON pointer: "a/b" -> "a~1b".
[[nodiscard]] std::string pointer_token(std::string_view key);

}  // namespace compat::suites
