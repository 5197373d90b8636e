// The simulated MPS device. Error texts are upstream's; the source file is named at each.
#include "simulate/mps.h"

#include <ATen/ATen.h>
#include <ATen/core/op_registration/op_registration.h>
#include <ATen/detail/MPSHooksInterface.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "runtime/fork_safe_mutex.h"
#include "runtime/hooks.h"
#include "runtime/torch_version.h"
#include "simulate/accelerator.h"
#include "simulate/generator.h"
#include "simulate/kernel.h"
#include "simulate/kernels/assertions.h"
#include "simulate/memory.h"
#include "simulate/native_kernels.h"
#include "simulate/note.h"
#include "simulate/refusals.h"

namespace compat::shim::simulate {
namespace {

// aten/src/ATen/mps/EmptyTensor.cpp
constexpr const char* kNoDouble =
    "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
    "Please use float32 instead.";
constexpr std::size_t kMaxDimensions = 16;
// Behaviour of MPS that differs between versions of torch.
// Pinned memory is the device's: a CPU tensor that reports the device mps:0. In later versions it
// is host memory, from MPSAllocator.mm's pinned allocator.
constexpr bool kPinsOnDevice = COMPAT_TORCH_BEFORE(2, 14);
// A copy to a host tensor of a dtype with larger elements first converts on the device. Later
// versions do not, and write nothing for float64.
constexpr bool kCastsOnDevice = COMPAT_TORCH_BEFORE(2, 14);
// Times are asked of recorded events alone.
constexpr bool kChecksRecorded = !COMPAT_TORCH_BEFORE(2, 15);
// Major versions of macOS that torch's hooks know: up to torch 2.15 not 27. 16 to 25 do not exist.
constexpr std::array<unsigned, 3> kMacos{14, 15, 26};

// Dtypes of MPSGraph (aten/src/ATen/native/mps/OperationUtils.mm, getMPSDataType). float64 has a
// text of its own.
bool is_mapped(c10::ScalarType dtype) noexcept {
    switch (dtype) {
        case c10::ScalarType::Float:
        case c10::ScalarType::Half:
        case c10::ScalarType::BFloat16:
        case c10::ScalarType::Int:
        case c10::ScalarType::Long:
        case c10::ScalarType::Short:
        case c10::ScalarType::Char:
        case c10::ScalarType::Byte:
        case c10::ScalarType::Bool:
        case c10::ScalarType::ComplexHalf:
        case c10::ScalarType::ComplexFloat:
        case c10::ScalarType::UInt64:
        case c10::ScalarType::UInt32:
        case c10::ScalarType::UInt16:
            return true;
        default:
            return false;
    }
}

// From torch 2.15 on tensors have dtypes that MPSGraph lacks, and that few kernels take.
bool is_of_tensors(c10::ScalarType dtype) noexcept {
    const auto listed = mps_tensor_dtypes();
    return is_mapped(dtype) || std::ranges::find(listed, dtype) != listed.end();
}

void throw_not_mapped(c10::ScalarType dtype) {
    TORCH_CHECK_TYPE(false, "Trying to convert ", dtype,
                     " to the MPS backend but it does not have support for that dtype.");
}

// The refusal is counted under the dtype's name in its text.
void refuse_double() {
    simulate::refuse("float64", [] { TORCH_CHECK_TYPE(false, kNoDouble); });
}

MpsAnswers answers;

void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    TORCH_WARN_ONCE("The operator '", op.schema().operator_name(),
                    "' is not currently supported on the MPS backend and will fall back to run on "
                    "the CPU. This may have performance implications.");
    note(EventKind::fallback, op);
    fall_back_to_cpu(op, stack);
}

void throw_not_implemented(const c10::OperatorHandle& op) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, "The operator '", op.schema().operator_name(),
        "' is not currently implemented for the MPS device. If you want this op to be considered "
        "for addition please comment on https://github.com/pytorch/pytorch/issues/141287 and "
        "mention use-case, that resulted in missing op as well as commit hash ",
        answers.commit,
        ". As a temporary fix, you can set the environment variable "
        "`PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback for this op. WARNING: this "
        "will be slower than running natively on MPS.");
}

void refuse(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    simulate::refuse(c10::toString(op.operator_name()), [&] { throw_not_implemented(op); });
    run_on_cpu(op, stack);
}

