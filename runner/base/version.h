// Which of two versions of torch is the newer one. Not for versions of Python packages in general
// (their pre-releases, epochs).
#pragma once

#include <string_view>

namespace compat {

// By their numbers: "2.9.1" before "2.13.0+cpu". One without numbers is older than any with.
[[nodiscard]] bool is_older(std::string_view version, std::string_view than);

}  // namespace compat
