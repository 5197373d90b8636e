// Injected faults: TORCHDEVICE_FAULT names the rank, its call and the kind of fault. Python parses
// it (compat_shim/settings.py).
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "simulate/nccl/call.h"

namespace compat::shim::simulate {

struct Fault {
    enum class Kind : std::uint8_t { exit, hang, slow, drop };

    std::uint64_t rank = 0;  // in the whole job
    std::uint64_t call = 0;  // of this process, over all groups, from 1
    Kind kind = Kind::exit;
    std::chrono::milliseconds delay{};  // of slow
};

// Call before the first collective. Only faults of this process's rank have an effect.
void set_faults(std::vector<Fault> faults);

// Counts a call of the process. `exit`, `hang` and `slow` happen here; true: drop the call.
[[nodiscard]] bool meet_fault(std::uint64_t rank, const Call& call);

}  // namespace compat::shim::simulate
