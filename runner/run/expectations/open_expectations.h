// The expectations of a run that begins: which file has them, its entries, and which of them the
// run can say to match nothing. Not here: what they mean for a result (runner/analysis), and
// changing the file (update_expectations.h).
#pragma once

#include <string>
#include <vector>

#include "runner/base/expectation.h"
#include "runner/base/files/fs.h"
#include "runner/plan/plan.h"
#include "runner/run/ready.h"

namespace compat::run {

struct OpenExpectations {
    fs::path file;  // absolute, there or not; empty: nothing is expected
    std::vector<Expectation> entries;
    std::string note;  // for people: a file that was not read; empty: none
};

// Errors: usage, where the settings name a file that is not there; suite, naming line and column of
// an invalid entry. In a project without suite.json, a file of this name that is another program's
// is not read.
[[nodiscard]] Expected<OpenExpectations> open_expectations(const Ready& ready);

// Sets `selected`: false where the selection leaves tests out that the entry could match. Shards
// together select what their run would.
[[nodiscard]] Expected<void> mark_selected(std::vector<Expectation>& entries, const Ready& ready,
                                           const plan::Selection& selection);

}  // namespace compat::run
