// Words about models and data that the hub generated for a test, or could not give. Not for which
// they are (parsers/hub_uses.h) nor for which failures they explain (parsers/diagnosis/rules.json).
#pragma once

#include <string>

#include "parsers/record.h"

namespace compat::reports {

// "org/name, the dataset org/data and 3 more"; empty: nothing.
[[nodiscard]] std::string describe_names(const parsers::HubNames& use);

// "needs the real weights of org/name and the real data of org/data".
[[nodiscard]] std::string describe_need(const parsers::HubNames& use);

// "asked for org/name, which the hub could not give".
[[nodiscard]] std::string describe_lack(const parsers::HubNames& missing);

// Whether such a rule blames what was generated.
[[nodiscard]] bool blames_generated(const std::string& rule);

}  // namespace compat::reports
