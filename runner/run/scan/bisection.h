// Finds which of many changes can stay together, by trials that each cost a run of tests. Pure but
// for the trials. Not for what a change or a trial is (verify_fixes.h).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "runner/base/error.h"

namespace compat::run {

using Changes = std::vector<size_t>;

// What broke with these changes and no others: indices of the caller's tests. Nothing: there is no
// time for a trial.
using Trial = std::function<Expected<std::optional<std::vector<size_t>>>(const Changes& changes)>;

struct DroppedChange {
    size_t change = 0;
    std::vector<size_t> broken;  // what breaks if it is added to those that were kept before it
};

struct Bisection {
    Changes kept;  // their trial broke nothing, unless nothing is kept
    std::vector<DroppedChange> dropped;
    Changes undecided;  // there was no time; they are not kept
};

// `group_of[i]`: the file of change i; changes of a file stand together, and are halved last. d
// changes that break something take about 2 d log2(n) trials. The first trial is of all. A change
// that holds only together with another one may be dropped.
[[nodiscard]] Expected<Bisection> bisect(const std::vector<size_t>& group_of, const Trial& trial);

}  // namespace compat::run
