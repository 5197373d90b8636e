#include "runner/slurm/states.h"

#include <algorithm>
#include <utility>

namespace compat::slurm {

const StateRow& state_row(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kSame{
        {{"BOOT_FAIL", "NODE_FAIL"}, {"REVOKED", "CANCELLED"}, {"LAUNCH_FAILED", "NODE_FAIL"}}};
    name = name.substr(0, name.find_first_of(" +"));
    for (const auto& [other, ours] : kSame)
        if (name == other) name = ours;
    const auto find = [](std::string_view known) {
        return std::find_if(kStates.begin(), kStates.end(),
                            [&](const StateRow& row) { return row.name == known; });
    };
    const auto row = find(name);
    return row == kStates.end() ? *find("RUNNING") : *row;
}

}  // namespace compat::slurm
