// The device that a run's tests get: which it is, whether a simulated Mac is bare, and how the
// suite is told its device. Not for finding the host's devices (shim/devices).
#pragma once

#include "runner/run/ready.h"

namespace compat::run {

// Checks that the device of the settings is here, and passes the settings of the device library to
// the children. `say` prints where a wish cannot be met. Errors: usage, if there is no such device.
[[nodiscard]] Expected<void> choose_device(Ready& ready, const prepare::Say& say);

// The variables by which the settings reach the device library in a child; defaults are left out.
[[nodiscard]] plan::Variables device_library_variables(const config::Settings& settings);

// A suite whose code names the simulated device runs as on a real one: nothing is redirected.
// Other suites' requests for CUDA are sent to the device. `say` prints which it is and why; where
// the user chose, nothing is changed.
void choose_redirection(Ready& ready, const prepare::Say& say);

// The device as code names it: "cpu", "cuda", "mps", "cuda:1". Where CUDA requests are sent to MPS:
// "cuda".
[[nodiscard]] std::string device_name(const Ready& ready);

// `{device}` becomes `name` in the variables and options of the suite's `device` and of the user.
void tell_device(Ready& ready, const std::string& name);

}  // namespace compat::run
