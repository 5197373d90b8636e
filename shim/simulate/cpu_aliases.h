// CPU aliases of the device's tensors: during one call a CPU kernel works on CPU tensors over the
// same memory. Nothing is copied. Sparse, nested and quantized tensors are rebuilt from aliases of
// their members.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstdint>

#include "simulate/memory.h"

namespace compat::shim::simulate {

class CpuAliases {
  public:
    // `results`: the device of tensors that the kernel makes.
    explicit CpuAliases(c10::Device results) : results_(results) {}

    void results_go_to(c10::Device device) { results_ = device; }

    // The tensor itself if it is not on the accelerator.
    [[nodiscard]] at::Tensor to_cpu(const at::Tensor& tensor);
    // A view of the device's storage if the kernel returned a view of its alias; else the kernel's
    // memory, adopted. Throws if the accelerator has no tensors of the dtype.
    [[nodiscard]] at::Tensor to_device(const at::Tensor& tensor);

    // Call after the kernel: storages whose aliases it resized get the new memory.
    void adopt_resized();
    // Copies sizes and strides, or members, from the alias of an output argument to the argument.
    void write_back(const at::Tensor& tensor, const at::Tensor& alias);

    // Whether a tensor had to be rebuilt; its alias then does not have the dense CPU dispatch key.
    [[nodiscard]] bool rebuilt() const noexcept { return rebuilt_; }

    [[nodiscard]] static bool is_ours(const at::Tensor& tensor);

  private:
    struct Alias {
        c10::Storage device, host;
        const void* data;
        std::size_t bytes;
    };
    [[nodiscard]] const c10::Storage& alias_of(const c10::Storage& storage);
    template <class Member>
    [[nodiscard]] at::Tensor rebuild(const at::Tensor& tensor, c10::Device device, Member member);

    const AddressesInUse addresses_;
    c10::SmallVector<Alias, 8> aliases_;
    c10::Device results_;
    std::uint64_t given_ = 0;  // bits of the dtypes that went to the CPU
    bool rebuilt_ = false;
};

}  // namespace compat::shim::simulate
