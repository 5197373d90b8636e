// Resolves a TARGET of the command line to modules and tests of a suite. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/plan/plan.h"

namespace compat::plan {

// Indices into the modules, ascending. `test` is what follows the module in an id ("Class::test",
// "test[a-b]"), for a target that names one module; empty: the whole.
struct Match {
    std::vector<std::size_t> modules;
    std::string test;
};

// The first of these that finds a module: a group's name; a file, folder or glob, from the root or
// from layout.tests; a dotted module, folder, class or test, from either. "path::Class::test" is a
// file and what to run of it. Errors (usage): nothing matches, all that matches is excluded, or
// "::" stands behind something that is not one module.
[[nodiscard]] Expected<Match> resolve(const suites::Suite& suite,
                                      const std::vector<ModuleFile>& modules,
                                      std::string_view target);

// The ids by which a test is selected: its own, that of its function without parameters, those of
// its classes; of one of GoogleTest's also as the source has them, `Suite::Test` of
// `Some/Suite::Test/0`. The harness selects by the same (recorder.py, gtest_text.py).
[[nodiscard]] std::vector<std::string> selecting_ids(std::string_view id, Framework framework);

// Whether `path` belongs to the group.
[[nodiscard]] bool is_in(const suites::Group& group, std::string_view path);

}  // namespace compat::plan
