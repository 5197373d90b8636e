#include "runner/app/time_left.h"

#include <algorithm>

namespace compat::app {

std::optional<double> time_left(const std::vector<ModuleTime>& open,
                                const std::vector<double>& finished, int parallel) {
    double known = 0;
    std::size_t count = finished.size();
    for (const double seconds : finished) known += seconds;
    for (const ModuleTime& module : open)
        if (module.before) {
            known += *module.before;
            ++count;
        }
    if (count == 0) return std::nullopt;
    const double mean = known / static_cast<double>(count);
    double sum = 0, longest = 0;
    for (const ModuleTime& module : open) {
        const double left = std::max(0.0, module.before.value_or(mean) - module.age.value_or(0));
        sum += left;
        longest = std::max(longest, left);
    }
    return std::max(longest, sum / std::max(1, parallel));
}

}  // namespace compat::app
