#include "simulate/cpu_aliases.h"

#include <ATen/ATen.h>
#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/native/SparseTensorUtils.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>
#include <c10/core/CPUAllocator.h>

#include <utility>

#include "simulate/accelerator.h"
#include "simulate/memory.h"
#include "simulate/note.h"
#include "simulate/refusals.h"

namespace compat::shim::simulate {
namespace {

bool has_members(const at::Tensor& tensor) {
    return tensor.layout() != at::kStrided || tensor.is_nested();
}

// A tensor over `storage` with the properties of `like` that a kernel could read. Without the
// ZeroTensor key, kernels would read memory that such a tensor does not have.
at::Tensor dense_over(c10::Storage storage, bool on_device, const at::Tensor& like) {
    const auto& keys = accelerator().keys();
    const bool quantized = like.is_quantized();
    c10::DispatchKeySet set(quantized
                                ? (on_device ? keys.quantized : c10::DispatchKey::QuantizedCPU)
                                : (on_device ? keys.dense : c10::DispatchKey::CPU));
    if (like._is_zerotensor()) set = set.add(c10::DispatchKey::ZeroTensor);
    at::Tensor tensor =
        quantized ? at::detail::make_tensor<at::QTensorImpl>(std::move(storage), set, like.dtype(),
                                                             at::get_qtensorimpl(like)->quantizer())
                  : at::detail::make_tensor<c10::TensorImpl>(std::move(storage), set, like.dtype());
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
    if (like.is_conj()) impl->_set_conj(true);
    if (like.is_neg()) impl->_set_neg(true);
    if (like.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
    return tensor;
}

}  // namespace

bool CpuAliases::is_ours(const at::Tensor& tensor) {
    return tensor.device().type() == accelerator().type();
}

const c10::Storage& CpuAliases::alias_of(const c10::Storage& storage) {
    for (const Alias& alias : aliases_)
        if (alias.device.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl())
            return alias.host;
    void* data = storage.unsafeGetStorageImpl()->mutable_data();
    auto* kept = new c10::Storage(storage);
    c10::DataPtr shared(
        data, kept, [](void* context) { delete static_cast<c10::Storage*>(context); }, kHostDevice);
    c10::Storage host(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), storage.nbytes(), std::move(shared),
        c10::GetCPUAllocator(), /*resizable=*/true));
    aliases_.push_back({storage, std::move(host), data, storage.nbytes()});
    return aliases_.back().host;
}

template <class Member>
at::Tensor CpuAliases::rebuild(const at::Tensor& tensor, c10::Device device, Member member) {
    rebuilt_ = true;
    if (tensor.is_nested()) {
        auto* nested = at::native::get_nested_tensor_impl(tensor);
        return at::detail::make_tensor<at::native::NestedTensorImpl>(
            member(nested->get_unsafe_storage_as_tensor()), nested->get_nested_sizes(),
            nested->get_nested_strides(), nested->get_storage_offsets());
    }
    const auto options = tensor.options().device(device);
    if (tensor.layout() == at::kSparse) {
        auto* sparse = at::sparse::get_sparse_impl(tensor);
        return at::_sparse_coo_tensor_unsafe(member(sparse->indices()), member(sparse->values()),
                                             tensor.sizes(), options, sparse->coalesced());
    }
    auto* compressed = at::sparse_csr::get_sparse_csr_impl(tensor);
    return at::_sparse_compressed_tensor_unsafe(
        member(compressed->compressed_indices()), member(compressed->plain_indices()),
        member(compressed->values()), tensor.sizes(), options);
}

at::Tensor CpuAliases::to_cpu(const at::Tensor& tensor) {
    if (!tensor.defined() || !is_ours(tensor)) return tensor;
    if (has_members(tensor))
        return rebuild(tensor, kHostDevice, [&](const at::Tensor& each) { return to_cpu(each); });
    given_ |= bit(tensor.scalar_type());
    return dense_over(alias_of(tensor.storage()), /*on_device=*/false, tensor);
}

at::Tensor CpuAliases::to_device(const at::Tensor& tensor) {
    if (!tensor.defined() || is_ours(tensor) || tensor.is_meta()) return tensor;
    if (has_members(tensor))
        return rebuild(tensor, results_, [&](const at::Tensor& each) { return to_device(each); });
    // In a process that keeps going, a result may have a dtype that the device refused in an
    // argument.
    if (!keeps_going() || (given_ & bit(tensor.scalar_type())) == 0)
        accelerator().check_dtype(tensor.scalar_type());
    const c10::Storage& host = tensor.storage();
    for (const Alias& alias : aliases_)
        if (alias.host.unsafeGetStorageImpl() == host.unsafeGetStorageImpl())
            return dense_over(alias.device, /*on_device=*/true, tensor);
    accelerator().check_result(static_cast<std::size_t>(tensor.dim()));
    c10::Storage device = adopt(host, results_);
    aliases_.push_back({device, host, host.data(), host.nbytes()});
    return dense_over(std::move(device), /*on_device=*/true, tensor);
}

void CpuAliases::adopt_resized() {
    for (const Alias& alias : aliases_) {
        const auto* host = alias.host.unsafeGetStorageImpl();
        if (host->data() == alias.data && host->nbytes() == alias.bytes) continue;
        auto* device = alias.device.unsafeGetStorageImpl();
        device->set_data_ptr_noswap(adopt_memory(alias.host, device->device()));
        device->set_nbytes(host->nbytes());
    }
}

void CpuAliases::write_back(const at::Tensor& tensor, const at::Tensor& alias) {
    if (tensor.is_nested()) return;
    if (tensor.layout() == at::kSparse) {
        auto* sparse = at::sparse::get_sparse_impl(tensor);
        auto* from = at::sparse::get_sparse_impl(alias);
        const DeviceScope scope(tensor.device());
        sparse->resize_(from->sparse_dim(), from->dense_dim(), alias.sizes());
        at::sparse::alias_into_sparse(tensor, to_device(from->indices()),
                                      to_device(from->values()));
        sparse->set_coalesced(from->coalesced());
        return;
    }
    if (tensor.layout() != at::kStrided) {
        auto* from = at::sparse_csr::get_sparse_csr_impl(alias);
        at::sparse_csr::get_sparse_csr_impl(tensor)->set_member_tensors(
            to_device(from->compressed_indices()), to_device(from->plain_indices()),
            to_device(from->values()), alias.sizes());
        return;
    }
    if (tensor.is_quantized())
        at::get_qtensorimpl(tensor)->set_quantizer_(at::get_qtensorimpl(alias)->quantizer());
    if (tensor.sizes() != alias.sizes() || tensor.strides() != alias.strides() ||
        tensor.storage_offset() != alias.storage_offset())
        tensor.unsafeGetTensorImpl()->set_sizes_and_strides(alias.sizes(), alias.strides(),
                                                            alias.storage_offset());
}

}  // namespace compat::shim::simulate
