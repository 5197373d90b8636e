// Words about models and data that the hub generated for a test. Not for which they are
// (parsers/hub_uses.h) nor for which failures they explain (parsers/diagnosis/rules.json).
#pragma once

#include <string>

#include "parsers/record.h"

namespace compat::reports {

// "org/name, the dataset org/data and 3 more"; empty: nothing generated.
[[nodiscard]] std::string describe_generated(const parsers::GeneratedUse& use);

// "needs the real weights of org/name and the real data of org/data".
[[nodiscard]] std::string describe_need(const parsers::GeneratedUse& use);

// Whether such a rule blames what was generated.
[[nodiscard]] bool blames_generated(const std::string& rule);

}  // namespace compat::reports
