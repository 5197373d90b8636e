// The part of a suite that a run was asked for, as the words of its command line that chose it:
// targets, sorted; "-k" and its expression; "--" and the options for pytest. Empty: the whole
// suite. Not for resolving targets to modules (runner/plan/targets.h). Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace compat {

using Subset = std::vector<std::string>;

// An empty keyword: no -k.
[[nodiscard]] Subset make_subset(const std::vector<std::string>& targets,
                                 const std::string& keyword,
                                 const std::vector<std::string>& options);

// From "--" on. Options may choose tests, or only change how they run.
[[nodiscard]] Subset options_in(const Subset& subset);

// Whether targets or -k chose tests.
[[nodiscard]] bool chooses_tests(const Subset& subset);

// "only tests/test_a.py -k add, options --runslow"; of many targets the first.
[[nodiscard]] std::string describe_subset(const Subset& subset);

// Which tests a run was surely asked for: targets, and what is below them. None, where -k or
// options for pytest decide.
class AskedFor {
  public:
    explicit AskedFor(const Subset& subset);
    // `has_module`: the run has the test's module.
    [[nodiscard]] bool operator()(std::string_view id, bool has_module) const;

  private:
    bool all_ = false, none_ = false;
    bool by_file_ = true;  // no target names tests of a module
    std::set<std::string, std::less<>> targets_;
};

// The subset of a run that was stored before runs had one. A word after an option is its value,
// unless the option is one of those that had none.
[[nodiscard]] Subset subset_of_older_run(const std::vector<std::string>& argv);
[[nodiscard]] bool had_no_value(std::string_view option);

}  // namespace compat
