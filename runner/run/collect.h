// The tests that modules hold, without running them, and names on the command line (ids, -k) that
// no test has. Not for the modules of a suite (plan).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parsers/record.h"
#include "runner/base/clock.h"
#include "runner/plan/plan.h"
#include "runner/run/ready.h"

namespace compat::run {

// Collects each module in a child of its own, as a run would, and runs nothing. `keyword`: -k.
// `timeout`: of each child; none: the setting. Errors: io; interrupted, by a signal.
[[nodiscard]] Expected<std::vector<parsers::ModuleRecord>> collect(
    const Ready& ready, const std::string& keyword, const std::vector<plan::Job>& planned_jobs,
    std::optional<Milliseconds> timeout = std::nullopt);

// Those of `requested` that name no test, class or function of the collected module. None if the
// module could not be collected.
[[nodiscard]] std::vector<std::string> ids_without_tests(const std::vector<std::string>& requested,
                                                         const parsers::ModuleRecord& record);

// Those of `ids` that name no test if their modules are collected so.
[[nodiscard]] Expected<std::vector<std::string>> ids_without_tests(
    const std::vector<std::string>& ids, const Ready& ready);

// Prints each id with the nearest ids of its module, which is collected again for that, or with
// the command that lists the ids.
void print_unmatched_ids(const std::vector<std::string>& ids, const Ready& ready);

// Nothing for an empty keyword.
void print_unmatched_keyword(const std::string& keyword);

}  // namespace compat::run