// To torch.mps.Event, events are numbers. Texts of aten/src/ATen/mps/MPSEvent.mm.
class Events {
  public:
    std::uint32_t acquire(bool timed) {
        const std::lock_guard lock(mutex_);
        acquired_[++last_] = {.timed = timed, .recorded = {}};
        return last_;
    }
    void release(std::uint32_t id) {
        const std::lock_guard lock(mutex_);
        acquired_.erase(id);
    }
    void record(std::uint32_t id) {
        const std::lock_guard lock(mutex_);
        acquired_[id].recorded = std::chrono::steady_clock::now();
    }
    double elapsed_ms(std::uint32_t from, std::uint32_t to) {
        const std::lock_guard lock(mutex_);
        const Event &start = acquired_[from], &end = acquired_[to];
        TORCH_CHECK(start.timed && end.timed,
                    "Events were not created with argument 'enable_timing=True'");
        if constexpr (kChecksRecorded)
            TORCH_CHECK(start.recorded && end.recorded,
                        "Both events must be recorded before calculating elapsed time");
        TORCH_CHECK(end.recorded >= start.recorded, "End event ", to,
                    " was not recorded after start event ", from);
        return std::chrono::duration<double, std::milli>(end.recorded.value_or(Time()) -
                                                         start.recorded.value_or(Time()))
            .count();
    }

  private:
    using Time = std::chrono::steady_clock::time_point;
    struct Event {
        bool timed;
        std::optional<Time> recorded;
    };
    ForkSafeMutex mutex_;
    std::unordered_map<std::uint32_t, Event> acquired_;
    std::uint32_t last_ = 0;
};

Events& events() {
    static auto* instance = new Events();
    return *instance;
}

// Ratios of the recommended memory (MPSAllocator.h). Above the low one a Mac frees what it caches.
constexpr double kHighestRatio = 2.0, kHighRatio = 1.7, kLowRatio = 1.4;
// A Mac swaps when memory runs out. The simulated device raises then.
constexpr double kSimulatedHighRatio = 1.0;

// aten/src/ATen/mps/MPSAllocator.mm
void set_high_watermark(double ratio) {
    TORCH_CHECK(ratio >= 0.0 && ratio <= kHighestRatio, "invalid high watermark ratio ", ratio);
    set_device_limit(0, ratio == 0.0 ? kNoLimit
                                     : static_cast<std::int64_t>(
                                           ratio * static_cast<double>(answers.memory)));
}

// Reads the variables that its allocator reads at the first use. The low ratio must not exceed the
// high one.
void read_watermarks() {
    const char* const high = std::getenv("PYTORCH_MPS_HIGH_WATERMARK_RATIO");
    const char* const low = std::getenv("PYTORCH_MPS_LOW_WATERMARK_RATIO");
    const double high_ratio = high ? std::strtod(high, nullptr) : kHighRatio;
    const double low_ratio = low ? std::strtod(low, nullptr) : kLowRatio;
    set_high_watermark(high ? high_ratio : kSimulatedHighRatio);
    const double most = high_ratio == 0.0 ? kHighestRatio : high_ratio;
    TORCH_CHECK(low_ratio >= 0.0 && low_ratio <= most, "invalid low watermark ratio ", low_ratio);
}

class MpsHooks final : public at::MPSHooksInterface {
  public:
    void init() const override {}
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    bool hasMPS() const override { return true; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
    bool isOnMacOSorNewer(unsigned major, unsigned minor) const override {
        // aten/src/ATen/mps/MPSHooks.mm
        if (major == 13) return true;
        if (std::ranges::find(kMacos, major) == kMacos.end()) {
            TORCH_WARN("Checking for unexpected MacOS ", major, ".", minor, " returning false");
            return false;
        }
        return answers.macos_major > major ||
               (answers.macos_major == major && answers.macos_minor >= minor);
    }
    c10::DeviceIndex deviceCount() const override { return 1; }
    c10::DeviceIndex getCurrentDevice() const override { return 0; }
    void setCurrentDevice(c10::DeviceIndex) const override {}
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
    c10::Device getDeviceFromPtr(void*) const override { return {c10::kMPS, 0}; }

    const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
        return default_generator(0);
    }
    at::Generator getNewGenerator(c10::DeviceIndex) const override {
        return new_generator({c10::kMPS, 0});
    }
    c10::Allocator* getMPSDeviceAllocator() const override { return &allocator(); }
    c10::Allocator* getPinnedMemoryAllocator() const override {
        return kPinsOnDevice ? &allocator() : pinned_allocator();
    }
    bool isPinnedPtr(const void* data) const override { return is_pinned(data); }

    void deviceSynchronize() const override { begin_use(); }
    void commitStream() const override { begin_use(); }
    void emptyCache() const override {}
    void setMemoryFraction(double fraction) const override {
        begin_use();
        set_high_watermark(fraction);
    }
    std::size_t getCurrentAllocatedMemory() const override {
        return static_cast<std::size_t>(device_figures(0).bytes.current);
    }
    std::size_t getDriverAllocatedMemory() const override { return getCurrentAllocatedMemory(); }
    std::size_t getRecommendedMaxMemory() const override {
        return static_cast<std::size_t>(answers.memory);
    }
    std::size_t getMaxBufferLength() const { return getRecommendedMaxMemory(); }
    void profilerStartTrace(const std::string&, bool) const override {}
    void profilerStopTrace() const override {}

