// One <testcase> of a JUnit XML file as a case: what each writer's elements and attributes mean.
// Not for which elements are of one test, nor for runs and their totals (junit_xml.h).
#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "parsers/import/junit/junit_writer.h"
#include "parsers/record.h"

namespace compat::parsers {

// By the marks that a writer leaves on an outermost <testsuite>, the document's root and its tests.
[[nodiscard]] JunitWriter writer_of(pugi::xml_node suite);

struct JunitCase {
    CaseRecord test;      // its id without the module: "Class::test"
    std::string path;     // of the module; empty: the element does not tell
    std::string subtest;  // the label of the sub-test that it is of
    // pytest: nothing but a broken tear-down, in an element of its own where the test had failed.
    bool only_teardown = false;
};
[[nodiscard]] JunitCase junit_case(JunitWriter writer, pugi::xml_node testcase,
                                   CountedFailures& counted);

// Whether a <testcase> may have such a child.
[[nodiscard]] bool is_junit_child(std::string_view name);

// All text right inside a node: writers cut one text into several CDATA sections.
[[nodiscard]] std::string junit_text(pugi::xml_node node);
// The output in a node, without which a failure's text is not complete.
[[nodiscard]] std::string junit_output(pugi::xml_node node);
[[nodiscard]] std::string junit_reason(pugi::xml_node skipped);

// Empty where the node has none.
[[nodiscard]] inline std::string_view junit_attribute(pugi::xml_node node, const char* name) {
    return node.attribute(name).as_string();
}

}  // namespace compat::parsers
