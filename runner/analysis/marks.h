// How each test used devices, from the shim's record, and whether it used what the hub had
// generated. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "parsers/record.h"

namespace compat::analysis {

// A test may have several marks; of those of devices `untouched` stands alone. Without a shim's
// record there are none of devices.
struct Marks {
    bool device = false;      // used the accelerator, real or simulated; never on a CPU host
    bool fallback = false;    // some operation went to the CPU
    bool race = false;        // no wait orders accesses of two CUDA streams (--sanitize)
    bool redirected = false;  // asked for another device than it got
    bool untouched = false;   // none of these: its result says nothing about the device
    bool generated = false;   // used a generated model or data: its pass says nothing about numbers

    // The names of the set marks, as stored and reported.
    [[nodiscard]] std::vector<std::string_view> names() const;
    friend bool operator==(const Marks&, const Marks&) = default;
};

// One for each of record.cases; set only for tests that passed or failed, but for `race` and
// `generated`.
[[nodiscard]] std::vector<Marks> marks_of(const parsers::ModuleRecord& record);

// Whether a request got another device than it asked for.
[[nodiscard]] bool is_redirection(const parsers::DeviceEvent& event);

// For each of record.cases, in any state: whether it used the accelerator, was redirected, fell
// back to the CPU or met a refusal of the device.
[[nodiscard]] std::vector<bool> used_accelerator(const parsers::ModuleRecord& record);

}  // namespace compat::analysis
