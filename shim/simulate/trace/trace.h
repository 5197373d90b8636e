// Tells torch's trace of a GPU (c10/core/impl/GPUTrace.h) what the simulated CUDA devices do, as
// torch's own library of CUDA does. torch.cuda._sanitizer reads the trace, to find accesses to
// memory that no wait orders. Without a trace each function reads a variable and returns.
//
// The trace runs Python and takes the GIL for it. Call without a lock that a thread with the GIL
// may wait for.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

namespace compat::shim::simulate {

// Whether the process has a trace, and simulated CUDA devices.
[[nodiscard]] bool is_traced() noexcept;

// A stream of the device's pool: 32 for each priority, in turn, as c10/cuda/CUDAStream.cpp has
// them.
[[nodiscard]] c10::StreamId pooled_stream(int device, int priority);

// `event` is the guard's (runtime/guard.h).
void trace_event_creation(const void* event);
void trace_event_deletion(const void* event);
void trace_event_record(const void* event, c10::StreamId stream);
void trace_event_wait(const void* event, c10::StreamId waiting);
void trace_event_synchronization(const void* event);
void trace_stream_synchronization(c10::StreamId stream);
void trace_device_synchronization();
void trace_allocation(const void* memory);
void trace_deallocation(const void* memory);

// The device's current stream, for which a kernel has the host wait.
void trace_host_wait(c10::Device device);
// The current stream of `waiting` waits for that of `other`, as before and after a copy between two
// devices.
void trace_wait_between(c10::Device waiting, c10::Device other);

}  // namespace compat::shim::simulate
