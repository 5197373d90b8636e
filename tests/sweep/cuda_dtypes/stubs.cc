// The few functions of the CUDA runtime whose answers torch's host code needs to come as far as a
// kernel's checks: one device whose memory is the host's, of capability 8.0 or of STUB_CAPABILITY (9.0),
// and kernels that are not launched. Every other function of CUDA's libraries is a stub that returns success; build.py
// writes those. Nothing here computes.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" int stub_fill = 0;

namespace {

constexpr std::size_t kMemory = std::size_t{16} << 30, kAlignment = 512, kMost = std::size_t{1} << 28;

// "9.0" has major 9 and minor 0.
int capability(bool major) {
    const char* const given = std::getenv("STUB_CAPABILITY");
    const char* const minor = given ? std::strchr(given, '.') : nullptr;
    if (!minor) return major ? 8 : 0;
    return std::atoi(major ? given : minor + 1);
}

// Fills new memory with zeros, so that sizes and indices read from it are in range; or with ones,
// for checks that values are finite.
cudaError_t allocate(void** pointer, std::size_t size) {
    if (size > kMost) return cudaErrorMemoryAllocation;
    const std::size_t rounded = (size + kAlignment) / kAlignment * kAlignment;
    *pointer = std::aligned_alloc(kAlignment, rounded);
    if (!*pointer) return cudaErrorMemoryAllocation;
    std::memset(*pointer, stub_fill, rounded);
    return cudaSuccess;
}

template <class Handle>
cudaError_t made(Handle* handle) {
    *handle = reinterpret_cast<Handle>(std::malloc(kAlignment));
    return cudaSuccess;
}

template <class Value, class Given>
cudaError_t answer(Value* value, Given given) {
    *value = static_cast<Value>(given);
    return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) { return answer(count, 1); }
cudaError_t cudaGetDevice(int* device) { return answer(device, 0); }
cudaError_t cudaDriverGetVersion(int* version) { return answer(version, CUDART_VERSION); }
cudaError_t cudaRuntimeGetVersion(int* version) { return answer(version, CUDART_VERSION); }
cudaError_t cudaMalloc(void** pointer, std::size_t size) { return allocate(pointer, size); }
cudaError_t cudaMallocAsync(void** pointer, std::size_t size, cudaStream_t) {
    return allocate(pointer, size);
}
cudaError_t cudaMallocHost(void** pointer, std::size_t size) { return allocate(pointer, size); }
cudaError_t cudaHostAlloc(void** pointer, std::size_t size, unsigned) {
    return allocate(pointer, size);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind) {
    std::memmove(to, from, size);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind,
                            cudaStream_t) {
    std::memmove(to, from, size);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t size, cudaStream_t) {
    std::memset(to, byte, size);
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    *free = *total = kMemory;
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
    return made(stream);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return made(stream); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return made(event); }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
    return answer(status, cudaStreamCaptureStatusNone);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = *greatest = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { return answer(can, 0); }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    switch (attribute) {
        case cudaDevAttrComputeCapabilityMajor:
            return answer(value, capability(true));
        case cudaDevAttrComputeCapabilityMinor:
            return answer(value, capability(false));
        case cudaDevAttrMaxThreadsPerBlock:
            return answer(value, 1024);
        case cudaDevAttrWarpSize:
            return answer(value, 32);
        default:
            return answer(value, 65536);
    }
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
    std::memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = 1024;
    attributes->ptxVersion = attributes->binaryVersion = 80;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int,
                                                          std::size_t) {
    return answer(blocks, 1);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int,
                                                                   std::size_t, unsigned) {
    return answer(blocks, 1);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* device, int) {
    std::memset(device, 0, sizeof *device);
    std::strcpy(device->name, "stub");
    device->major = capability(true);
    device->minor = capability(false);
    device->totalGlobalMem = kMemory;
    device->multiProcessorCount = 108;
    device->warpSize = 32;
    device->maxThreadsPerBlock = device->maxThreadsDim[0] = device->maxThreadsDim[1] = 1024;
    device->maxThreadsDim[2] = 64;
    device->maxGridSize[0] = 2147483647;
    device->maxGridSize[1] = device->maxGridSize[2] = 65535;
    device->maxThreadsPerMultiProcessor = 2048;
    device->sharedMemPerBlock = 49152;
    device->sharedMemPerBlockOptin = device->sharedMemPerMultiprocessor = 166912;
    device->regsPerBlock = device->regsPerMultiprocessor = 65536;
    return cudaSuccess;
}
#ifndef cudaGetDeviceProperties  // CUDA 12 has the one name for the other
cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp* device, int index) {
    return cudaGetDeviceProperties(device, index);
}
#endif
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    std::memset(attributes, 0, sizeof *attributes);
    attributes->type = cudaMemoryTypeDevice;
    attributes->devicePointer = const_cast<void*>(pointer);
    return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t error) { return error ? "stubbed" : "no error"; }
const char* cudaGetErrorName(cudaError_t error) { return cudaGetErrorString(error); }

// A kernel's host function asks for what `<<<…>>>` pushed, and launches nothing if that fails.
unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, void*) { return 0; }
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*) {
    return cudaErrorUnknown;
}
void** __cudaRegisterFatBinary(void*) {
    static void* none = nullptr;
    return &none;
}

// Kernels of jiterator are compiled to one byte.
int nvrtcGetCUBINSize(void*, std::size_t* size) { return *size = 1, 0; }
int nvrtcGetPTXSize(void*, std::size_t* size) { return *size = 1, 0; }
int nvrtcGetProgramLogSize(void*, std::size_t* size) { return *size = 1, 0; }
int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
int nvrtcGetLoweredName(void*, const char*, const char** name) { return *name = "kernel", 0; }
int nvrtcGetNumSupportedArchs(int* count) { return *count = 0, 0; }

// Versions that torch compares with those it was built for.
std::size_t cudnnGetVersion() { return 92000; }
std::size_t cudnnGetCudartVersion() { return CUDART_VERSION; }
const char* cudnnGetErrorString(int) { return "stubbed"; }
const char* ncclGetErrorString(int) { return "stubbed"; }
int ncclGetVersion(int* version) { return *version = 22800, 0; }
}
