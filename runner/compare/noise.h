// Noise: tests whose results differ between runs that differ in nothing (A/A, `--repeat`). Not for
// printing them after such runs (runner/run/run_suite.cc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/compare/compare_runs.h"

namespace compat::compare {

struct Noise {
    std::vector<std::string> runs;    // that were compared with each other
    std::vector<std::int64_t> tests;  // rows of the side's database, sorted
    [[nodiscard]] bool has(std::int64_t test) const;
};

// From the repeats of the run itself, and from the newest repeats of the runs before it that are
// comparable; at most 10 runs of each.
[[nodiscard]] Expected<Noise> noise_of(const StoredSide& side);

}  // namespace compat::compare
