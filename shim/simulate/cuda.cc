// The simulated CUDA devices.
#include <c10/util/Exception.h>
#include <torch/library.h>
#if __has_include(<c10/core/AllocatorConfig.h>)
#include <c10/core/AllocatorConfig.h>
#define COMPAT_TORCH_HAS_ALLOCATOR_CONFIG
#endif

#include <cstdlib>
#include <string>
#include <string_view>
#include <unordered_set>

#include "runtime/hooks.h"
#include "runtime/torch_version.h"
#include "simulate/accelerator.h"
#include "simulate/generator.h"
#include "simulate/kernel.h"
#include "simulate/kernels/assertions.h"
#include "simulate/kernels/capability.h"
#include "simulate/memory.h"
#include "simulate/native_kernels.h"
#include "simulate/note.h"
#include "simulate/refusals.h"

namespace compat::shim::simulate {
namespace {

int compute_capability = 80;

class SimulatedHooks final : public CudaHooks {
  public:
    int getNumGPUs() const override { return device_count(); }
    c10::DeviceIndex deviceCount() const override {
        return static_cast<c10::DeviceIndex>(device_count());
    }
    c10::DeviceIndex getCurrentDevice() const override {
        return static_cast<c10::DeviceIndex>(simulate::current_device());
    }
    void setCurrentDevice(c10::DeviceIndex index) const override { (void)exchangeDevice(index); }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
        return static_cast<c10::DeviceIndex>(exchange_device(index));
    }
    void deviceSynchronize(c10::DeviceIndex index) const override { synchronize_device(index); }
    std::string showConfig() const override { return "CUDA simulated by compat_shim\n"; }

    const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override {
        return default_generator(index);
    }
    at::Generator getNewGenerator(c10::DeviceIndex index) const override {
        return new_generator(c10::Device(c10::kCUDA, index));
    }
    c10::Allocator* getCUDADeviceAllocator() const override { return &allocator(); }
};

// c10/cuda/CUDAException.cpp
[[noreturn]] void throw_cuda_error(int code, const std::string& text) {
    throw c10::AcceleratorError(
        {__func__, __FILE__, __LINE__}, code,
        "CUDA error: " + text +
            "\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
            "stacktrace below might be incorrect.\nFor debugging consider passing "
            "CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side "
            "assertions.\n");
}

#ifdef COMPAT_TORCH_HAS_ALLOCATOR_CONFIG
// Checks as CUDAAllocatorConfig::parseAllocatorConfig does. With either backend, the statistics are
// the native one's.
void check_allocator_backend(const std::string& settings) {
    const c10::CachingAllocator::ConfigTokenizer words(settings);
    for (std::size_t i = 0; i + 2 < words.size(); ++i)
        if (words[i] == "backend")
            TORCH_CHECK_VALUE(words[i + 2] == "native" || words[i + 2] == "cudaMallocAsync",
                              "Unknown allocator backend, options are native and cudaMallocAsync");
}
#endif

// Torch checks the names in PYTORCH_CUDA_ALLOC_CONF and in _set_allocator_settings if a device has
// registered its own, as CUDA's library does. getAllocatorSettings() reads the variables once.
void tell_allocator_keys() {
#ifdef COMPAT_TORCH_HAS_ALLOCATOR_CONFIG
    using Config = c10::CachingAllocator::AcceleratorAllocatorConfig;
    std::unordered_set<std::string> keys;
    for (const std::string_view key : cuda_allocator_keys()) keys.emplace(key);
    // A build with CUDA has registered them.
    if (keys.empty() || Config::getKeys().contains(*keys.begin())) return;
    Config::registerDeviceConfigParserHook(&check_allocator_backend, keys);
#endif
}
void read_allocator_settings() {
#ifdef COMPAT_TORCH_HAS_ALLOCATOR_CONFIG
    check_allocator_backend(c10::CachingAllocator::getAllocatorSettings());
#endif
}

class Cuda final : public Accelerator {
  public:
    Cuda()
        : Accelerator(c10::kCUDA,
                      {c10::DispatchKey::CUDA, c10::DispatchKey::AutogradCUDA,
                       c10::DispatchKey::SparseCUDA, c10::DispatchKey::SparseCsrCUDA,
                       c10::DispatchKey::NestedTensorCUDA, c10::DispatchKey::QuantizedCUDA},
                      {.serves_cuda = true,
                       .lists_dtypes = true,
                       .has_nested = true,
                       .has_cudnn = true,
                       .saturates = true,
                       .sorts_indices = true,
                       .draws_by_fours = true,
                       .shares_numbers = true,
                       .lost_by_assertion = true,
                       .remainder_is_dividend = false,
                       .halves_long_quotient = true,
                       .refuses_projections = false,
                       .checks_int4 = false}) {}

