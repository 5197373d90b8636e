// Compares versions of torch. Not for versions of Python packages in general (pre-releases,
// epochs).
#pragma once

#include <string_view>

namespace compat {

// By numbers: "2.9.1" before "2.13.0+cpu". A version without numbers is older than any other.
[[nodiscard]] bool is_older(std::string_view version, std::string_view than);

}  // namespace compat
