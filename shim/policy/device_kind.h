// The differences between devices for the shim and the device library, one row each. Code asks this
// table for a fact instead of comparing names. A twin of runner/base/device_kind.h, without which
// the shim is built, and of compat_shim/device_kinds.py. Not here: differences between the kernels
// of simulated devices (simulate/accelerator.h). No torch header.
#pragma once

#include <array>
#include <string_view>

namespace compat::shim {

struct DeviceKind {
    std::string_view word{};          // as torch names it; empty: any other device
    std::string_view title{};         // for people
    std::string_view family = "gpu";  // as in the setting `prefer`
    bool is_accelerator = true;
    bool has_kernels = true;      // torch can compute on it
    bool serves_cuda = false;     // code for CUDA finds what it asks for
    bool serves_mps = false;      // torch.mps finds what it asks for
    bool has_fallback = false;    // with PYTORCH_ENABLE_MPS_FALLBACK the CPU runs what it lacks
    bool has_capability = false;  // its capability is a version, below which bf16 is emulated
    bool has_bf16 = true;         // fast enough to recommend
    int simulated = 0;            // how many there are where it is simulated
};

inline constexpr int kFirstCapabilityWithBf16 = 8;

inline constexpr std::array<DeviceKind, 6> kDeviceKinds{{
    {.word = "cpu", .title = "CPU", .family = "cpu", .is_accelerator = false, .has_bf16 = false},
    {.word = "mps",
     .title = "MPS",
     .serves_mps = true,
     .has_fallback = true,
     .has_bf16 = false,
     .simulated = 1},
    {.word = "cuda", .title = "CUDA", .serves_cuda = true, .has_capability = true, .simulated = 2},
    {.word = "xpu", .title = "XPU"},
    {.word = "tpu", .title = "TPU", .family = "tpu", .has_kernels = false},
    {},
}};

// The row of a device, which may have an index ("cuda:1"); the last row for any other word.
[[nodiscard]] constexpr const DeviceKind& device_kind(std::string_view device) noexcept {
    const std::string_view word = device.substr(0, device.find(':'));
    for (const DeviceKind& row : kDeviceKinds)
        if (row.word == word) return row;
    return kDeviceKinds.back();
}

}  // namespace compat::shim
