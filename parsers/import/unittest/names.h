// The case that a name in unittest's text stands for: a test, a fixture of a class or a module, or
// a module that could not be loaded. Not for finding the name (parsers/unittest_header.h).
#pragma once

#include <string>
#include <string_view>

#include "parsers/record.h"
#include "parsers/unittest_header.h"

namespace compat::parsers {

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
