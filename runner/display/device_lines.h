// What device-probe printed (docs/reference/file-formats.md), in lines for a person. Pure. Not for
// asking it (prepare::probe_devices).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace compat::display {

// A line a device, then one for each type that could not be asked. Text that is not of a format
// that we know is one line that says so.
[[nodiscard]] std::vector<std::string> device_lines(std::string_view json);

}  // namespace compat::display
