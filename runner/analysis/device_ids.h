// Ids of tests that name the device in their parameters, or in class and name as torch's own
// device-generic tests do: `test_x[cpu-float32]` of one run and `test_x[mps-float32]` of another are
// one test, and so are `TestFooCPU::test_x_cpu` and `TestFooMPS::test_x_mps`. Pure.
#pragma once

#include <string>
#include <string_view>

namespace compat::analysis {

// The id with "{device}" for `device` and `device:0` in its parameters, the last "[…]", and for the
// word `device` in the name of a test whose class ends with it ("{DEVICE}" there). Other devices
// stay: a run may have the test for several.
[[nodiscard]] std::string without_device(std::string_view id, std::string_view device);

}  // namespace compat::analysis
