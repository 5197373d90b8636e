// The part of a suite that a run was asked for, as the words of its command line that chose it:
// targets, sorted; "-k" and its expression; "--" and the options for pytest. Empty: the whole
// suite. Not for resolving targets to modules (runner/plan/targets.h). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace compat::store {

using Subset = std::vector<std::string>;

// From "--" on. Options may choose tests, or only change how they run.
[[nodiscard]] Subset options_in(const Subset& subset);

// Whether targets or -k chose tests.
[[nodiscard]] bool chooses_tests(const Subset& subset);

// Whether the run was surely asked for the test `id`, whose module it had (`has_module`) or not: it
// is one of the targets or below one. Never, where -k or options for pytest decide.
[[nodiscard]] bool asks_for(const Subset& subset, std::string_view id, bool has_module);

// Of a run that a runner stored before it stored this. A word after an option is its value, unless
// the option is one of those that had none.
[[nodiscard]] Subset subset_of_older_run(const std::vector<std::string>& argv);

}  // namespace compat::store
