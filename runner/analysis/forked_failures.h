// Which failures of forked processes the fork may have caused. Pure. Not for which of them run
// again (runner/plan/confirmation.h).
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "parsers/record.h"

namespace compat::analysis {

// The signatures of all failures of a test, those of its sub-tests included. Failures for want of a
// network share one: it is missing for all modules or for none. So do equal refusals of a device,
// wherever they are raised.
[[nodiscard]] std::set<std::string> signatures_of(const parsers::CaseRecord& test);

// The same without what tests share: as the store has them.
[[nodiscard]] std::set<std::string> stored_signatures_of(const parsers::CaseRecord& test);

// Whether only a fresh process of `module` itself can confirm this failed test: a failure that a
// fork may cause (time-out, crash, memory, threads, locks, ports, files in use, CUDA initialised
// before the fork), one without a cause, or one that was raised in the module's own file and is
// neither for want of a network nor a device's refusal.
[[nodiscard]] bool needs_own_confirmation(const parsers::CaseRecord& test, std::string_view module);

}  // namespace compat::analysis
