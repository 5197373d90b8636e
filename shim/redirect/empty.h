// aten::empty without boxing. Every factory makes its tensor with it, and putting its arguments on
// a stack would cost more than the rest of redirection. It calls the boxed kernel (kernel.h) where
// it cannot decide alone.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/boxing/KernelFunction.h>

#include "redirect/kernel.h"

namespace compat::shim {

inline constexpr std::string_view kEmpty = "aten::empty.memory_format";

class EmptyKernel final : public c10::OperatorKernel {
  public:
    // `boxed`: the kernel that the op would have under this key.
    EmptyKernel(const c10::OperatorHandle& op, OpId id, bool mode, c10::KernelFunction boxed)
        : op_(op), id_(id), mode_(mode), boxed_(std::move(boxed)) {}
    at::Tensor operator()(c10::DispatchKeySet keys, c10::SymIntArrayRef size,
                          std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                          std::optional<at::Device> device, std::optional<bool> pinned,
                          std::optional<at::MemoryFormat> format);

  private:
    c10::OperatorHandle op_;
    OpId id_;
    bool mode_;
    c10::KernelFunction boxed_;
};

}  // namespace compat::shim
