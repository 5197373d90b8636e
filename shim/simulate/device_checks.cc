#include "simulate/device_checks.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/TensorAdvancedIndexingUtils.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <utility>

#include "simulate/accelerator.h"
#include "simulate/tensors_of.h"

namespace compat::shim::simulate {
namespace {

// CUDA sorts the indices in these cases, and MPS never (TensorAdvancedIndexing.cpp).
bool sorts_indices(const at::Tensor& self, const at::Tensor& values, bool accumulate) {
    return self.device().type() == accelerator().type() && accelerator().traits().sorts_indices &&
           (accumulate || (at::globalContext().deterministicAlgorithms() && values.numel() > 1));
}

// One value for a mask is a masked_fill_, which reads it as a number.
bool fills_mask(const at::Tensor& self, const c10::IValue& indices, const at::Tensor& values) {
    c10::IValue exact = indices;
    change_tensors(exact, /*optional=*/true, [](const at::Tensor& index, auto) { return index; });
    const auto list = std::move(exact).toOptionalTensorList();
    return std::get<0>(at::native::canDispatchToMaskedFill(self, list, values));
}

}  // namespace

void refuse_two_devices(c10::Device one, c10::Device other) {
    if (one.is_cpu()) std::swap(one, other);
    TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two ",
                "devices, ", one, " and ", other, "!");
    std::abort();
}

void check_assigned(const c10::FunctionSchema& schema, Values given) {
    constexpr std::size_t kIndices = 1, kValues = 2, kAccumulate = 3;
    if (given.size() <= kAccumulate || schema.arguments()[kValues].name() != "values") return;
    const at::Tensor &self = given[0].toTensor(), &values = given[kValues].toTensor();
    if (self.device() == values.device() || values.dim() == 0) return;
    const bool accumulate = given[kAccumulate].toBool();
    if (!accumulate && fills_mask(self, given[kIndices], values)) return;
    TORCH_CHECK(!sorts_indices(self, values, accumulate), "expected device ", self.device(),
                " but got device ", values.device(), " for value tensor");
    refuse_two_devices(self.device(), values.device());
}

}  // namespace compat::shim::simulate
