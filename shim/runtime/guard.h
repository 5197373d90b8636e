// torch's guard of devices on which work has ended when its call returns (runtime/streams.h).
// Subclasses say which devices there are.
#pragma once

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include "runtime/streams.h"

namespace compat::shim {

class Guard : public c10::impl::DeviceGuardImplInterface {
  public:
    explicit Guard(c10::DeviceType type) noexcept : type_(type) {}

    // This thread's current device.
    [[nodiscard]] virtual int current() const noexcept = 0;
    // Makes a device current and returns the one before; throws if there is no such device.
    virtual int exchange(int index) const = 0;

    c10::DeviceType type() const override { return type_; }
    c10::Device exchangeDevice(c10::Device device) const override {
        return at(device.has_index() ? exchange(device.index()) : current());
    }
    c10::Device getDevice() const override { return at(current()); }
    void setDevice(c10::Device device) const override { (void)exchangeDevice(device); }
    void uncheckedSetDevice(c10::Device device) const noexcept override {
        try {
            setDevice(device);
        } catch (const c10::Error&) {  // a device that is not there stays not current
        }
    }
#ifdef COMPAT_TORCH_HAS_DEVICE_CAPABILITY
    c10::DeviceCapability getDeviceCapability(c10::Device) const override { return {}; }
#endif

    c10::Stream getStream(c10::Device device) const override {
        return stream(device, current_stream(with_index(device)));
    }
    c10::Stream getDefaultStream(c10::Device device) const override { return stream(device, 0); }
    c10::Stream getNewStream(c10::Device device, int priority) const override {
        return stream(device, new_stream(priority));
    }
    c10::Stream getStreamFromGlobalPool(c10::Device device, bool high) const override {
        return stream(device, new_stream(high ? -1 : 0));
    }
    c10::Stream exchangeStream(c10::Stream next) const override {
        return stream(next.device(), exchange_stream(with_index(next.device()), next.id()));
    }
    // Identifies the stream; it is no real address.
    void* getStreamNativeHandle(const c10::Stream which) const {
        return reinterpret_cast<void*>(which.id());
    }
    bool queryStream(const c10::Stream&) const override { return true; }
    void synchronizeStream(const c10::Stream&) const override {}
    void synchronizeDevice(c10::DeviceIndex) const override {}

    void record(void** event, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {
        record_event(event);
    }
    void block(void*, const c10::Stream&) const override {}
    bool queryEvent(void*) const override { return true; }
    void synchronizeEvent(void*) const override {}
    void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
        destroy_event(event);
    }
    double elapsedTime(void* from, void* to, c10::DeviceIndex) const override {
        TORCH_CHECK(from && to, "Both events must be recorded before calculating elapsed time.");
        return elapsed_ms(from, to);
    }

    // Installs `guard` for its type, for the life of the process.
    static void install(const Guard* guard) {
        c10::impl::device_guard_impl_registry[static_cast<std::size_t>(guard->type())].store(guard);
    }

  private:
    [[nodiscard]] c10::Device at(int index) const {
        return {type_, static_cast<c10::DeviceIndex>(index)};
    }
    [[nodiscard]] c10::Device with_index(c10::Device device) const {
        return device.has_index() ? device : at(current());
    }
    [[nodiscard]] c10::Stream stream(c10::Device device, c10::StreamId id) const {
        return c10::Stream(c10::Stream::UNSAFE, with_index(device), id);
    }

    c10::DeviceType type_;
};

}  // namespace compat::shim
