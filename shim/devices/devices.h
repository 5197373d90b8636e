// The devices that LibTorch finds on this host, and what each can do: asked of LibTorch and tried
// by running something small, never guessed from a name. No torch header, so that whoever asks
// needs none. Not for choosing a device, nor for what the shim pretends: it is not in this process.
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
    std::string why;  // it does not: torch's own words, or what it gave; empty where it works
};

struct DeviceCapabilities {
    std::string device;                                     // "cpu", "cuda:0"
    std::string type;                                       // "cpu", "cuda", "mps", …
    std::string name;                                       // as its maker calls it
    std::optional<std::int64_t> memory_total, memory_free;  // bytes; empty: nobody says
    std::string capability;  // "8.0" (CUDA), "AVX2" (CPU); empty: there is no such thing
    std::vector<DtypeSupport> dtypes;
};

struct TypeReport {
    bool built = false;  // this LibTorch has code for the type
    std::vector<DeviceCapabilities> devices;
};

// The types of devices that there may be, the CPU first. Asks nothing of LibTorch.
[[nodiscard]] const std::vector<std::string>& device_types();

// Called before each thing that may take this process down or hang it.
class Progress {
  public:
    virtual ~Progress() = default;
    virtual void about_to(std::string_view what) = 0;
};

// All of one type. A backend that cannot be asked throws, as LibTorch does.
[[nodiscard]] TypeReport devices_of(std::string_view type, Progress& progress);

// How this LibTorch was built, in its own words.
[[nodiscard]] std::string build_config();

}  // namespace compat::devices
