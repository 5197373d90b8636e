// <attempt>.devices.jsonl, as the shim writes it (docs/reference/file-formats.md): what was
// redirected, where, how often. Not for what that means for a test: runner/analysis/marks.h says
// it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "parsers/record.h"
#include "parsers/text_source.h"

namespace compat::parsers {

struct DevicesResult {
    // Empty: nobody watched; no version in it: torch was not imported.
    std::optional<ShimSession> shim;
    std::size_t watched = 0;     // processes that the shim was in
    std::size_t with_torch = 0;  // those of them that imported torch
    std::vector<DeviceEvent> events;
    std::vector<KernelCount> kernels;
    std::vector<CollectiveCalls> collectives;     // added up over processes; ordered
    std::vector<OptimizerSteps> optimizer_steps;  // the same
    std::vector<Diagnostic> diagnostics;
};

// The first session is the run's. Lines of processes without a session of their own are dropped and
// counted. Broken lines are diagnostics, a newer format is refused. Never fails.
[[nodiscard]] DevicesResult parse_devices(const LineSource& devices);
// Visits the events one by one and keeps none: for a record of any length. Collectives are no
// events: they are kept, a row for each line of source and group.
using DeviceEventVisitor = std::function<void(DeviceEvent event)>;
[[nodiscard]] DevicesResult parse_devices(const LineSource& devices,
                                          const DeviceEventVisitor& visit);

}  // namespace compat::parsers
