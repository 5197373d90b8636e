#include "simulate/native_kernels.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/scaled_dot_product_attention_native.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <limits>
#include <optional>

#include "simulate/accelerator.h"
#include "simulate/cpu_aliases.h"
#include "simulate/kernel.h"
#include "simulate/memory.h"
#include "simulate/note.h"
#include "simulate/trace/blocks.h"
#include "simulate/trace/trace.h"

// Exported by libtorch_cpu, some without a public header. They change only a tensor's metadata, on
// any device.
namespace at::native {
TORCH_API Tensor view(const Tensor&, IntArrayRef);
TORCH_API Tensor _reshape_alias(const Tensor&, IntArrayRef, IntArrayRef);
TORCH_API Tensor unfold(const Tensor&, int64_t, int64_t, int64_t);
TORCH_API const Tensor& resize_(const Tensor&, IntArrayRef, std::optional<MemoryFormat>);
TORCH_API Tensor& set_storage_cpu_(Tensor&, Storage, int64_t, IntArrayRef, IntArrayRef);
TORCH_API Tensor& set_(Tensor&, Storage);
TORCH_API Tensor view_as_real(const Tensor&);
TORCH_API Tensor view_as_complex(const Tensor&);
TORCH_API int64_t _nnz_sparse(const Tensor&);
TORCH_API int64_t sparse_dim_sparse(const Tensor&);
TORCH_API int64_t dense_dim_sparse(const Tensor&);
TORCH_API Tensor _indices_sparse(const Tensor&);
TORCH_API Tensor _values_sparse(const Tensor&);
TORCH_API Tensor indices_sparse(const Tensor&);
TORCH_API Tensor values_sparse(const Tensor&);
TORCH_API bool is_coalesced_sparse(const Tensor&);
TORCH_API Tensor& _coalesced_sparse_(Tensor&, bool);
TORCH_API Tensor new_with_dims_sparse(int64_t, int64_t, IntArrayRef, std::optional<ScalarType>,
                                      std::optional<Layout>, std::optional<Device>,
                                      std::optional<bool>);
TORCH_API Tensor new_with_dims_and_tensor_sparse_symint(
    int64_t, int64_t, c10::SymIntArrayRef, const Tensor&, const Tensor&, std::optional<ScalarType>,
    std::optional<Layout>, std::optional<Device>, std::optional<bool>, std::optional<bool>);
}  // namespace at::native

namespace compat::shim::simulate {
namespace {

using at::Tensor;

c10::Device place_for(std::optional<c10::Device> device) {
    const c10::Device place = with_index(device.value_or(c10::Device(accelerator().type())));
    check_index(place.index());
    return place;
}

// Deterministic mode fills new memory.
Tensor filled(Tensor tensor) {
    const at::Context& context = at::globalContext();
    if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())
        at::native::fill_empty_deterministic_(tensor);
    return tensor;
}

Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
             std::optional<c10::Device> device, std::optional<bool> pinned,
             std::optional<at::MemoryFormat> format) {
    TORCH_CHECK(!pinned.value_or(false), "Only dense CPU tensors can be pinned");
    begin_kernel();
    const DeviceScope scope(place_for(device));
    const at::ScalarType type = at::dtype_or_default(dtype);
    accelerator().check_empty(type, sizes.size());
    return filled(at::detail::empty_generic(
        sizes, &allocator(), c10::DispatchKeySet(accelerator().keys().dense), type, format));
}

Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                     std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                     std::optional<c10::Device> device, std::optional<bool> pinned) {
    TORCH_CHECK(!pinned.value_or(false), "Only dense CPU tensors can be pinned");
    begin_kernel();
    const DeviceScope scope(place_for(device));
    const at::ScalarType type = at::dtype_or_default(dtype);
    accelerator().check_empty(type, sizes.size());
    return filled(at::detail::empty_strided_generic(
        sizes, strides, &allocator(), c10::DispatchKeySet(accelerator().keys().dense), type));
}

