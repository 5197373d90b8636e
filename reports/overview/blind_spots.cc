#include "reports/overview/blind_spots.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/generated.h"

namespace compat::reports {

using parsers::Cause;
using parsers::State;

namespace {

// Ids in parsers/diagnosis/rules.json whose causes others share.
constexpr std::array<std::string_view, 3> kFullRules{"disk-full", "sandbox-full",
                                                     "sandbox-bus-error"};
constexpr std::array<std::string_view, 2> kNetworkRules{"sandbox-no-network", "sandbox-refused"};

}  // namespace

std::vector<BlindSpot> BlindSpotCounts::spots() const {
    std::vector<BlindSpot> spots;
    for (std::size_t i = 0; i < counts_.size(); ++i)
        if (counts_[i] > 0)
            spots.push_back(
                {std::string(kBlindSpots[i].name), std::string(kBlindSpots[i].words), counts_[i]});
    return spots;
}

std::optional<Blind> blind_spot_of(State state, const parsers::Diagnosis* diagnosis) {
    if (state == State::not_run) return Blind::not_run;
    if (state == State::timed_out) return Blind::timed_out;
    if (!needs_attention(state) || !diagnosis) return std::nullopt;
    const auto is_of = [&](const auto& rules) {
        return std::ranges::count(rules, diagnosis->rule) > 0;
    };
    switch (diagnosis->cause) {
        case Cause::timeout:
            return Blind::timed_out;
        case Cause::hub:
            return blames_generated(diagnosis->rule) ? Blind::real_weights : Blind::network;
        case Cause::infrastructure:
            return Blind::runner;
        case Cause::resource:
            if (diagnosis->error_class == parsers::ErrorClass::out_of_memory) return Blind::memory;
            return is_of(kFullRules) ? Blind::disk : Blind::resources;
        case Cause::environment:
            if (is_of(kNetworkRules)) return Blind::network;
            return std::nullopt;
        default:
            return std::nullopt;
    }
}

std::string format_blind_spots(const std::vector<BlindSpot>& spots) {
    std::string text;
    for (const BlindSpot& spot : spots)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", spot.tests,
                            std::string_view(spot.words).substr(0, spot.words.find(':')));
    return text;
}

}  // namespace compat::reports
