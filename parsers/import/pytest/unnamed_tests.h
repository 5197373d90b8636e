// The tests of a session of pytest's that only characters and totals speak of, as rows of their
// own. Not for tests that have a name in the log (finish.h).
#pragma once

#include <vector>

#include "parsers/import/pytest/finish.h"

namespace compat::parsers {

// As many in each state as the closing counts beyond those with a name, else as there are
// characters; and those that were collected and did not run.
void add_unnamed_pytest(const PytestFacts& facts, const PytestEnd& end, ModuleRecord& record,
                        std::vector<Progress>& progress, Unnamed::Room& room);

}  // namespace compat::parsers
