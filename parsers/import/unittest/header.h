// The words with which unittest's text runner names a test, a fixture or a module that could not be
// loaded, and the case that they speak of: "test_x (mod.Class)" up to Python 3.10,
// "test_x (mod.Class.test_x)" since 3.11. Not for what became of it.
#pragma once

#include <optional>
#include <string>
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

// The header of a test behind something printed: "…test_x (m.A.test_x) ... ", of a method whose
// name begins with "test".
[[nodiscard]] std::optional<UnittestHeader> header_within(std::string_view line);

// A fixture of a class or a module, as unittest names it in a test's place.
struct UnittestFixture {
    std::string_view method;  // "setUpClass"
    std::string_view pseudo;  // the last word of its row's id: "<setUpClass>"
    Phase phase;
    bool of_class;
};
// Null where `method` is none.
[[nodiscard]] const UnittestFixture* unittest_fixture_of(std::string_view method);

class UnittestNames {
  public:
    // `module`: all tests are of it, whatever their classes are called; empty: their names tell.
    // `fallback`: for what names no module, as tests of `__main__`.
    UnittestNames(std::string_view module, std::string_view fallback);

    [[nodiscard]] CaseRecord case_of(const UnittestHeader& header);
    [[nodiscard]] const std::string& fallback() const { return fallback_; }
    void set_fallback(std::string fallback);

  private:
    [[nodiscard]] const std::string& prefix_of(std::string_view owner);
    [[nodiscard]] std::string path_of(std::string_view dotted) const;

    std::string module_;
    std::string fallback_;
    std::string owner_;   // the class that `prefix_` is of
    std::string prefix_;  // "tests/test_a.py::Outer.Inner::"
};

// A case is found by its name and its phase.
[[nodiscard]] std::string unittest_name_of(const UnittestHeader& header);
[[nodiscard]] Phase unittest_phase_of(const UnittestHeader& header);

}  // namespace compat::parsers
