// Installs an accelerator: its kernels, guard, memory and hooks. Answers which one is installed.
#include <pthread.h>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/drawing.h"
#include "runtime/guard.h"
#include "runtime/hooks.h"
#include "runtime/silence.h"
#include "simulate/accelerator.h"
#include "simulate/kernel.h"
#include "simulate/kernels/assertions.h"
#include "simulate/memory.h"
#include "simulate/native_kernels.h"
#include "simulate/trace/blocks.h"
#include "simulate/trace/trace.h"

namespace compat::shim::simulate {
namespace {

const Accelerator* present = nullptr;
int simulated_devices = 0;
thread_local int current = 0;

enum class Use : std::uint8_t { none, begun, lost };
std::atomic<Use> use{Use::none};

// A device's context does not survive a fork.
void lose_use() {
    if (use == Use::begun) use = Use::lost;
}

class SimulatedGuard final : public Guard {
  public:
    SimulatedGuard() : Guard(accelerator().type()) {}
    int current() const noexcept override { return current_device(); }
    int exchange(int index) const override { return exchange_device(index); }
    c10::Stream getNewStream(c10::Device device, int priority) const override {
        if (!accelerator().traits().serves_cuda) return Guard::getNewStream(device, priority);
        device = simulate::with_index(device);
        make_context(device.index());
        return c10::Stream(c10::Stream::UNSAFE, device, pooled_stream(device.index(), priority));
    }
    c10::Stream getStreamFromGlobalPool(c10::Device device, bool high) const override {
        return getNewStream(device, high ? -1 : 0);
    }
    // A device whose kernel's assertion failed answers nothing.
    bool queryStream(const c10::Stream& stream) const override {
        check_not_lost();
        return Guard::queryStream(stream);
    }
    void synchronizeStream(const c10::Stream& stream) const override {
        check_not_lost();
        trace_stream_synchronization(stream.id());
    }
    void synchronizeDevice(c10::DeviceIndex index) const override { synchronize_device(index); }
    void record(void** event, const c10::Stream& stream, c10::DeviceIndex index,
                c10::EventFlag flag) const override {
        check_not_lost();
        make_context(index);
        const bool is_new = !*event;
        Guard::record(event, stream, index, flag);
        if (is_new) trace_event_creation(*event);
        trace_event_record(*event, stream.id());
    }
    void block(void* event, const c10::Stream& stream) const override {
        check_not_lost();
        if (event) trace_event_wait(event, stream.id());
    }
    bool queryEvent(void* event) const override {
        check_not_lost();
        return Guard::queryEvent(event);
    }
    void synchronizeEvent(void* event) const override {
        check_not_lost();
        if (event) trace_event_synchronization(event);
    }
    void recordDataPtrOnStream(const c10::DataPtr& memory,
                               const c10::Stream& stream) const override {
        record_on_stream(memory.get(), stream.id());
    }
    void destroyEvent(void* event, c10::DeviceIndex index) const noexcept override {
        if (event) trace_event_deletion(event);
        Guard::destroyEvent(event, index);
    }
    // Autograd has one thread for each device; without it a backward pass on the device cannot run.
    c10::DeviceIndex deviceCount() const noexcept override {
        return static_cast<c10::DeviceIndex>(device_count());
    }
#ifdef COMPAT_TORCH_HAS_DEVICE_CAPABILITY
    c10::DeviceCapability getDeviceCapability(c10::Device device) const override {
        if (!accelerator().traits().lists_dtypes)
            return DeviceGuardImplInterface::getDeviceCapability(device);
        c10::DeviceCapability all = Guard::getDeviceCapability(device), own;
        own.capability_data.capability_bits = 0;
        std::uint64_t bit = 1;  // of each dtype, in this order
        all.forEachSupportedScalarType([&](c10::ScalarType dtype) {
            if (accelerator().has_dtype(dtype)) own.capability_data.capability_bits |= bit;
            bit <<= 1;
        });
        return own;
    }
#endif
};

// Never destroyed, like the kernels they hold.
torch::Library& library(c10::DispatchKey key) {
    return *new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
}

}  // namespace

void install(const Accelerator& accelerator, int count) {
    TORCH_CHECK(!present, "an accelerator is simulated already in this process: ",
                c10::DeviceTypeName(present ? present->type() : accelerator.type(), true));
    TORCH_CHECK(count >= 1 && count <= kMaxDevices, "1 to ", kMaxDevices,
                " devices can be simulated, not ", count);
    present = &accelerator;
    simulated_devices = count;
    pthread_atfork(nullptr, nullptr, &lose_use);
    const auto& keys = accelerator.keys();
    const Silence silence;
    if (!accelerator.traits().serves_cuda) hide_cuda();
    c10::SetAllocator(accelerator.type(), &allocator(), kHighestPriority);
    bound_host_allocator();
    Guard::install(new SimulatedGuard());
    install_drawing();
    accelerator.install_hooks();
    // A later registration replaces an earlier one: the table's kernels replace torch's own in a
    // build with CUDA, and this folder's kernels replace the table's.
    withdraw_other_kernels(accelerator.operators(), keys);
    refuse_unsimulated(accelerator.unsimulated());
    register_operators(accelerator.operators());
    torch::Library& dense = library(keys.dense);
    accelerator.add_kernels(dense);
    add_dense_kernels(dense, library(keys.autograd));
    if (accelerator.traits().has_nested)
        add_nested_kernels(library(keys.nested),
                           library(c10::DispatchKey::AutogradNestedTensor));
    add_sparse_kernels(library(keys.sparse));
    add_compressed_kernels(library(keys.sparse_csr));
    add_quantized_kernels(library(keys.quantized));
    accelerator.add_fallback();
}

const Accelerator* installed() noexcept { return present; }

const Accelerator& accelerator() noexcept { return *present; }

void begin_use() {
    const Use now = use.load(std::memory_order_relaxed);
    if (now == Use::begun) return;
    if (now == Use::lost) present->refuse_fork();
    present->prepare();
    use = Use::begun;
}

bool is_used() noexcept { return use == Use::begun; }

bool is_lost() noexcept { return use == Use::lost; }

int device_count() noexcept { return simulated_devices; }

int current_device() noexcept { return current; }

void check_index(int index) {
    if (index < 0 || index >= simulated_devices) present->refuse_index(index);
}

int exchange_device(int index) {
    check_index(index);
    return std::exchange(current, index);
}

void synchronize_device(int index) {
    check_not_lost();
    make_context(index);
    trace_device_synchronization();
}

c10::Device with_index(c10::Device device) noexcept {
    return device.has_index() ? device : present->device(current);
}

DeviceScope::DeviceScope(c10::Device device)
    : before_(device.has_index() ? exchange_device(device.index()) : current) {}

DeviceScope::~DeviceScope() { current = before_; }

}  // namespace compat::shim::simulate
