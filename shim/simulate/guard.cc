// The device guard: current device and streams of each thread, and events. Work has ended when its
// call returns, so a stream is only its number, and an event the time when it was recorded.
#include "simulate/guard.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <array>
#include <chrono>
#include <utility>

#include "cuda/cuda.h"
#include "simulate/accelerator.h"

namespace compat::shim::simulate {
namespace {

using Moment = std::chrono::steady_clock::time_point;

thread_local std::array<c10::StreamId, kMaxDevices> streams{};

class Guard final : public c10::impl::DeviceGuardImplInterface {
  public:
    c10::DeviceType type() const override { return accelerator().type(); }
    c10::Device exchangeDevice(c10::Device device) const override {
        const int before = device.has_index() ? exchange_device(device.index()) : current_device();
        return accelerator().device(before);
    }
    c10::Device getDevice() const override { return accelerator().device(current_device()); }
    void setDevice(c10::Device device) const override { (void)exchangeDevice(device); }
    void uncheckedSetDevice(c10::Device device) const noexcept override {
        if (device.has_index() && device.index() < device_count()) exchange_device(device.index());
    }
    // Autograd has one thread for each device; without it a backward pass on the device cannot run.
    c10::DeviceIndex deviceCount() const noexcept override {
        return static_cast<c10::DeviceIndex>(device_count());
    }
    c10::DeviceCapability getDeviceCapability(c10::Device) const override { return {}; }

    c10::Stream getStream(c10::Device device) const override {
        return stream(device, streams[index_of(device)]);
    }
    c10::Stream getDefaultStream(c10::Device device) const override { return stream(device, 0); }
    c10::Stream getNewStream(c10::Device device, int priority) const override {
        return stream(device, new_stream(priority));
    }
    c10::Stream getStreamFromGlobalPool(c10::Device device, bool high) const override {
        return stream(device, new_stream(high ? -1 : 0));
    }
    c10::Stream exchangeStream(c10::Stream next) const override {
        return stream(next.device(), std::exchange(streams[index_of(next.device())], next.id()));
    }
    void* getStreamNativeHandle(const c10::Stream which) const override {
        return reinterpret_cast<void*>(which.id());
    }
    bool queryStream(const c10::Stream&) const override { return true; }
    void synchronizeStream(const c10::Stream&) const override {}
    void synchronizeDevice(c10::DeviceIndex) const override {}

    void record(void** event, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {
        if (!*event) *event = new Moment();
        *static_cast<Moment*>(*event) = std::chrono::steady_clock::now();
    }
    void block(void*, const c10::Stream&) const override {}
    bool queryEvent(void*) const override { return true; }
    void synchronizeEvent(void*) const override {}
    void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
        delete static_cast<Moment*>(event);
    }
    double elapsedTime(void* from, void* to, c10::DeviceIndex) const override {
        TORCH_CHECK(from && to, "Both events must be recorded before calculating elapsed time.");
        return elapsed_ms(from, to);
    }

  private:
    static std::size_t index_of(c10::Device device) {
        return static_cast<std::size_t>(with_index(device).index());
    }
    static c10::Stream stream(c10::Device device, c10::StreamId id) {
        return c10::Stream(c10::Stream::UNSAFE, with_index(device), id);
    }
};

}  // namespace

c10::StreamId current_stream(int device) noexcept {
    return streams[static_cast<std::size_t>(device)];
}

void set_current_stream(int device, c10::StreamId stream) {
    check_index(device);
    streams[static_cast<std::size_t>(device)] = stream;
}

void install_guard() {
    auto& slot =
        c10::impl::device_guard_impl_registry[static_cast<std::size_t>(accelerator().type())];
    slot.store(new Guard());
}

}  // namespace compat::shim::simulate
