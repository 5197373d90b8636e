// The accelerator that this process pretends to have: its tensors are truly on `mps:0` or `cuda:1`,
// their memory is the host's, and its kernels are the CPU's. One a process, since torch takes no
// second. What differs between accelerators is here; what they have in common is in the other files
// of this folder. Knows nothing of redirection: that is the policy's and redirect/'s.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DispatchKey.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace torch {
class Library;
}

namespace compat::shim::simulate {

inline constexpr int kMaxDevices = 8;
inline const c10::Device kHostDevice{c10::kCPU};

// What the wrapper of a kernel checks of its tensors' devices before it runs.
enum class Check : std::uint8_t {
    common,  // one device for all; a CPU tensor without dimensions may be anywhere (TensorIterator)
    strict,  // one device for all, as torchgen's wrappers with a device guard have it
    indices,   // of `self` and its indices, which may be on the CPU
    types,     // the first three tensors have one type (convolutions)
    per_item,  // lists of tensors that may each be on a device of their own (foreach)
};

// A kernel that upstream has for the accelerator, as native_functions.yaml of the torch that we are
// built against lists it (operators.py).
struct Operator {
    std::string_view name;     // without "aten::", with the overload
    std::string_view wrapper;  // torchgen's name for it, which stands in the text of strict checks
    c10::DispatchKey key;
    Check check;
};

[[nodiscard]] std::span<const Operator> mps_operators() noexcept;
[[nodiscard]] std::span<const Operator> cuda_operators() noexcept;

struct Refusal;
struct Computed;

class Accelerator {
  public:
    // Keys of its dense tensors, of autograd on them, and of the layouts that share their tensors'
    // members with a CPU twin.
    struct Keys {
        c10::DispatchKey dense, autograd, sparse, sparse_csr, nested, quantized;
    };

    Accelerator(c10::DeviceType type, Keys keys) noexcept : type_(type), keys_(keys) {}
    virtual ~Accelerator() = default;
    Accelerator(const Accelerator&) = delete;
    Accelerator& operator=(const Accelerator&) = delete;

    [[nodiscard]] c10::DeviceType type() const noexcept { return type_; }
    [[nodiscard]] const Keys& keys() const noexcept { return keys_; }
    [[nodiscard]] c10::Device device(int index) const noexcept {
        return {type_, static_cast<c10::DeviceIndex>(index)};
    }

    [[nodiscard]] virtual std::span<const Operator> operators() const noexcept = 0;
    // What its kernels refuse, and dtypes that they compute where the CPU's may not (refusals.h).
    [[nodiscard]] virtual std::span<const Refusal> refusals() const noexcept;
    [[nodiscard]] virtual std::span<const Computed> computed() const noexcept;
    // Throw in upstream's words where the accelerator has no tensors of this kind.
    virtual void check_dtype(c10::ScalarType) const {}
    virtual void check_empty(c10::ScalarType, std::size_t) const {}
    // Throws as the driver does where there is no device `index`.
    [[noreturn]] virtual void refuse_index(int index) const = 0;
    // Bytes: asked for, at most on a device, and taken on it.
    [[noreturn]] virtual void out_of_memory(c10::Device, std::int64_t wanted, std::int64_t limit,
                                            std::int64_t taken) const = 0;
    // Kernels that only this accelerator has, or that it computes otherwise; and, where it has one,
    // what answers for every other op.
    virtual void add_kernels(torch::Library& dense) const = 0;
    virtual void add_fallback() const {}
    // Hooks, by which ATen asks for it.
    virtual void install_hooks() const = 0;

  private:
    c10::DeviceType type_;
    Keys keys_;
};

[[nodiscard]] const Accelerator& mps() noexcept;
[[nodiscard]] const Accelerator& cuda() noexcept;

// From here on the process has `devices` of it. Throws c10::Error where it has one already, or
// where torch itself was built with one. Once, with the GIL held.
void install(const Accelerator& accelerator, int devices);

// Null before `install`.
[[nodiscard]] const Accelerator* installed() noexcept;
// The same where there is no question that one is.
[[nodiscard]] const Accelerator& accelerator() noexcept;

[[nodiscard]] int device_count() noexcept;
[[nodiscard]] int current_device() noexcept;  // of this thread
// Throws where there is no such device; returns the one before.
int exchange_device(int index);
void check_index(int index);
// `device`, with this thread's current index where it has none.
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
