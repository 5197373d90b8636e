// The simulated accelerator of this process. Its tensors are truly on `mps:0` or `cuda:1`, their
// memory is the host's, and its kernels are the CPU's. A process has one, because torch accepts no
// second. This file declares the parts that differ between accelerators; the folder's other files
// have the shared parts. It knows nothing of redirection (policy/, redirect/).
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DispatchKey.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "simulate/kernels/mps_values.h"

namespace torch {
class Library;
}

namespace compat::shim::simulate {

inline constexpr int kMaxDevices = 8;
inline const c10::Device kHostDevice{c10::kCPU};

// Which devices a kernel's wrapper accepts for its tensors.
enum class Check : std::uint8_t {
    common,    // one device for all but CPU tensors without dimensions (TensorIterator)
    strict,    // one device for all, as in torchgen's wrappers with a device guard
    indices,   // of `self` and its indices, which may be on the CPU
    types,     // the first three tensors have one type (convolutions)
    per_item,  // lists of tensors that may each be on a device of their own (foreach)
};

// A kernel that upstream has for the accelerator, from native_functions.yaml of the torch that we
// are built against (operators.py).
struct Operator {
    std::string_view name;     // without "aten::", with the overload
    std::string_view wrapper;  // torchgen's name, used in texts of strict checks
    c10::DispatchKey key;
    Check check;
};

// A kernel that upstream has and that no kernel of the CPU can compute.
struct Unsimulated {
    std::string_view name;
    c10::DispatchKey key;
};

[[nodiscard]] std::span<const Unsimulated> mps_unsimulated() noexcept;
[[nodiscard]] std::span<const Unsimulated> cuda_unsimulated() noexcept;
[[nodiscard]] std::span<const Operator> mps_operators() noexcept;
[[nodiscard]] std::span<const Operator> cuda_operators() noexcept;
// Ops that run on the CPU with a warning, even if the program asked for no fallback.
[[nodiscard]] std::span<const std::string_view> mps_always_on_cpu() noexcept;

// Dtypes of MPS's tensors, where torch lists them.
[[nodiscard]] std::span<const c10::ScalarType> mps_tensor_dtypes() noexcept;

// Names of CUDA's own memory settings, beside those of every accelerator.
[[nodiscard]] std::span<const std::string_view> cuda_allocator_keys() noexcept;

struct Assertion;
struct Refusal;
struct Computed;
struct DispatchName;
struct Ignored;
struct MetalKernel;
struct Taken;

class Accelerator {
  public:
    // Keys of its dense tensors, of autograd on them, and of layouts whose members have CPU
    // aliases.
    struct Keys {
        c10::DispatchKey dense, autograd, sparse, sparse_csr, nested, quantized;
    };

    // Differences of its kernels, in code that all accelerators share.
    struct Traits {
        bool serves_cuda;            // code for CUDA finds what it asks for
        bool lists_dtypes;           // it lists the dtypes of its tensors
        bool has_nested;             // kernels of nested tensors
        bool has_cudnn;              // networks and attention are cuDNN's, in its ways
        bool saturates;              // a float beyond an integer's range becomes the range's end
        bool sorts_indices;          // of index_put_, in some cases
        bool draws_by_fours;         // its generators' offsets are multiples of four
        bool shares_numbers;         // a graph holds a generator over the same numbers
        bool lost_by_assertion;      // no call succeeds after a kernel's assertion has failed
        bool remainder_is_dividend;  // of a division by the integer zero
        bool halves_long_quotient;   // whose non-negative dividends of 64 bits set 32
        bool refuses_projections;    // of LSTM
        bool checks_int4;            // in its own words, what is packed
    };

    Accelerator(c10::DeviceType type, Keys keys, const Traits& traits) noexcept
        : type_(type), keys_(keys), traits_(traits) {}
    virtual ~Accelerator() = default;
    Accelerator(const Accelerator&) = delete;
    Accelerator& operator=(const Accelerator&) = delete;

    [[nodiscard]] c10::DeviceType type() const noexcept { return type_; }
    [[nodiscard]] const Keys& keys() const noexcept { return keys_; }
    [[nodiscard]] const Traits& traits() const noexcept { return traits_; }
    [[nodiscard]] c10::Device device(int index) const noexcept {
        return {type_, static_cast<c10::DeviceIndex>(index)};
    }

