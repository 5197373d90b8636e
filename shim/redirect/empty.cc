#include "redirect/empty.h"

#include <ATen/ops/empty_ops.h>
#include <c10/core/TensorOptions.h>

#include "redirect/cuda.h"
#include "redirect/force.h"

namespace compat::shim {

at::Tensor EmptyKernel::operator()(c10::DispatchKeySet keys, c10::SymIntArrayRef size,
                                   std::optional<at::ScalarType> dtype,
                                   std::optional<at::Layout> layout,
                                   std::optional<at::Device> device, std::optional<bool> pinned,
                                   std::optional<at::MemoryFormat> format) {
    if (forces() || (mode_ && !comes_to_backend_select(keys)))
        return boxed_.call<at::Tensor>(op_, keys, size, dtype, layout, device, pinned, format);
    std::optional<AsCuda> as_cuda;
    if (device && redirect_request(id_, *device)) as_cuda.emplace();
    return at::_ops::empty_memory_format::redispatch(
        c10::DispatchKeySet(c10::computeDispatchKey(dtype, layout, device)), size, dtype, layout,
        device, pinned, format);
}

}  // namespace compat::shim
