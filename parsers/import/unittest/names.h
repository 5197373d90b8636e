// The case that unittest's words for a test, a fixture or a module that could not be loaded speak
// of: its id and name. Not for what became of it.
#pragma once

#include <string>
#include <string_view>

#include "parsers/import/unittest/header.h"
#include "parsers/record.h"

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
    [[nodiscard]] std::string path_of_module(std::string_view dotted) const;
    [[nodiscard]] std::string class_of(std::string_view qualified) const;

    std::string module_;
    std::string dotted_;  // the module as Python names it
    std::string fallback_;
    std::string owner_;   // the class that `prefix_` is of
    std::string prefix_;  // "tests/test_a.py::Outer.Inner::"
};

// What a case is found by: the name that it has, and its phase.
[[nodiscard]] std::string unittest_name_of(const UnittestHeader& header);
[[nodiscard]] Phase unittest_phase_of(const UnittestHeader& header);

}  // namespace compat::parsers
