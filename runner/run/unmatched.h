// Names on the command line that no test has: ids and -k. Not for targets that match no module
// (plan/targets.h).
#pragma once

#include <string>
#include <vector>

#include "parsers/record.h"
#include "runner/run/ready.h"

namespace compat::run {

// Those of `requested` that name no test, class or function of the collected module. None if the
// module could not be collected.
[[nodiscard]] std::vector<std::string> ids_without_tests(const std::vector<std::string>& requested,
                                                         const parsers::ModuleRecord& record);

// Prints each id with the nearest ids of its module, which is collected again for that, or with
// the command that lists the ids.
void print_unmatched_ids(const std::vector<std::string>& ids, const Ready& ready);

// Nothing for an empty keyword.
void print_unmatched_keyword(const std::string& keyword);

}  // namespace compat::run