    [[nodiscard]] virtual std::span<const Operator> operators() const noexcept = 0;
    [[nodiscard]] virtual std::span<const Unsimulated> unsimulated() const noexcept = 0;
    // Version of the system that the device belongs to, as 100 * major + minor (macOS 15.1: 1501).
    [[nodiscard]] virtual unsigned system() const noexcept { return 0; }
    // Refusals of its kernels, and dtypes that they compute and the CPU may not (refusals.h).
    [[nodiscard]] virtual std::span<const Refusal> refusals() const noexcept;
    [[nodiscard]] virtual std::span<const Computed> computed() const noexcept;
    [[nodiscard]] virtual std::span<const MetalKernel> metal_kernels() const noexcept;
    [[nodiscard]] virtual std::span<const Taken> taken() const noexcept;
    // Assertions in its kernels (kernels/assertions.h), and the error that the program gets for
    // one. `text` is the assertion's.
    [[nodiscard]] virtual std::span<const Assertion> assertions() const noexcept = 0;
    [[noreturn]] virtual void assertion_failed(const std::string& text) const = 0;
    [[nodiscard]] virtual std::span<const DispatchName> dispatch_names() const noexcept;
    [[nodiscard]] virtual std::span<const Ignored> ignored() const noexcept;
    // Replaces the CPU's kernel of an op whose results differ (kernels/mps_values.h).
    [[nodiscard]] virtual Computation computation(std::string_view /*op*/) const noexcept {
        return nullptr;
    }
    // Throw upstream's error if the accelerator has no tensors of this dtype.
    virtual void check_dtype(c10::ScalarType) const {}
    virtual void check_empty(c10::ScalarType, std::size_t) const {}
    // Throws the driver's error if there is no device `index`.
    [[noreturn]] virtual void refuse_index(int index) const = 0;
    // Throw upstream's error if the op's kernel takes no argument, or returns no new tensor, of
    // this kind.
    virtual void check_argument(const c10::OperatorHandle&, c10::ArrayRef<c10::IValue> /*values*/,
                                const at::Tensor&) const {}
    virtual void check_result(std::size_t /*dimensions*/) const {}
    // Throws upstream's error for host tensors passed with a generator of the device.
    virtual void refuse_host_tensors() const = 0;
    // Throws upstream's error if a device tensor cannot be copied to this host tensor.
    virtual void check_host_copy(const at::Tensor& /*to*/, const at::Tensor& /*from*/) const {}
    // Called at a device's first use in this process. Throws upstream's error for settings that it
    // refuses.
    virtual void prepare() const {}
    // Throws the error for a device that was used before this process was forked.
    [[noreturn]] virtual void refuse_fork() const = 0;
    // Throws upstream's error if one block of memory cannot be this large.
    virtual void check_block(std::int64_t /*bytes*/) const {}
    // Dtypes of its tensors, as torch.accelerator.get_device_capability() lists them.
    [[nodiscard]] virtual bool has_dtype(c10::ScalarType) const noexcept { return true; }
    // Bytes: requested, available on a device, and used on it.
    [[noreturn]] virtual void out_of_memory(c10::Device, std::int64_t wanted, std::int64_t limit,
                                            std::int64_t taken) const = 0;
    // Add the kernels that only this accelerator has or computes differently, and its handler for
    // all other ops, if any.
    virtual void add_kernels(torch::Library& dense) const = 0;
    virtual void add_fallback() const {}
    // Installs the hooks by which ATen finds it.
    virtual void install_hooks() const = 0;

  private:
    c10::DeviceType type_;
    Keys keys_;
    Traits traits_;
};

[[nodiscard]] const Accelerator& mps() noexcept;
[[nodiscard]] const Accelerator& cuda() noexcept;

// Gives the process this many devices of it. Throws c10::Error if the process has an accelerator
// already. In a build of torch for such devices, no real one may be reachable. Call once, with the
// GIL held.
void install(const Accelerator& accelerator, int devices);

// Null before `install`.
[[nodiscard]] const Accelerator* installed() noexcept;
// As `installed`, once one is known to be installed.
[[nodiscard]] const Accelerator& accelerator() noexcept;

// Call before a device computes or allocates. Prepares the device at its first use, and throws in a
// process that was forked after that.
void begin_use();
// Whether this process has used a device since it was started or forked.
[[nodiscard]] bool is_used() noexcept;
// Whether it was forked from a process that had used one.
[[nodiscard]] bool is_lost() noexcept;

[[nodiscard]] int device_count() noexcept;
[[nodiscard]] int current_device() noexcept;  // of this thread
// Throws if there is no such device; returns the previous one.
int exchange_device(int index);
void check_index(int index);
// All work of a device has ended already. Throws if it is lost (kernels/assertions.h).
void synchronize_device(int index);
// `device`, with this thread's current index if it has none.
[[nodiscard]] c10::Device with_index(c10::Device device) noexcept;

class DeviceScope {
  public:
    explicit DeviceScope(c10::Device device);
    ~DeviceScope();
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

  private:
    int before_;
};

}  // namespace compat::shim::simulate
