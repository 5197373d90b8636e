// The places in the suite's code at which a cause breaks tests (parts.h).
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "reports/porting/parts.h"

namespace compat::reports {

void CausePlaces::add(const Difference& difference) {
    if (difference.place.empty()) return;
    BreakingPlace& place = places_[difference.cause][difference.place];
    place.place = difference.place;
    place.url = difference.place_url;
    ++place.tests;
}

void CausePlaces::add_behind(const Causes& causes, const KeptGoing& kept_going) {
    // A test may meet it in several columns, and often in one.
    std::set<std::tuple<size_t, std::string, std::string_view>> seen;
    for (const auto& [key, kept] : kept_going.tests())
        for (const auto* const list : {&kept.refusals, &kept.failures})
            for (const FailureFacts& failure : *list) {
                const auto cause = causes.find(failure);
                if (!cause || failure.place_url.empty()) continue;
                const auto first = places_.find(*cause);
                if (first != places_.end() && first->second.contains(failure.place)) continue;
                if (!seen.emplace(*cause, failure.place, key.second).second) continue;
                BreakingPlace& place = behind_[*cause][failure.place];
                place.place = failure.place;
                place.url = failure.place_url;
                ++place.tests;
            }
}

void CausePlaces::finish(std::vector<CauseOfDifferences>& causes) {
    const auto move_first = [](OfCause& from, std::vector<BreakingPlace>& to) {
        for (auto& [name, place] : from) to.push_back(std::move(place));
        std::stable_sort(to.begin(), to.end(),
                         [](const auto& a, const auto& b) { return a.tests > b.tests; });
        if (to.size() > kExamples) to.resize(kExamples);
    };
    for (auto& [cause, places] : places_) move_first(places, causes[cause].places);
    for (auto& [cause, places] : behind_) move_first(places, causes[cause].places_behind);
}

}  // namespace compat::reports
