// `--diagnose`: after everything else of a run, runs failed tests again, one at a time, each in a
// fresh process with a recovery, and stores the results. Changes no verdict. Not for what is tried
// and what it shows (runner/analysis/ways/diagnostic_retries.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "runner/base/clock.h"
#include "runner/run/execute_run.h"

namespace compat::run {

// A run without a verdict has nothing to diagnose.
[[nodiscard]] bool asks_for_diagnosis(const Ready& ready);

struct DiagnosisEnd {
    bool interrupted = false;  // `resume` goes on with it
    std::int64_t attempts = 0;
};

// `execution` has ended and is stored. `say` prints a line.
[[nodiscard]] Expected<DiagnosisEnd> diagnose_failures(
    const Ready& ready, store::Store& store, const Execution& execution, const Clock& clock,
    const std::function<void(std::string_view)>& say);

}  // namespace compat::run
