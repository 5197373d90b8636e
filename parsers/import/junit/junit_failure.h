// What a <failure>, an <error> or one of their kin in JUnit XML says as a Failure, and the words by
// which pytest tells there what broke. Not for what it makes of the test (junit_case.h).
#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

// Empty where the node has none.
[[nodiscard]] std::string_view junit_attribute(pugi::xml_node node, const char* name);

// All text right inside a node: writers cut one text into several CDATA sections.
[[nodiscard]] std::string junit_text(pugi::xml_node node);

// pytest's words in the `message` of an <error>, and of a <skipped> by collection.
struct JunitPytestWords {
    std::string_view begin;
    Phase phase;
};
// Null where `message` is none of them.
[[nodiscard]] const JunitPytestWords* junit_pytest_words(std::string_view message);

// Its phase and how it is counted are left to the caller.
[[nodiscard]] Failure junit_failure(pugi::xml_node element, bool by_pytest);

}  // namespace compat::parsers