// CUDA converts a value beyond an integer's range to the nearest integer, and NaN to 0 in 32 bits.
// An x86 CPU converts all of these to the least integer; an Arm CPU converts as CUDA does.
template <class Integer>
void saturate(const Tensor& to, const Tensor& from) {
    using Limits = std::numeric_limits<Integer>;
    if (to.numel() == 0 || to.min().item<Integer>() != Limits::lowest()) return;
    constexpr double kBeyond = sizeof(Integer) == sizeof(std::int32_t) ? 0x1p31 : 0x1p63;
    to.masked_fill_(from.ge(kBeyond), Limits::max());
    if (sizeof(Integer) == sizeof(std::int32_t)) to.masked_fill_(from.isnan(), 0);
}

void saturate_if_needed(const Tensor& to, const Tensor& from) {
    if (!accelerator().traits().saturates || !from.is_floating_point()) return;
    if (to.scalar_type() == at::kInt) saturate<std::int32_t>(to, from);
    if (to.scalar_type() == at::kLong) saturate<std::int64_t>(to, from);
}

Tensor& copy_(Tensor& self, const Tensor& source, bool non_blocking) {
    begin_kernel();
    const bool ours = CpuAliases::is_ours(self);
    // A process that keeps going has recorded the refusal of this tensor before.
    if (ours && self.scalar_type() != source.scalar_type() && !keeps_going())
        accelerator().check_dtype(self.scalar_type());
    if (!ours) accelerator().check_host_copy(self, source);
    // As ATen/native/cuda/Copy.cu: streams of two devices wait for each other, before and after.
    const bool moves = is_traced() && self.numel() > 0 && self.device() != source.device();
    const bool between_devices = moves && ours && CpuAliases::is_ours(source);
    if (between_devices)
        trace_wait_between(source.device(), self.device());
    else if (moves && !non_blocking)
        trace_host_wait(ours ? self.device() : source.device());
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    CpuAliases aliases(ours ? self.device() : source.device());
    Tensor to = aliases.to_cpu(self);
    const Tensor from = aliases.to_cpu(source);
    to.copy_(from);
    if (ours && CpuAliases::is_ours(source) && self.layout() == at::kStrided)
        saturate_if_needed(to, from);
    if (ours) {
        aliases.adopt_resized();
        aliases.write_back(self, to);
    }
    if (between_devices) trace_wait_between(self.device(), source.device());
    return self;
}

Tensor copy_from(const Tensor& self, const Tensor& to, bool non_blocking) {
    Tensor written = to;
    return copy_(written, self, non_blocking);
}

Tensor copy_from_and_resize(const Tensor& self, const Tensor& to) {
    to.resize_(self.sizes());
    return copy_from(self, to, false);
}

const Tensor& resize_(const Tensor& self, at::IntArrayRef sizes,
                      std::optional<at::MemoryFormat> format) {
    const DeviceScope scope(self.device());  // where more memory comes from
    return at::native::resize_(self, sizes, format);
}

// at::native::as_strided_tensorimpl, which torch 2.8 refuses on MPS.
Tensor as_strided(const Tensor& self, at::IntArrayRef sizes, at::IntArrayRef strides,
                  std::optional<int64_t> offset) {
    Tensor view = at::detail::make_tensor<c10::TensorImpl>(
        c10::TensorImpl::VIEW, c10::Storage(self.storage()), self.key_set(), self.dtype());
    at::native::setStrided(view, sizes, strides, offset.value_or(self.storage_offset()));
    return view;
}

Tensor& set_empty(Tensor& self) {
    const DeviceScope scope(self.device());
    const c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), 0, allocator().allocate(0), &allocator(),
        /*resizable=*/true));
    return at::native::set_storage_cpu_(self, storage, 0, {0}, {});
}

Tensor& set_tensor(Tensor& self, const Tensor& source) {
    return at::native::set_storage_cpu_(self, source.storage(), source.storage_offset(),
                                        source.sizes(), source.strides());
}

// Throws torch's own error for dtypes that do not fit together. The formula would not throw it.
void check_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                     const std::optional<Tensor>& mask, double dropout, bool causal,
                     std::optional<double> scale, bool grouped) {
    const at::ScalarType dtype = query.scalar_type();
    const bool masked = mask && mask->defined();
    if (dtype == key.scalar_type() && dtype == value.scalar_type() &&
        (!masked || mask->scalar_type() == at::kBool || mask->scalar_type() == dtype))
        return;
    const auto meta = [](const Tensor& tensor) { return tensor.detach().to(at::kMeta); };
    at::scaled_dot_product_attention(meta(query), meta(key), meta(value),
                                     masked ? std::optional(meta(*mask)) : std::nullopt, dropout,
                                     causal, scale, grouped);
}

