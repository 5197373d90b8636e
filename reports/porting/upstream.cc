// Tests that break alike on plain CPU and on a device: the cause is upstream (parts.h).
#include "reports/porting/parts.h"

namespace compat::reports {

std::map<std::size_t, PerColumn<bool>> upstream_tests(const BrokenTests& broken) {
    std::map<std::size_t, PerColumn<bool>> tests;
    for (const auto& [key, failures] : broken) {
        const auto& [column, test] = key;
        const auto on_cpu = broken.find({kBaseline, test});
        // A comparison that needs real weights fails alike everywhere: no project is at fault.
        if (std::ranges::any_of(failures, [](const FailureFacts& failure) {
                return failure.without_generated.has_value();
            }))
            continue;
        if (column != kBaseline && on_cpu != broken.end() && breaks_alike(on_cpu->second, failures))
            tests[test][index_of(column)] = true;
    }
    return tests;
}

}  // namespace compat::reports
