#include "parsers/import/gtest/unwritten.h"

#include <fmt/format.h>

#include "parsers/import/doubt.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kGiveLog = "import the binary's log as well";

// 0 of Unix's clock in any time zone.
bool is_zero_of_clock(std::string_view timestamp) {
    return timestamp.starts_with("1970-01-01") || timestamp.starts_with("1969-12-31");
}

std::string_view timestamp_of(pugi::xml_node node) {
    return node.attribute("timestamp").as_string();
}

}  // namespace

bool googletest_began(pugi::xml_node testcase) {
    if (!is_zero_of_clock(timestamp_of(testcase))) return true;
    const pugi::xml_node suite = testcase.parent();
    const std::string_view root = timestamp_of(suite.parent());
    const std::string_view start = root.empty() ? timestamp_of(suite) : root;
    return start.empty() || is_zero_of_clock(start);  // a device without a clock
}

void GoogletestUnwritten::see(pugi::xml_node testcase) {
    const pugi::xml_node suite = testcase.parent();
    const std::string_view status = testcase.attribute("status").as_string();
    writes_suites_ |= static_cast<bool>(suite.child("properties"));
    writes_environments_ |= suite.attribute("skipped") || testcase.attribute("file");
    if (std::string_view(testcase.attribute("name").as_string()).empty()) {
        const bool of_all =
            suite.attribute("name").as_string() == std::string_view("NonTestSuiteFailure");
        (of_all ? environment_failed_ : writes_suites_) = true;
    } else if (status == "run" && !googletest_began(testcase)) {
        const std::string_view result = testcase.attribute("result").as_string();
        if (result == "skipped")
            ++unbegun_[valid_utf8(suite.attribute("name").as_string())];
        else
            ++under_environment_;
    }
}

void GoogletestUnwritten::add_to(ModuleRecord& record, size_t offset) const {
    if (environment_failed_) return;
    if (under_environment_ > 0 && !writes_environments_)
        return add_doubt(record, offset,
                         fmt::format("{} tests never began: a global set-up failed or skipped, and "
                                     "this file does not say which",
                                     under_environment_),
                         kGiveLog);
    if (writes_suites_ || unbegun_.empty()) return;
    int tests = 0;
    for (const auto& [suite, count] : unbegun_) tests += count;
    add_doubt(record, offset,
              fmt::format("{} of {}{} never began: SetUpTestSuite failed or skipped, and this file "
                          "does not say which",
                          tests == 1 ? "1 test" : fmt::format("{} tests", tests),
                          unbegun_.begin()->first,
                          unbegun_.size() == 1
                              ? ""
                              : fmt::format(" and {} other test suites", unbegun_.size() - 1)),
              kGiveLog);
}

}  // namespace compat::parsers
