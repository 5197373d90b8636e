// How long a run will still take, from what its modules took before. Pure.
#pragma once

#include <optional>
#include <vector>

namespace compat::app {

struct ModuleTime {
    std::optional<double> before;  // seconds that it took in the last run; empty: unknown
    std::optional<double> age;     // seconds that it has been running; empty: it waits
};

// `open`: the modules that are not done. `finished`: seconds of those that are. A module of which
// nothing is known is taken for the mean of those of which something is; nothing is said where
// there is none. With `parallel` at a time, never less than the longest one needs.
[[nodiscard]] std::optional<double> time_left(const std::vector<ModuleTime>& open,
                                              const std::vector<double>& finished, int parallel);

}  // namespace compat::app