    std::span<const Operator> operators() const noexcept override { return cuda_operators(); }
    std::span<const Unsimulated> unsimulated() const noexcept override {
        return cuda_unsimulated();
    }
    std::span<const Refusal> refusals() const noexcept override { return cuda_refusals(); }
    std::span<const Computed> computed() const noexcept override { return cuda_computed(); }
    std::span<const DispatchName> dispatch_names() const noexcept override {
        return cuda_dispatch_names();
    }
    std::span<const Ignored> ignored() const noexcept override { return cuda_ignored(); }

    std::span<const Assertion> assertions() const noexcept override { return cuda_assertions(); }

    void refuse_index(int) const override {
        constexpr int kInvalidDevice = 101;
        throw_cuda_error(kInvalidDevice,
                         "invalid device ordinal\nGPU device may be out of range, do you have "
                         "enough GPUs?");
    }
    void prepare() const override { read_allocator_settings(); }
    void refuse_fork() const override {
        constexpr int kInitializationError = 3;
        throw_cuda_error(kInitializationError, "initialization error");
    }
    void assertion_failed(const std::string&) const override {
        constexpr int kAssert = 710;
        throw_cuda_error(kAssert, COMPAT_TORCH_BEFORE(2, 9)
                                      ? "device-side assert triggered"
                                      : "device-side assert triggered\nSearch for "
                                        "`cudaErrorAssert' in https://docs.nvidia.com/cuda/"
                                        "cuda-runtime-api/group__CUDART__TYPES.html for more "
                                        "information.");
    }
    // The kernel is chosen by the tensors' device, and checks its generator.
    void refuse_host_tensors() const override {
        TORCH_CHECK(false, "Expected a 'cpu' device type for generator but found 'cuda'");
    }
    // c10/cuda/CUDACachingAllocator.cpp
    void out_of_memory(c10::Device device, std::int64_t wanted, std::int64_t limit,
                       std::int64_t taken) const override {
        TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ",
                         readable_size(wanted), ". GPU ", static_cast<int>(device.index()),
                         " has a total capacity of ", readable_size(limit), " of which ",
                         readable_size(limit - taken), " is free. Of the allocated memory ",
                         readable_size(taken),
                         " is allocated by PyTorch, and 0 bytes is reserved by PyTorch but "
                         "unallocated.");
        std::abort();
    }
    void add_kernels(torch::Library& dense) const override {
        add_cuda_kernels(dense);
        add_int4_kernels();
    }
    void add_fallback() const override {
        add_collectives();
        refuse_symmetric_memory();
        if (!keeps_going()) return;  // the dispatcher has an error of its own
        auto* any = new torch::Library(torch::Library::IMPL, "_", keys().dense, __FILE__, __LINE__);
        any->fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_call>());
    }
    void install_hooks() const override {
        replace_hooks<SimulatedHooks>(at::detail::getCUDAHooks());
        tell_allocator_keys();
        install_pinned(c10::kCUDA);
    }
};

}  // namespace

void set_capability(int given) noexcept { compute_capability = given; }

int capability() noexcept { return compute_capability; }

const Accelerator& cuda() noexcept {
    static const auto* instance = new Cuda();
    return *instance;
}

}  // namespace compat::shim::simulate
