// The settings of the device library: one table of their names, variables and allowed values. An
// argument wins over the environment, the environment over a settings file, the file over the
// default. No torch header, so that any program can read the table. Not for reading the file
// (settings_json.h, compat_devices/settings.py).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace compat::devices {

enum class ValueKind : unsigned char { device, word, on_off, fraction, positive, amount };

struct SettingRow {
    std::string_view name;      // as an argument
    std::string_view variable;  // empty: none
    std::string_view file_key;  // in a settings file; empty: none
    ValueKind kind;
    std::string_view allowed;  // of a word: its values, separated by ", "
    std::string_view fallback;
    std::string_view meaning;
};

inline constexpr std::string_view kDeviceValues =
    "auto, cpu, cuda, mps, xpu, hpu, mtia, privateuseone, tpu, or one with an index, as cuda:1";
inline constexpr std::string_view kOnOffValues = "on, off, true, false, 1, 0";
inline constexpr std::string_view kAmountValues = "a number of dollars, 0 or more";

inline constexpr std::array<SettingRow, 11> kSettings{{
    {"device", "COMPAT_DEVICE", "preferred", ValueKind::device, kDeviceValues, "auto",
     "the device to use"},
    {"precision", "COMPAT_PRECISION", "precision", ValueKind::word, "auto, fp32, fp16, bf16, int8",
     "auto", "the dtype that `recommended_dtype` answers"},
    {"recovery", "COMPAT_RECOVERY", "fallback_enabled", ValueKind::on_off, kOnOffValues, "on",
     "`device_safe` recovers, and a device that is missing is replaced by the next of the chain"},
    {"memory_fraction", "COMPAT_MEMORY_FRACTION", "memory_fraction", ValueKind::fraction,
     "a number above 0, at most 1", "0.8",
     "how much of a device's memory `batch` and `validate` count on"},
    {"prefer", "COMPUTE_PREFER", "", ValueKind::word, "auto, cpu, gpu, tpu", "auto",
     "the kind of device to use, where `device` is auto"},
    {"allow_tpu", "COMPUTE_ALLOW_TPU", "", ValueKind::on_off, kOnOffValues, "on",
     "whether a TPU may be chosen"},
    {"tpu_batch_factor", "COMPUTE_TPU_BATCH_FACTOR", "", ValueKind::positive,
     "a whole number from 1 to 65536", "128", "by how much a batch grows on a TPU"},
    {"cost_cpu", "COMPAT_COST_CPU", "", ValueKind::amount, kAmountValues, "0.00",
     "estimate of the dollars that a CPU costs an hour"},
    {"cost_gpu", "COMPAT_COST_GPU", "", ValueKind::amount, kAmountValues, "0.50",
     "estimate of the dollars that a GPU costs an hour"},
    {"cost_tpu", "COMPAT_COST_TPU", "", ValueKind::amount, kAmountValues, "2.00",
     "estimate of the dollars that a TPU costs an hour"},
    {"enable_optimizations", "COMPAT_OPTIMIZATIONS", "enable_optimizations", ValueKind::on_off, kOnOffValues, "on",
     "off: the precision auto means fp32 on every device"},
}};

struct Settings {
    std::string device = "auto";
    std::string precision = "auto";
    bool recovery = true;
    double memory_fraction = 0.8;
    std::string prefer = "auto";
    bool allow_tpu = true;
    std::int64_t tpu_batch_factor = 128;
    double cost_cpu = 0, cost_gpu = 0.5, cost_tpu = 2;
    bool enable_optimizations = true;
    // The source of each setting: "argument", its variable, "file" or "default".
    std::map<std::string, std::string, std::less<>> origin;
};

// Its text names the setting, where it stands and the allowed values.
class SettingError : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

// Text by name. A switch is one of kOnOffValues.
using SettingValues = std::map<std::string, std::string, std::less<>>;
using Lookup = std::function<std::optional<std::string>(std::string_view variable)>;

// `arguments` by the settings' names, `file` by its keys. A variable that is empty is not set.
// Throws SettingError.
[[nodiscard]] Settings resolve_settings(const SettingValues& arguments, const SettingValues& file,
                                        const Lookup& environment);
[[nodiscard]] bool is_file_key(std::string_view key);
// Reads this process's environment.
[[nodiscard]] std::optional<std::string> environment_variable(std::string_view name);

// "cuda" of "cuda:1".
[[nodiscard]] std::string_view type_of_device(std::string_view device);

}  // namespace compat::devices
