// Which failures of forked processes a fresh process repeats, so that each signature is confirmed
// once a run. Pure, and the answer does not depend on the order in which modules end. Not here:
// what a signature is (parsers/diagnosis/signature.h), which failures their own module must confirm
// (runner/analysis/forked_failures.h), the other attempts at a module (retry_policy.h).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace compat::plan {

// A test that failed in a forked process, with the signatures of all its failures.
struct ForkedFailure {
    std::string id;
    std::set<std::string> signatures;
};

// A module whose only open question is whether its failures are confirmed.
struct UnconfirmedModule {
    std::string path;
    std::vector<ForkedFailure> failures;
};

class Confirmations {
  public:
    // A test failed in a fork with some signatures, and a fresh process has run it. `fresh` is
    // empty if it did not fail there. A signature that once did not come back is never believed
    // again.
    void add_result(const std::set<std::string>& forked, const std::set<std::string>& fresh);

    // For each module the ids that its fresh process must run, none if other modules confirm its
    // failures. Few modules are chosen: those with most signatures first, then by path. Fresh
    // processes that are under way or waiting confirm the signatures `claimed`, whatever has been
    // said about them so far.
    [[nodiscard]] std::vector<std::vector<std::string>> choose(
        const std::vector<UnconfirmedModule>& modules, std::set<std::string> claimed = {}) const;

  private:
    std::set<std::string> confirmed_;
    std::set<std::string> refuted_;
};

// The failures that fresh processes of earlier runs have had, by test: signatures. A later run of the
// same test, in the same way or on another device of the same command, need not show it again. They
// do not confirm failures of other tests: an equal text may have another reason there.
struct EarlierFailures {
    std::map<std::string, std::set<std::string>> failures;
};

}  // namespace compat::plan
