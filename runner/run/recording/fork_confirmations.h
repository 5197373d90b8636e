// Which failures of a run's forked processes need a fresh process: none of those that an earlier
// run has shown, and of equal ones those of one module. Not here: which attempt comes next
// (plan/retry_policy.h), which failures a fork may cause (analysis/forked_failures.h).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "runner/plan/confirmation.h"
#include "runner/plan/retry_policy.h"
#include "runner/store/store.h"

namespace compat::run {

struct ConfirmationRules {
    bool confirm_all = true;  // by its own module each failure of a forked process
    // A run that keeps going judges no test, so that nothing needs a fresh process.
    bool gives_verdicts = true;
    plan::EarlierFailures evidence{};  // of earlier runs
};

using Attempts = std::vector<store::JobResult>;  // of one module

[[nodiscard]] bool only_forked(const Attempts& attempts);

class ForkConfirmations {
  public:
    // `share`: a module may confirm what fails equally in others.
    ForkConfirmations(ConfirmationRules rules, bool share)
        : rules_(std::move(rules)), share_(share) {}

    // Whether other modules may confirm all that failed in a module's forked processes. A fresh
    // process that the module needs anyway runs them all.
    [[nodiscard]] bool others_may_confirm(const Attempts& attempts) const;
    // As the planner of attempts needs them. `defer`: what others may confirm.
    [[nodiscard]] std::vector<plan::Attempt> history(const Attempts& attempts, bool defer) const;

    // Adds what the last of the attempts says of failures in forked processes: of its module's own,
    // or, if its first process was fresh, of equal ones.
    void add_result(const Attempts& attempts);
    // The module's next attempt runs these tests in a fresh process.
    void claim(const Attempts& attempts, const std::vector<std::string>& ids);
    // Later attempts do not count for the first choice.
    void begin() { known_at_start_ = confirmations_; }

    // The ids that each module must run (plan::Confirmations::choose). The first choice does not
    // depend on when modules ended.
    enum class Choice { first, later };
    [[nodiscard]] std::vector<std::vector<std::string>> choose(
        const std::vector<plan::UnconfirmedModule>& modules, Choice choice) const;

    // The rules' one, and what fresh processes have shown since.
    [[nodiscard]] const plan::EarlierFailures& evidence() const { return rules_.evidence; }

  private:
    [[nodiscard]] bool is_proven(const parsers::CaseRecord& test) const;

    ConfirmationRules rules_;
    bool share_;
    plan::Confirmations confirmations_;
    plan::Confirmations known_at_start_;  // also from fresh first attempts
    std::set<std::string> claimed_;       // signatures that second attempts confirm for themselves
};

[[nodiscard]] plan::UnconfirmedModule unconfirmed(std::string path, const Attempts& attempts,
                                                  const std::vector<std::string>& ids);

}  // namespace compat::run
