// DeviceManager: the devices of this process, which of them to use, and tensors brought there. It
// adds LibTorch to the pure functions of choice.h and writes to the DeviceLog. Not for running code
// that may fail (device_safe.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "devices/choice.h"
#include "devices/devices.h"
#include "devices/log.h"
#include "devices/settings.h"

namespace compat::devices {

struct Memory {  // bytes; empty: the device does not say
    std::optional<std::int64_t> total, free;
    std::optional<std::int64_t> allocated;  // in tensors; of the CPU, this process's memory
    std::optional<std::int64_t> reserved;   // with the device's cache
};

// Safe to use from any thread. Devices are found at the first question about them.
class DeviceManager {
  public:
    // The one of this process, with the settings of its environment. Throws SettingError.
    [[nodiscard]] static DeviceManager& instance();
    // `describe`: called for each device of which LibTorch does not tell name or capability;
    // returns both, or empty text.
    using Describe = std::function<std::pair<std::string, std::string>(const std::string& device)>;
    explicit DeviceManager(Settings settings, Describe describe = {},
                           DeviceLog& log = DeviceLog::instance());

    [[nodiscard]] Settings settings() const;

    [[nodiscard]] std::vector<DeviceCapabilities> devices();
    // Types of devices whose backend raised an error, and its text.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> failed();
    // Finds the devices again.
    void refresh();
    // A device that LibTorch does not know, such as a TPU. It may be chosen; no tensor goes there.
    void add(DeviceCapabilities device);

    // As in choice.h, with these devices and settings. `device`: a name; empty: the best one.
    [[nodiscard]] Choice best(std::string_view prefer = {});
    [[nodiscard]] std::vector<std::string> chain();
    [[nodiscard]] DeviceCapabilities capabilities(const std::string& device = {});
    [[nodiscard]] DtypeChoice recommended_dtype(const std::string& device = {});
    [[nodiscard]] Batch batch(std::int64_t base, const std::string& device = {},
                              std::int64_t sample_bytes = 0);
    [[nodiscard]] Fit validate(const Requirements& requirements, const std::string& device = {});

    // The tensor on `device`; empty: the best one that LibTorch knows. A tensor that is there
    // already is returned as it is, and one without data (meta) too. Gradients flow through the
    // copy. Throws LibTorch's error.
    [[nodiscard]] at::Tensor ensure_device(const at::Tensor& tensor,
                                           const std::string& device = {});
    [[nodiscard]] std::vector<at::Tensor> ensure_device(const std::vector<at::Tensor>& tensors,
                                                        const std::string& device = {});
    // A floating-point tensor in `dtype` (fp32, fp16, bf16, fp64); empty: the recommended one of
    // its device, where int8 means fp32, since a tensor is not quantized by a conversion. Other
    // tensors are returned as they are. Throws std::invalid_argument for another dtype.
    [[nodiscard]] at::Tensor ensure_dtype(const at::Tensor& tensor, const std::string& dtype = {});
    [[nodiscard]] std::vector<at::Tensor> ensure_dtype(const std::vector<at::Tensor>& tensors,
                                                       const std::string& dtype = {});

    [[nodiscard]] Memory memory(const std::string& device = {});
    // Returns the device's cache to the system; empty: of all devices. Answers how many bytes.
    std::int64_t free_memory(const std::string& device = {});

    [[nodiscard]] DeviceLog& log() const { return log_; }

  private:
    [[nodiscard]] const std::vector<DeviceCapabilities>& found();  // with the lock held
    [[nodiscard]] at::Device tensor_device(const std::string& device);
    at::Tensor converted(const at::Tensor& tensor, at::TensorOptions options, const char* what);

    mutable std::mutex mutex_;
    const Settings settings_;
    const Describe describe_;
    DeviceLog& log_;
    std::optional<std::vector<DeviceCapabilities>> devices_;
    std::vector<DeviceCapabilities> added_;
    std::vector<std::pair<std::string, std::string>> failed_;
    std::optional<at::Device> tensor_device_;  // the best one
};

// fp32 → at::kFloat; empty: no such name.
[[nodiscard]] std::optional<at::ScalarType> scalar_type_of(std::string_view dtype);

}  // namespace compat::devices
