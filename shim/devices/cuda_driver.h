// Device facts from the CUDA driver, for which LibTorch's own headers need CUDA's.
#pragma once

#include <string>

namespace compat::devices {

struct CudaDescription {
    std::string name;        // empty: no driver, or no answer
    std::string capability;  // "8.0"
};

// `index` as torch counts: CUDA_VISIBLE_DEVICES applies to both.
[[nodiscard]] CudaDescription describe_cuda_device(int index);

}  // namespace compat::devices
