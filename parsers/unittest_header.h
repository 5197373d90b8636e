// The words with which unittest's text runner names a test: "test_x (mod.Class)" up to Python 3.10,
// "test_x (mod.Class.test_x)" since 3.11. Not for the outcome, nor for the case that they name
// (import/unittest/names.h).
#pragma once

#include <optional>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

inline constexpr std::string_view kEllipsis = " ... ";
// The rules unittest draws: above each failure's title, and below it as above the closing.
inline constexpr std::string_view kDoubleRule =
    "======================================================================";
inline constexpr std::string_view kRule =
    "----------------------------------------------------------------------";

struct UnittestHeader {
    std::string_view method;     // "test_x", "setUpClass"
    std::string_view qualified;  // "mod.Class" or "mod.Class.test_x", as printed
    std::string_view key;        // both, as printed: "test_x (mod.Class"
    std::string_view rest;       // what follows the closing bracket
};

// The header at the start of a line, nothing where the line does not begin with one.
[[nodiscard]] std::optional<UnittestHeader> header_of(std::string_view line);

// A fixture of a class or a module, as unittest names it in a test's place.
struct UnittestFixture {
    std::string_view method;  // "setUpClass"
    std::string_view pseudo;  // the last word of its row's id: "<setUpClass>"
    Phase phase;
    bool of_class;
};
// Null where `method` is none.
[[nodiscard]] const UnittestFixture* unittest_fixture_of(std::string_view method);

}  // namespace compat::parsers
