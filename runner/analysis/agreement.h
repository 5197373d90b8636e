// Whether two readings of one attempt agree on every test: older parsers' and today's. Pure. Not
// for two runs (comparison.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parsers/record.h"

namespace compat::analysis {

// A test on which the readings disagree. No state: the reading does not have the test.
struct Difference {
    std::string test;
    std::optional<parsers::State> before;
    std::optional<parsers::State> after;

    friend bool operator==(const Difference&, const Difference&) = default;
};

// A row's id for the comparison, with the number of its tests if that is not 1: rows of other
// numbers of tests without names are other rows.
[[nodiscard]] std::string compared_id(const std::string& id, std::int64_t tests);

// Tests of `before` in their order, then those that only `after` has.
[[nodiscard]] std::vector<Difference> differences(const parsers::ModuleRecord& before,
                                                  const parsers::ModuleRecord& after);

}  // namespace compat::analysis
