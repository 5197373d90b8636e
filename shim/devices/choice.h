// Choices among devices whose capabilities are known: which to use, with which dtype and batch
// size, and whether one meets requirements. Pure functions, no torch header; each result says why.
// Not for finding devices (devices.h) nor for tensors (manager.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "devices/devices.h"
#include "devices/settings.h"

namespace compat::devices {

// The order in which a device is chosen where nothing else is said. A TPU only where it is allowed.
// Types that are not listed stand between the last accelerator and the CPU.
inline constexpr std::array<std::string_view, 4> kChain{"tpu", "mps", "cuda", "cpu"};

struct Choice {
    DeviceCapabilities device;
    std::string why;
    std::vector<std::pair<std::string, std::string>> passed_over;  // device, why it was not chosen
};

// Names of the usable devices in the order of the chain, one of each type. Usable: fp32 works.
[[nodiscard]] std::vector<std::string> chain(const std::vector<DeviceCapabilities>& devices,
                                             const Settings& settings);

// The device to use. `prefer` is empty (the settings decide), a kind (auto, cpu, gpu, tpu) or a
// device ("cuda", "cuda:1"). A wanted one that is missing or unusable is replaced by the chain's
// first if settings.recovery is on. Throws std::invalid_argument for a bad `prefer` and
// std::runtime_error if no device will do.
[[nodiscard]] Choice best(const std::vector<DeviceCapabilities>& devices, const Settings& settings,
                          std::string_view prefer = {});

struct DtypeChoice {
    std::string dtype;  // fp32, fp16, bf16 or int8
    std::string why;
};
[[nodiscard]] DtypeChoice recommended_dtype(const DeviceCapabilities& device,
                                            const Settings& settings);

struct Batch {
    std::int64_t size = 0;
    std::optional<std::int64_t> maximum;  // empty: unknown, since the size of a sample is
    std::int64_t factor = 1;
    std::string why;
};
// A batch of `base` samples on a CPU, grown for the device: 4 times on a GPU, tpu_batch_factor
// times on a TPU, rounded up to a power of two. `sample_bytes`: memory of one sample, 0 if unknown;
// then the size is at most what fits in memory_fraction of the free memory. Throws
// std::invalid_argument unless `base` is from 1 to 2^40 and `sample_bytes` is not negative.
[[nodiscard]] Batch batch(std::int64_t base, const DeviceCapabilities& device,
                          const Settings& settings, std::int64_t sample_bytes = 0);

struct Requirements {
    std::vector<std::string> types;   // device types; empty: any
    std::vector<std::string> dtypes;  // all must work
    std::int64_t memory = 0;          // bytes, of memory_fraction of the device's memory
    std::string capability;           // of a CUDA device, at least: "8.0"
};
struct Fit {
    bool fits = true;
    std::vector<std::string> reasons;  // why not
};
[[nodiscard]] Fit validate(const Requirements& requirements, const DeviceCapabilities& device,
                           const Settings& settings);

[[nodiscard]] bool supports(const DeviceCapabilities& device, std::string_view dtype);

}  // namespace compat::devices
