// Compares versions of torch. Not for versions of Python packages in general (pre-releases,
// epochs).
#pragma once

#include <string_view>

namespace compat {

// As PEP 440 orders them, whatever the build: "2.9.1" before "2.13.0.dev20260401+cpu", "2.13.0rc1",
// "2.13.0". A version without numbers is older than any other.
[[nodiscard]] bool is_older(std::string_view version, std::string_view than);

// Whether the requirement "torch==wanted" accepts `version`: 2.15 accepts every build of 2.15.0,
// and 2.15.0+cpu only that one.
[[nodiscard]] bool accepts_version(std::string_view wanted, std::string_view version);

}  // namespace compat
