// The device guard: current device, streams and events of the pretended CUDA device.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "cuda/cuda.h"

namespace compat::shim {
namespace {

using Moment = std::chrono::steady_clock::time_point;

thread_local c10::StreamId this_threads_stream = 0;
std::atomic<c10::StreamId> last_stream{0};

c10::Device cuda0() { return {c10::kCUDA, 0}; }

void check_there(c10::Device device) {
    constexpr int kInvalidDevice = 101;  // cudaErrorInvalidDevice
    if (device.index() > 0)
        throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, kInvalidDevice,
                                    "CUDA error: invalid device ordinal (" +
                                        std::to_string(device.index()) +
                                        "; one device is shown, cuda:0)");
}

class Guard final : public c10::impl::DeviceGuardImplInterface {
  public:
    c10::DeviceType type() const override { return c10::kCUDA; }
    c10::Device exchangeDevice(c10::Device device) const override {
        check_there(device);
        return cuda0();
    }
    c10::Device getDevice() const override { return cuda0(); }
    void setDevice(c10::Device device) const override { check_there(device); }
    void uncheckedSetDevice(c10::Device) const noexcept override {}
    // 0, although torch.cuda.device_count() is 1. Autograd starts a thread for each device counted
    // here, and a process with such threads cannot run a backward pass after a fork.
    c10::DeviceIndex deviceCount() const noexcept override { return 0; }
    c10::DeviceCapability getDeviceCapability(c10::Device) const override { return {}; }

    c10::Stream getStream(c10::Device) const override { return stream(current_stream()); }
    c10::Stream getDefaultStream(c10::Device) const override { return stream(0); }
    c10::Stream getNewStream(c10::Device, int priority) const override {
        return stream(new_stream(priority));
    }
    c10::Stream getStreamFromGlobalPool(c10::Device, bool high) const override {
        return stream(new_stream(high ? -1 : 0));
    }
    c10::Stream exchangeStream(c10::Stream next) const override {
        return stream(exchange_stream(next.id()));
    }
    // Identifies the stream; it is no real address.
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
    static c10::Stream stream(c10::StreamId id) {
        return c10::Stream(c10::Stream::UNSAFE, cuda0(), id);
    }
};

}  // namespace

c10::StreamId current_stream() noexcept { return this_threads_stream; }

c10::StreamId exchange_stream(c10::StreamId stream) noexcept {
    return std::exchange(this_threads_stream, stream);
}

c10::StreamId new_stream(int priority) noexcept {
    return (++last_stream << 1) | (priority < 0 ? 1 : 0);
}

int stream_priority(c10::StreamId stream) noexcept { return (stream & 1) ? -1 : 0; }

bool is_stream(c10::StreamId stream) noexcept {
    return stream == 0 || (stream > 1 && (stream >> 1) <= last_stream.load());
}

double elapsed_ms(const void* from, const void* to) {
    return std::chrono::duration<double, std::milli>(*static_cast<const Moment*>(to) -
                                                     *static_cast<const Moment*>(from))
        .count();
}

void install_guard() {
    auto& slot = c10::impl::device_guard_impl_registry[static_cast<std::size_t>(c10::kCUDA)];
    if (!slot.load()) slot.store(new Guard());
}

}  // namespace compat::shim
