// A process that a child left running. Not here: finding and killing it (runner/exec).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace compat {

struct LeakedProcess {
    std::int64_t pid = 0;
    std::vector<std::string> argv;
    bool killed = true;  // false: SIGKILL did not end it

    friend bool operator==(const LeakedProcess&, const LeakedProcess&) = default;
};

}  // namespace compat
