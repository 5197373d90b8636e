#include "devices/cuda_driver.h"

#include <dlfcn.h>

#include <array>

namespace compat::devices {
namespace {

// The driver's C interface, as in <cuda.h> since CUDA 2.0. 0 means success.
using Init = int (*)(unsigned flags);
using Get = int (*)(int* device, int ordinal);
using GetName = int (*)(char* name, int size, int device);
using GetAttribute = int (*)(int* value, int attribute, int device);
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;

template <class Function>
Function symbol(void* library, const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

CudaDescription describe_cuda_device(int index) {
    CudaDescription description;
    // A torch with CUDA has loaded the driver already. Never closed, since torch uses it.
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == nullptr) return description;
    const auto init = symbol<Init>(driver, "cuInit");
    const auto get = symbol<Get>(driver, "cuDeviceGet");
    const auto get_name = symbol<GetName>(driver, "cuDeviceGetName");
    const auto get_attribute = symbol<GetAttribute>(driver, "cuDeviceGetAttribute");
    int device = 0;
    if (!init || !get || !get_name || !get_attribute || init(0) != 0 || get(&device, index) != 0)
        return description;
    std::array<char, 256> name{};
    if (get_name(name.data(), static_cast<int>(name.size()) - 1, device) == 0)
        description.name = name.data();
    int major = 0, minor = 0;
    if (get_attribute(&major, kCapabilityMajor, device) == 0 &&
        get_attribute(&minor, kCapabilityMinor, device) == 0)
        description.capability = std::to_string(major) + "." + std::to_string(minor);
    return description;
}

}  // namespace compat::devices