    std::uint32_t acquireEvent(bool timed) const override { return events().acquire(timed); }
    void releaseEvent(std::uint32_t id) const override { events().release(id); }
    void recordEvent(std::uint32_t id) const override {
        begin_use();
        events().record(id);
    }
    void waitForEvent(std::uint32_t) const override { begin_use(); }
    void synchronizeEvent(std::uint32_t) const override { begin_use(); }
    bool queryEvent(std::uint32_t) const override { return true; }
    double elapsedTimeOfEvents(std::uint32_t from, std::uint32_t to) const override {
        return events().elapsed_ms(from, to);
    }
};

at::Tensor over_rows(const at::Tensor& tensor) { return tensor.reshape({-1, tensor.size(-1)}); }

// Autograd needs it on MPS alone, where `linear` has its own kernel.
std::tuple<at::Tensor, at::Tensor, at::Tensor> linear_backward(const at::Tensor& input,
                                                               const at::Tensor& grad,
                                                               const at::Tensor& weight,
                                                               std::array<bool, 3> wanted) {
    const at::Tensor rows = over_rows(grad);
    return {wanted[0] ? at::matmul(grad, weight) : at::Tensor(),
            wanted[1] ? at::mm(rows.t(), over_rows(input)) : at::Tensor(),
            wanted[2] ? rows.sum(0) : at::Tensor()};
}

#ifdef COMPAT_TORCH_MPS_HAS_CAPABILITY
constexpr bool kHasCapability = true;
#else
constexpr bool kHasCapability = false;
#endif

class Mps final : public Accelerator {
  public:
    Mps()
        : Accelerator(c10::kMPS,
                      {c10::DispatchKey::MPS, c10::DispatchKey::AutogradMPS,
                       c10::DispatchKey::SparseMPS, c10::DispatchKey::SparseCsrMPS,
                       c10::DispatchKey::NestedTensorMPS, c10::DispatchKey::QuantizedMPS},
                      {.serves_cuda = false,
                       .lists_dtypes = kHasCapability,
                       .has_nested = false,
                       .has_cudnn = false,
                       .saturates = false,
                       .sorts_indices = false,
                       .draws_by_fours = false,
                       .shares_numbers = false,
                       .lost_by_assertion = false,
                       .remainder_is_dividend = true,
                       .halves_long_quotient = false,
                       .refuses_projections = true,
                       .checks_int4 = true}) {}

    std::span<const Operator> operators() const noexcept override { return mps_operators(); }
    std::span<const Unsimulated> unsimulated() const noexcept override {
        return mps_unsimulated();
    }
    unsigned system() const noexcept override {
        return 100 * answers.macos_major + answers.macos_minor;
    }
    std::span<const Refusal> refusals() const noexcept override { return mps_refusals(); }
    std::span<const Computed> computed() const noexcept override { return mps_computed(); }
    std::span<const MetalKernel> metal_kernels() const noexcept override {
        return mps_metal_kernels();
    }
    std::span<const Taken> taken() const noexcept override { return mps_taken(); }

