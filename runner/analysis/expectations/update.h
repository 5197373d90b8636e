// Works out how the entries of expectations.json must change so that a run's results are expected:
// as few changes as possible, none of which lets another result of another test, or of another
// device, pass. Pure. Not for the file's text (suites/expectations.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runner/analysis/expectations/judge.h"

namespace compat::analysis {

struct ExpectationChange {
    enum class Kind { add, set_states, remove };
    Kind kind = Kind::add;
    size_t entry = 0;   // of the file, from 0; unused by `add`
    Expectation value;  // as it is afterwards; as it was, if it is removed
};

// Left for people to decide: an entry past its last day, a test that did not run.
struct LeftForPeople {
    std::string test, why;
};

struct ExpectationUpdate {
    // The file's entries in their order, then new ones sorted by test.
    std::vector<ExpectationChange> changes;
    std::vector<LeftForPeople> left;
};

struct UnexpectedResult {
    std::string id;
    parsers::State state = parsers::State::passed;
    std::string framework;
};

// Collects a run's unexpected results, module by module.
//  - A result without an entry gets one of its own, for this device alone: conditions `device` and
//    `simulated` say which.
//  - An entry for this test and this device alone gets the state that was seen, or is removed if
//    the test passed.
//  - Every other entry stays: a more specific one is added beside it. But one for this device alone
//    is removed if all that it matches passed, or if it matches nothing, and the run had selected
//    everything that it could match.
//  - Nothing is done about results that an expired entry had covered, nor about tests not run.
class UpdatePlanner {
  public:
    // `expectations` outlives it.
    explicit UpdatePlanner(const Expectations& expectations);
    // With a test's verdict in each row.
    void add(const parsers::ModuleRecord& record);
    [[nodiscard]] ExpectationUpdate finish() const;

  private:
    const Expectations* expectations_;
    ExpectationTally tally_;
    std::vector<UnexpectedResult> results_;
};

}  // namespace compat::analysis
