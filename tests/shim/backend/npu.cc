// A backend outside torch, as its makers write one: PrivateUse1 under the name npu, with one
// device, whose memory is the host's. Ops without a kernel of its own run on the CPU.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/autocast_mode.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <cstdlib>

namespace {

constexpr auto kNpu = c10::DeviceType::PrivateUse1;
const c10::Device kDevice(kNpu, 0);

struct Allocator final : c10::Allocator {
    c10::DataPtr allocate(std::size_t bytes) override {
        void* data = bytes > 0 ? std::malloc(bytes) : nullptr;
        return {data, data, &std::free, kDevice};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
    void copy_data(void* to, const void* from, std::size_t bytes) const override {
        default_copy_data(to, from, bytes);
    }
};

Allocator allocator;
REGISTER_ALLOCATOR(kNpu, &allocator)

// Everything is done when it is asked for, so that there is nothing to wait for.
struct Guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return kNpu; }
    c10::DeviceIndex deviceCount() const noexcept override { return 1; }
    c10::Device getDevice() const override { return kDevice; }
    c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
    void setDevice(c10::Device) const override {}
    void uncheckedSetDevice(c10::Device) const noexcept override {}
    c10::Stream getStream(c10::Device) const override {
        return c10::Stream(c10::Stream::DEFAULT, kDevice);
    }
    c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
    void record(void**, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {}
    void block(void*, const c10::Stream&) const override {}
    bool queryEvent(void*) const override { return true; }
    void synchronizeEvent(void*) const override {}
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

struct Generator final : at::CPUGeneratorImpl {
    Generator() {
        device_ = kDevice;
        key_set_ = c10::DispatchKeySet(c10::DispatchKey::PrivateUse1);
    }
};

struct Hooks final : at::PrivateUse1HooksInterface {
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
    c10::DeviceIndex deviceCount() const override { return 1; }
    c10::DeviceIndex getCurrentDevice() const override { return 0; }
    const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
        static const auto generator = at::make_generator<Generator>();
        return generator;
    }
    at::Generator getNewGenerator(c10::DeviceIndex) const override {
        return at::make_generator<Generator>();
    }
};

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
    return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &allocator,
                                     c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                     c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device>, std::optional<bool>) {
    return at::detail::empty_strided_generic(
        C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), &allocator,
        c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::dtype_or_default(dtype));
}

// The same memory, as a tensor of the CPU.
at::Tensor on_cpu(const at::Tensor& tensor) {
    return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                         tensor.options().device(at::kCPU));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
    on_cpu(to).copy_(on_cpu(from));
    return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
    to.resize_(from.sizes());
    return copy_from(from, to, false);
}

const at::Tensor& resize(const at::Tensor& tensor, c10::SymIntArrayRef size,
                         std::optional<at::MemoryFormat>) {
    const auto sizes = C10_AS_INTARRAYREF_SLOW(size);
    auto* impl = tensor.unsafeGetTensorImpl();
    impl->set_sizes_contiguous(sizes);
    const std::size_t bytes = impl->numel() * impl->itemsize();
    auto storage = tensor.storage();
    if (storage.nbytes() < bytes) {
        storage.set_data_ptr_noswap(allocator.allocate(bytes));
        storage.set_nbytes(bytes);
    }
    return tensor;
}

at::Scalar local_scalar(const at::Tensor& tensor) {
    return at::native::_local_scalar_dense_cpu(on_cpu(tensor));
}

void on_the_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    at::native::cpu_fallback(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
    library.impl("empty.memory_format", &empty);
    library.impl("empty_strided", &empty_strided);
    library.impl("_copy_from", &copy_from);
    library.impl("_copy_from_and_resize", &copy_from_and_resize);
    library.impl("resize_", &resize);
    library.impl("_local_scalar_dense", &local_scalar);
    library.impl("as_strided", &at::native::as_strided_tensorimpl);
    library.impl("view", &at::native::view);
    library.impl("set_.source_Storage_storage_offset", &at::native::set_storage_cpu_);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_cpu>());
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, library) {
    using at::autocast::CastPolicy;
    library.impl(
        "mm",
        &at::autocast::WrapFunction<
            CastPolicy::lower_precision_fp, kNpu, at::Tensor(const at::Tensor&, const at::Tensor&),
            at::Tensor(const at::Tensor&, const at::Tensor&), &at::_ops::mm::call>::type::call);
}

const bool registered = [] {
    static Hooks hooks;
    at::RegisterPrivateUse1HooksInterface(&hooks);
    return true;
}();

}  // namespace
