// Ids of tests whose parameters name the device: `test_x[cpu-float32]` of one run and
// `test_x[mps-float32]` of another are one test. Pure.
#pragma once

#include <string>
#include <string_view>

namespace compat::analysis {

// The id with "{device}" for `device` and `device:0` in its parameters, the last "[…]". Other devices
// stay: a run may have the test for several.
[[nodiscard]] std::string without_device(std::string_view id, std::string_view device);

}  // namespace compat::analysis
