// The commands that repeat one test or module of a run, for people to copy. Not for which tests
// have them (model.cc).
#pragma once

#include <string>

#include "reports/model.h"
#include "runner/store/store.h"

namespace compat::reports {

class ReproduceCommands {
  public:
    explicit ReproduceCommands(const store::RunInfo& run);

    // `target` for the runner, `name` for the framework (empty: the whole module).
    [[nodiscard]] Reproduce of(const std::string& target, const std::string& module,
                               const std::string& name) const;

  private:
    const store::RunInfo& run_;
    std::string runner_before_, runner_after_, plain_before_;  // equal for all tests
};

}  // namespace compat::reports
