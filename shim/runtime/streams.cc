#include "runtime/streams.h"

#include <array>
#include <atomic>
#include <chrono>
#include <utility>

namespace compat::shim {
namespace {

using Moment = std::chrono::steady_clock::time_point;

std::atomic<c10::StreamId> last_stream{0};
// Plain memory, so that it outlives the thread's objects.
constexpr std::size_t kDevices = 8;
thread_local std::array<std::array<c10::StreamId, kDevices>, c10::COMPILE_TIME_MAX_DEVICE_TYPES>
    current;

c10::StreamId& current_of(c10::Device device) {
    return current[static_cast<std::size_t>(device.type())]
                  [static_cast<std::size_t>(device.index()) % kDevices];
}

}  // namespace

c10::StreamId new_stream(int priority) noexcept {
    return (++last_stream << 1) | (priority < 0 ? 1 : 0);
}

int stream_priority(c10::StreamId stream) noexcept { return (stream & 1) ? -1 : 0; }

bool is_stream(c10::StreamId stream) noexcept {
    return stream == 0 || (stream > 1 && (stream >> 1) <= last_stream.load());
}

c10::StreamId current_stream(c10::Device device) noexcept { return current_of(device); }

c10::StreamId exchange_stream(c10::Device device, c10::StreamId stream) noexcept {
    return std::exchange(current_of(device), stream);
}

void record_event(void** event) {
    if (!*event) *event = new Moment();
    *static_cast<Moment*>(*event) = std::chrono::steady_clock::now();
}

void destroy_event(void* event) noexcept { delete static_cast<Moment*>(event); }

double elapsed_ms(const void* from, const void* to) {
    return std::chrono::duration<double, std::milli>(*static_cast<const Moment*>(to) -
                                                     *static_cast<const Moment*>(from))
        .count();
}

}  // namespace compat::shim
