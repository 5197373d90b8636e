// The devices that LibTorch finds on this host and what each can do. It asks LibTorch and runs
// small tests; it never guesses from a name. No torch header, so that callers need none. It neither
// chooses a device (choice.h) nor caches what it found (manager.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compat::devices {

struct DtypeSupport {
    std::string name;  // fp32, fp16, bf16, fp64, int8
    bool works = false;
    std::string why;  // torch's error or the wrong result; empty if it works
};

struct DeviceCapabilities {
    std::string device;                                     // "cpu", "cuda:0"
    std::string type;                                       // "cpu", "cuda", "mps", …
    std::string name;                                       // the maker's name
    std::optional<std::int64_t> memory_total, memory_free;  // bytes; empty: unknown
    std::string capability;  // "8.0" (CUDA), "AVX2" (CPU); empty: none
    std::vector<DtypeSupport> dtypes;
};

struct TypeReport {
    bool built = false;  // this LibTorch has code for the type
    std::vector<DeviceCapabilities> devices;
};

// All device types, the CPU first. Does not call LibTorch.
[[nodiscard]] const std::vector<std::string>& device_types();

// Called before each step that may crash or hang this process.
class Progress {
  public:
    virtual ~Progress() = default;
    virtual void about_to(std::string_view what) = 0;
};

// All devices of one type. Throws LibTorch's error if the backend fails.
[[nodiscard]] TypeReport devices_of(std::string_view type, Progress& progress);

// The memory of a device, "cuda:0", as it is now.
void ask_memory_of(DeviceCapabilities& found, const std::string& device);

// LibTorch's own description of its build.
[[nodiscard]] std::string build_config();

}  // namespace compat::devices