    std::span<const Assertion> assertions() const noexcept override { return mps_assertions(); }
    // aten/src/ATen/mps/MPSStream.mm, where the stream has ended the kernels' work
    void assertion_failed(const std::string& text) const override {
        throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 1, text);
    }

    Computation computation(std::string_view op) const noexcept override {
        return mps_computation(op);
    }

    bool has_dtype(c10::ScalarType dtype) const noexcept override { return is_of_tensors(dtype); }
    void check_dtype(c10::ScalarType dtype) const override {
        if (dtype == c10::ScalarType::Double) return refuse_double();
        if (!is_of_tensors(dtype))
            simulate::refuse(c10::toString(dtype), [&] { throw_not_mapped(dtype); });
    }
    void check_empty(c10::ScalarType dtype, std::size_t dimensions) const override {
        if (dtype == c10::ScalarType::Double) refuse_double();
        check_result(dimensions);
    }
    void check_argument(const c10::OperatorHandle& op, Values values,
                        const at::Tensor& tensor) const override {
        const c10::ScalarType dtype = tensor.scalar_type();
        if (is_mapped(dtype)) return;
        // float64 tensors exist only if their refusal was not raised.
        if (dtype == c10::ScalarType::Double && keeps_going()) return;
        if (is_of_tensors(dtype))
            return simulate::refuse(c10::toString(op.operator_name()), [&] {
                refuse_missing_kernel(op, values, tensor, c10::toString(dtype));
                throw_not_mapped(dtype);
            });
        // OperationUtils.mm, scalarToMetalTypeString. Tensors of these dtypes can be made, without
        // a kernel.
        simulate::refuse(c10::toString(dtype),
                         [&] { TORCH_CHECK(false, "Undefined type ", dtype); });
    }
    void check_result(std::size_t dimensions) const override {
        TORCH_CHECK(dimensions <= kMaxDimensions,
                    "MPS supports tensors with dimensions <= ", kMaxDimensions, ", but got ",
                    dimensions, ".");
    }
    // copy_from_mps_ of Copy.mm. A copy with equal strides is written directly to its destination.
    void check_host_copy(const at::Tensor& to, const at::Tensor& from) const override {
        constexpr std::uintptr_t kAlignment = 4;
        if (to.layout() != at::kStrided || from.layout() != at::kStrided || from.numel() == 0) return;
        if (kCastsOnDevice && to.scalar_type() == c10::ScalarType::Double &&
            from.element_size() < to.element_size())
            refuse_double();
        if (reinterpret_cast<std::uintptr_t>(to.const_data_ptr()) % kAlignment == 0 ||
            to.strides() != from.expand_as(to).strides())
            return;
        simulate::refuse("aten::copy_", [] {
            TORCH_CHECK(false, "destOffset % 4 == 0 INTERNAL ASSERT FAILED at ",
                        "\"aten/src/ATen/native/mps/operations/Copy.mm\", please report a bug to "
                        "PyTorch. Unaligned blit request");
        });
    }
    void refuse_index(int index) const override {
        TORCH_CHECK(false, "Expected a MPS device with index 0, but got mps:", index);
        std::abort();
    }
    // aten/src/ATen/native/mps/OperationUtils.mm, for the result of a graph of random numbers
    void refuse_host_tensors() const override {
        TORCH_CHECK(false, "Placeholder storage has not been allocated on MPS device!");
    }
    void prepare() const override { read_watermarks(); }
    // A Mac raises no error here, so the text is ours.
    void refuse_fork() const override {
        TORCH_CHECK(false,
                    "MPS was used before this process was forked. On a Mac this process hangs or "
                    "ends here. Start it with the method spawn, or fork before the first use of "
                    "MPS.");
        std::abort();
    }
    // aten/src/ATen/mps/MPSAllocator.mm
    void check_block(std::int64_t bytes) const override {
        TORCH_CHECK(bytes < answers.memory, "Invalid buffer size: ", readable_size(bytes));
    }
    void out_of_memory(c10::Device, std::int64_t wanted, std::int64_t limit,
                       std::int64_t taken) const override {
        TORCH_CHECK(false, "MPS backend out of memory (MPS allocated: ", readable_size(taken),
                    ", other allocations: ", readable_size(0),
                    ", max allowed: ", readable_size(limit), "). Tried to allocate ",
                    readable_size(wanted),
                    " on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper "
                    "limit for memory allocations (may cause system failure).");
        std::abort();
    }
    void add_kernels(torch::Library& dense) const override {
        dense.impl("linear_backward", &linear_backward);
        add_recurrent_kernels(dense);
        add_int4_kernels();
        add_attention_kernels(dense);
        // With a warning, as aten/src/ATen/mps/MPSFallback.mm does.
        for (const std::string_view name : mps_always_on_cpu())
            dense.impl(name.data(), torch::CppFunction::makeFromBoxedFunction<&fall_back>());
    }
    void add_fallback() const override {
        auto* any = new torch::Library(torch::Library::IMPL, "_", keys().dense, __FILE__, __LINE__);
        // A Mac refuses collectives by name, even with PYTORCH_ENABLE_MPS_FALLBACK=1.
        auto* distributed =
            new torch::Library(torch::Library::IMPL, "c10d", keys().dense, __FILE__, __LINE__);
        for (const c10::OperatorName& name : collectives())
            distributed->impl(c10::toString(name).c_str(),
                              torch::CppFunction::makeFromBoxedFunction<&refuse>());
        if (answers.fallback)
            any->fallback(torch::CppFunction::makeFromBoxedFunction<&fall_back>());
        else
            any->fallback(torch::CppFunction::makeFromBoxedFunction<&refuse>());
    }
    void install_hooks() const override {
        replace_hooks<MpsHooks>(at::detail::getMPSHooks());
        // A Mac has no such allocator, and torch.accelerator.empty_host_cache() uses it unchecked.
        install_pinned(c10::kMPS);
    }
};

}  // namespace

const Accelerator& mps() noexcept {
    static const auto* instance = new Mps();
    return *instance;
}

void set_mps_answers(MpsAnswers given) {
    answers = std::move(given);
    set_device_limit(0, answers.memory);
}

}  // namespace compat::shim::simulate
