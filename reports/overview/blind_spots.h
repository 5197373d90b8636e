// Blind spots of a count of failures: tests that touched no device, that ended by time-out, memory,
// disk or network, or that did not run. Every headline has them, because readers misread
// regressions without them. Not for why a test failed (parsers/diagnosis/diagnosis.h). Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/record.h"
#include "reports/model.h"

namespace compat::reports {

enum class Blind {
    not_loaded,
    not_run,
    timed_out,
    memory,
    disk,
    resources,
    network,
    real_weights,
    runner,
    device_unused,
    untouched,
    generated
};

struct BlindSpotRow {
    std::string_view name;   // in files
    std::string_view words;  // what the tests did; after ": " why that matters
};
inline constexpr std::array<BlindSpotRow, 12> kBlindSpots{{
    {"not_loaded", "took the place of a module that could not be loaded: its tests do not count"},
    {"not_run", "did not run: no result"},
    {"timed_out", "ended by time-out: slow, or stuck"},
    {"memory", "ended for lack of memory: the machine's or the device's limit, not the code's"},
    {"disk",
     "ended for lack of disk space: a limit of the machine or the sandbox, not of the code"},
    {"resources", "ended for lack of file handles, threads or the like: the machine's limit"},
    {"network", "needed the network: weights, data or a server could not be reached"},
    {"real_weights",
     "needed real weights or data: a comparison failed on generated ones, which is no "
     "fault of the device"},
    {"runner", "broke in the runner's own code: no result of the code under test"},
    {"device_unused", "ran without any use of the simulated device: no result says anything of it"},
    {"untouched", "touched no device: a result says nothing about it"},
    {"generated",
     "used generated models or data: a pass says that the code runs on the device, not "
     "that numbers are the real model's"},
}};

class BlindSpotCounts {
  public:
    void add(Blind spot, std::int64_t tests = 1) {
        counts_[static_cast<std::size_t>(spot)] += tests;
    }
    // Only those with tests, in the order of the table.
    [[nodiscard]] std::vector<BlindSpot> spots() const;

  private:
    std::array<std::int64_t, kBlindSpots.size()> counts_{};
};

// By the test's state and the cause of its failure; empty: it says what its state says.
[[nodiscard]] std::optional<Blind> blind_spot_of(parsers::State state,
                                                 const parsers::Diagnosis* diagnosis);

// "3 ended by time-out, 76 needed the network"; empty: there are none.
[[nodiscard]] std::string format_blind_spots(const std::vector<BlindSpot>& spots);

}  // namespace compat::reports
