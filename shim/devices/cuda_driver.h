// What the CUDA driver says of a device and LibTorch's own headers cannot be asked without CUDA's.
#pragma once

#include <string>

namespace compat::devices {

struct CudaDescription {
    std::string name;        // empty: the driver is not there, or does not say
    std::string capability;  // "8.0"
};

// `index` as torch counts: CUDA_VISIBLE_DEVICES applies to both.
[[nodiscard]] CudaDescription describe_cuda_device(int index);

}  // namespace compat::devices
