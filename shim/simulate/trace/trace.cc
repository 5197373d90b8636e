#include "simulate/trace/trace.h"

#include <c10/core/impl/GPUTrace.h>

#include <array>
#include <cstdint>
#include <mutex>

#include "runtime/fork_safe_mutex.h"
#include "runtime/streams.h"
#include "simulate/accelerator.h"

namespace compat::shim::simulate {
namespace {

constexpr std::size_t kStreamsOfPool = 32;

const c10::impl::PyInterpreter* trace() noexcept {
    const auto* interpreter = c10::impl::GPUTrace::get_trace();
    return interpreter && installed() && accelerator().traits().serves_cuda ? interpreter : nullptr;
}

std::uintptr_t handle(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
// As torch.cuda.Stream.cuda_stream has it.
std::uintptr_t handle(c10::StreamId stream) { return static_cast<std::uintptr_t>(stream); }

template <class... Types, class... Given>
void tell(void (c10::impl::PyInterpreterVTable::*callback)(c10::DeviceType, Types...) const,
          Given... given) {
    if (const auto* interpreter = trace())
        ((**interpreter).*callback)(c10::kCUDA, handle(given)...);
}

struct StreamPool {
    std::array<c10::StreamId, kStreamsOfPool> streams{};
    std::size_t taken = 0;
};

}  // namespace

bool is_traced() noexcept { return trace() != nullptr; }

c10::StreamId pooled_stream(int device, int priority) {
    static auto* mutex = new ForkSafeMutex();
    static auto* pools = new std::array<std::array<StreamPool, 2>, kMaxDevices>();
    c10::StreamId stream = 0;
    bool is_new = false;
    {
        const std::lock_guard lock(*mutex);
        StreamPool& pool = (*pools)[static_cast<std::size_t>(device)][priority < 0];
        c10::StreamId& next = pool.streams[pool.taken++ % kStreamsOfPool];
        is_new = next == 0;
        if (is_new) next = new_stream(priority);
        stream = next;
    }
    if (is_new) tell(&c10::impl::PyInterpreterVTable::trace_gpu_stream_creation, stream);
    return stream;
}

void trace_event_creation(const void* event) {
    tell(&c10::impl::PyInterpreterVTable::trace_gpu_event_creation, event);
}

void trace_event_deletion(const void* event) {
    tell(&c10::impl::PyInterpreterVTable::trace_gpu_event_deletion, event);
}

void trace_event_record(const void* event, c10::StreamId stream) {
    tell(&c10::impl::PyInterpreterVTable::trace_gpu_event_record, event, stream);
}

void trace_event_wait(const void* event, c10::StreamId waiting) {
    tell(&c10::impl::PyInterpreterVTable::trace_gpu_event_wait, event, waiting);
}

void trace_event_synchronization(const void* event) {
    tell(&c10::impl::PyInterpreterVTable::trace_gpu_event_synchronization, event);
}

void trace_stream_synchronization(c10::StreamId stream) {
    tell(&c10::impl::PyInterpreterVTable::trace_gpu_stream_synchronization, stream);
}

void trace_device_synchronization() {
    tell(&c10::impl::PyInterpreterVTable::trace_gpu_device_synchronization);
}

void trace_allocation(const void* memory) {
    tell(&c10::impl::PyInterpreterVTable::trace_gpu_memory_allocation, memory);
}

void trace_deallocation(const void* memory) {
    tell(&c10::impl::PyInterpreterVTable::trace_gpu_memory_deallocation, memory);
}

void trace_host_wait(c10::Device device) { trace_stream_synchronization(current_stream(device)); }

void trace_wait_between(c10::Device waiting, c10::Device other) {
    if (!is_traced()) return;
    void* event = nullptr;
    record_event(&event);
    trace_event_creation(event);
    trace_event_record(event, current_stream(other));
    trace_event_wait(event, current_stream(waiting));
    trace_event_deletion(event);
    destroy_event(event);
}

}  // namespace compat::shim::simulate
