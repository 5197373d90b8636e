// Which failures of forked processes the fork may have caused. Pure. Not for which of them run
// again (runner/plan/confirmation.h).
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "parsers/record.h"

namespace compat::analysis {

// The signatures of all failures of a test, those of its sub-tests included. Failures with the
// cause `hub` share one: the network is missing for all modules or for none.
[[nodiscard]] std::set<std::string> signatures_of(const parsers::CaseRecord& test);

// Whether only a fresh process of `module` itself can confirm this failed test: a failure that a
// fork may cause (time-out, crash, memory, threads, locks, ports, files in use, CUDA initialised
// before the fork), one without a cause, or one that was raised in the module's own file and is not
// for want of a network.
[[nodiscard]] bool needs_own_confirmation(const parsers::CaseRecord& test, std::string_view module);

}  // namespace compat::analysis
