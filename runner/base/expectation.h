// An entry of expectations.json: which states a user expects of tests, under which conditions and
// until when. Values only. Not here: the file (suites/expectations.h) and what an entry means for a
// result (runner/analysis/expectations).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace compat {

struct Expectation {
    std::string test;                                      // a pattern over ids of tests
    std::vector<std::string> expect;                       // states, any of which is expected
    std::map<std::string, std::vector<std::string>> when;  // all hold; of each, any of its values
    std::string reason, issue;                             // for people
    std::string until;  // the last day on which it applies, "2027-01-31"; empty: for ever
    // False: this run left tests out that the pattern could match.
    bool selected = true;

    friend bool operator==(const Expectation&, const Expectation&) = default;
};

}  // namespace compat
