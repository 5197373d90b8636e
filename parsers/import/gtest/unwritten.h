// The failures that GoogleTest's XML and JSON leave out up to version 1.15, those in the set-up and
// tear-down of test suites: a test that never began is their only trace. Not for the binary's log,
// which has them (log_and_file.h).
#pragma once

#include <map>
#include <pugixml.hpp>
#include <string>

#include "parsers/record.h"

namespace compat::parsers {

// Whether the test of this <testcase> began: the start of one that did not is 1970, while the file's
// own is not.
[[nodiscard]] bool googletest_began(pugi::xml_node testcase);

// The tests of one file that never began, though no failure in it says why.
class GoogletestUnwritten {
  public:
    void see(pugi::xml_node testcase);
    // Says so in the record, as a doubt at `offset` (doubt.h).
    void add_to(ModuleRecord& record, size_t offset) const;

  private:
    std::map<std::string, int> unbegun_;  // by test suite
    int under_environment_ = 0;           // that ran, it says, and never began
    bool writes_suites_ = false;          // the failures of test suites: since 1.16
    bool writes_environments_ = false;    // theirs: since 1.11
    bool environment_failed_ = false;
};

}  // namespace compat::parsers
