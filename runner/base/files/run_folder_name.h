// Where a run's folder lies in its results. Ids in archives, shards and databases come from other
// machines, so none may lead elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace compat {

// "runs/ID"; of what cannot be the name of a folder a name that no run has.
[[nodiscard]] inline std::string run_folder_name(std::string_view id) {
    const bool is_name = !id.empty() && id != "." && id != ".." && id.find('/') == id.npos &&
                         id.find('\0') == id.npos;
    return "runs/" + (is_name ? std::string(id) : std::string("%"));
}

}  // namespace compat
