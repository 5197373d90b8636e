// The commands that repeat one test or module of a run, for people to copy. Not for which tests
// have them (model.cc).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/model.h"

namespace compat::reports {

// The run's facts from which the commands are made.
struct CommandSource {
    std::vector<std::string> rerun_argv;
    std::vector<std::pair<std::string, std::string>> env;
    std::string root, framework, python;
};

class ReproduceCommands {
  public:
    explicit ReproduceCommands(CommandSource run);

    // `target` for the runner, `name` for the framework (empty: the whole module).
    [[nodiscard]] Reproduce of(const std::string& target, const std::string& module,
                               const std::string& name) const;

  private:
    CommandSource run_;
    std::string runner_before_, runner_after_, plain_before_;  // equal for all tests
};

}  // namespace compat::reports
