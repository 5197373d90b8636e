// Resolves a TARGET of the command line to modules and tests of a suite. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/plan/plan.h"

namespace compat::plan {

// Indices into the modules, ascending. `test` is the rest of an id after its module ("Class::test",
// "test[a-b]"); empty: all tests.
struct Match {
    std::vector<std::size_t> modules;
    std::string test;
};

// Tries in this order: a group's name; a file, folder or glob, relative to the root or to
// layout.tests; a dotted module, folder, class or test, relative to either. "path::Class::test"
// selects tests of one file. Errors (usage): no match, only excluded matches, or "::" after a name
// that is not one module.
[[nodiscard]] Expected<Match> resolve(const suites::Suite& suite,
                                      const std::vector<ModuleFile>& modules,
                                      std::string_view target);

// The ids that select a test: its own, its function without parameters, its classes; in GoogleTest
// also the names in the source (`Suite::Test` for `Some/Suite::Test/0`). The harness has the same
// rule (recorder.py and gtest_text.py in harness/_compat_harness).
[[nodiscard]] std::vector<std::string> selecting_ids(std::string_view id, Framework framework);

// Whether `path` belongs to the group.
[[nodiscard]] bool is_in(const suites::Group& group, std::string_view path);

}  // namespace compat::plan