// A fused kernel of CUDA, or the plain formula on the device's own kernels.
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const std::optional<Tensor>& mask, double dropout, bool causal,
                 std::optional<double> scale, bool grouped) {
    check_attention(query, key, value, mask, dropout, causal, scale, grouped);
    std::optional<Tensor> bias = mask;
    if (bias && bias->defined() && bias->scalar_type() == at::kBool)
        bias = at::zeros_like(*bias, query.options())
                   .masked_fill(bias->logical_not(), -std::numeric_limits<double>::infinity());
    if (accelerator().traits().has_cudnn)
        return cuda_attention(query, key, value, bias, dropout, causal, scale, grouped);
    return std::get<0>(at::_scaled_dot_product_attention_math(
        query, key, value, bias, dropout, causal, std::nullopt, scale, grouped));
}

// Nested tensors of the host have the same autograd key.
Tensor nested_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                        const std::optional<Tensor>& mask, double dropout, bool causal,
                        std::optional<double> scale, bool grouped) {
    const auto kernel = query.device().type() == accelerator().type()
                            ? &attention
                            : &at::native::scaled_dot_product_attention;
    return kernel(query, key, value, mask, dropout, causal, scale, grouped);
}

void record_stream(Tensor& self, c10::Stream stream) {
    record_on_stream(self.storage().data(), stream.id());
}

}  // namespace

void add_dense_kernels(torch::Library& dense, torch::Library& autograd) {
    dense.impl("empty.memory_format", &empty);
    dense.impl("empty_strided", &empty_strided);
    dense.impl("copy_", &copy_);
    dense.impl("_copy_from", &copy_from);
    dense.impl("_copy_from_and_resize", &copy_from_and_resize);
    dense.impl("view", &at::native::view);
    dense.impl("as_strided", &as_strided);
    dense.impl("_reshape_alias", &at::native::_reshape_alias);
    dense.impl("unfold", &at::native::unfold);
    dense.impl("view_as_real", &at::native::view_as_real);
    dense.impl("view_as_complex", &at::native::view_as_complex);
    dense.impl("resize_", &resize_);
    dense.impl("set_", &set_empty);
    dense.impl("set_.source_Tensor", &set_tensor);
    dense.impl("set_.source_Storage",
               static_cast<Tensor& (*)(Tensor&, at::Storage)>(&at::native::set_));
    dense.impl("set_.source_Storage_storage_offset", &at::native::set_storage_cpu_);
    dense.impl("record_stream", &record_stream);
    dense.impl("scaled_dot_product_attention", &attention);
    autograd.impl("scaled_dot_product_attention", &attention);
}

void add_nested_kernels(torch::Library& nested, torch::Library& autograd) {
    nested.impl("scaled_dot_product_attention", &nested_attention);
    autograd.impl("scaled_dot_product_attention", &nested_attention);
}

void add_sparse_kernels(torch::Library& sparse) {
    sparse.impl("sparse_dim", &at::native::sparse_dim_sparse);
    sparse.impl("_dimI", &at::native::sparse_dim_sparse);
    sparse.impl("dense_dim", &at::native::dense_dim_sparse);
    sparse.impl("_dimV", &at::native::dense_dim_sparse);
    sparse.impl("_nnz", &at::native::_nnz_sparse);
    sparse.impl("_indices", &at::native::_indices_sparse);
    sparse.impl("_values", &at::native::_values_sparse);
    sparse.impl("indices", &at::native::indices_sparse);
    sparse.impl("values", &at::native::values_sparse);
    sparse.impl("is_coalesced", &at::native::is_coalesced_sparse);
    sparse.impl("_coalesced_", &at::native::_coalesced_sparse_);
    sparse.impl("_sparse_coo_tensor_with_dims", &at::native::new_with_dims_sparse);
    sparse.impl("_sparse_coo_tensor_with_dims_and_tensors",
                &at::native::new_with_dims_and_tensor_sparse_symint);
    sparse.impl("copy_", &copy_);
}

void add_compressed_kernels(torch::Library& compressed) { compressed.impl("copy_", &copy_); }

void add_quantized_kernels(torch::Library& quantized) { quantized.impl("copy_", &copy_); }

}  // namespace compat::shim::simulate
