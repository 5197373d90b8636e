// Which failures are one and the same, and of which of them a run knows that fresh processes have
// them, too: so that one confirmation speaks for all. Pure. Not here: what runs again because of it
// (runner/plan/next.h), who waits for whose confirmation (runner/app/recorder.h).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/record.h"

namespace compat::analysis {

// What a failure has in common with those that are the same: its exception and message, word for
// word, the line that raised it, and both of each exception that led to it. Empty where a failure
// speaks for itself alone: an assertion (what it found is said elsewhere), one that `module` itself
// raised, one that says too little or comes from no file, or a group of exceptions.
[[nodiscard]] std::string origin_of(const parsers::Failure& failure, std::string_view module);

// The origins of all that broke a test of `module`, each once; none where one of its failures
// speaks for itself alone, and for a test that did not fail.
[[nodiscard]] std::vector<std::string> origins_of(const parsers::CaseRecord& test,
                                                  std::string_view module);

class Confirmed {
  public:
    // Takes in what a fresh process said of a module, and a forked one before it (null: there was
    // none). An origin that a test had in the fork and has not when it is run fresh is never
    // believed from then on.
    void learn(const parsers::ModuleRecord& fresh, const parsers::ModuleRecord* forked);
    // Whether a test that a fork says to have failed for these may be believed, were `coming`
    // confirmed, too.
    [[nodiscard]] bool covers(const std::vector<std::string>& origins,
                              const std::multiset<std::string>& coming = {}) const;

  private:
    std::set<std::string> seen_;  // in fresh processes
    std::set<std::string> doubted_;
};

}  // namespace compat::analysis
