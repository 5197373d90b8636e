// One <testcase> of a JUnit XML file as a case: what each writer's elements and attributes mean.
// Not for which elements are of one test, nor for runs and their totals (junit_xml.h).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "parsers/record.h"
#include "runner/base/framework.h"

namespace compat::parsers {

// `runner`: our own reports (reports/ci/junit.h).
enum class JunitWriter { pytest, unittest, googletest, ctest, other, runner };
[[nodiscard]] constexpr std::string_view framework_of(JunitWriter writer) {
    constexpr std::array<std::string_view, 6> kNames{name_of(Framework::pytest),
                                                     name_of(Framework::unittest),
                                                     name_of(Framework::gtest),
                                                     name_of(Framework::ctest),
                                                     "junit",
                                                     "junit"};
    return kNames[static_cast<size_t>(writer)];
}

// By the marks that a writer leaves on an outermost <testsuite>, the document's root and its tests.
[[nodiscard]] JunitWriter writer_of(pugi::xml_node suite);

struct JunitCase {
    CaseRecord test;      // its id without the module: "Class::test"
    std::string path;     // of the module; empty: the element does not tell
    std::string subtest;  // the label of the sub-test that it is of
    // pytest: nothing but a broken tear-down, in an element of its own where the test had failed.
    bool only_teardown = false;
    std::int64_t outcomes = 0;  // as its writer counts them in `tests`
};

// `diagnose` is told of child elements that are not known, at the element's offset in the text.
[[nodiscard]] JunitCase junit_case(JunitWriter writer, pugi::xml_node testcase,
                                   const std::function<void(size_t, std::string)>& diagnose);

}  // namespace compat::parsers
