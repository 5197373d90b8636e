#include "runner/compare/noise.h"

#include <algorithm>

#include "runner/store/compared_runs.h"

namespace compat::compare {

namespace {

constexpr int kRepeatsRead = 10, kRepeatsSearched = 50;

// Adds the tests whose states are not equal in all of `runs`.
Expected<void> add_noise(const store::Store& store, const std::vector<std::string>& runs,
                         std::vector<std::int64_t>& noisy) {
    const auto first = verdict_rows(store, runs.front());
    if (!first) return tl::unexpected(first.error());
    for (std::size_t i = 1; i < runs.size(); ++i) {
        const auto other = verdict_rows(store, runs[i]);
        if (!other) return tl::unexpected(other.error());
        auto a = first->begin(), b = other->begin();
        while (a != first->end() && b != other->end()) {
            if (a->test == b->test && a->state != b->state) noisy.push_back(a->test);
            const std::int64_t test = std::min(a->test, b->test);
            if (a->test == test) ++a;
            if (b->test == test) ++b;
        }
    }
    return {};
}

}  // namespace

bool Noise::has(std::int64_t test) const {
    return std::binary_search(tests.begin(), tests.end(), test);
}

Expected<Noise> noise_of(const StoredSide& side) {
    const auto run = side.store->load_run(side.id);
    if (!run) return tl::unexpected(run.error());
    std::vector<std::string> starts{side.id};
    const auto past = comparable_runs(*side.store, run->info, kRepeatsSearched);
    if (!past) return tl::unexpected(past.error());
    const auto repeated = std::find_if(past->begin(), past->end(),
                                       [](const auto& other) { return !other.repeat_of.empty(); });
    if (repeated != past->end()) starts.push_back(repeated->id);
    Noise noise;
    for (const std::string& start : starts) {
        if (std::find(noise.runs.begin(), noise.runs.end(), start) != noise.runs.end()) continue;
        const auto runs = repeats_of(*side.store, start, kRepeatsRead);
        if (!runs) return tl::unexpected(runs.error());
        if (runs->size() < 2) continue;
        noise.runs.insert(noise.runs.end(), runs->begin(), runs->end());
        if (auto added = add_noise(*side.store, *runs, noise.tests); !added)
            return tl::unexpected(added.error());
    }
    std::sort(noise.tests.begin(), noise.tests.end());
    noise.tests.erase(std::unique(noise.tests.begin(), noise.tests.end()), noise.tests.end());
    return noise;
}

}  // namespace compat::compare
