// Completes a scan by what ran: the shim's record says which sites got another device than they
// asked for, and which were refused. Pure. Not for reading the record (parsers/devices.h).
#pragma once

#include <span>

#include "runner/analysis/scan/cuda_scan.h"

namespace compat::analysis {

// Marks each site, and lists events at lines that name no device. `events` name files as the scan
// does. `redirected`: whether a use of CUDA left an event, so that a site without one did not run.
void add_record(CudaScan& scan, std::span<const RanEvent> events, bool redirected);

}  // namespace compat::analysis
