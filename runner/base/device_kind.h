// The differences between the devices that tests run on, one row each, and the columns of
// `runner porting`. Code asks this table for a fact instead of comparing names. The shim has a twin
// (shim/policy/device_kind.h). Not here: which devices a host has (runner/prepare), and how one is
// simulated (shim/simulate).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace compat {

struct DeviceKind {
    std::string_view word{};          // in torch, settings and stored runs; empty: any other device
    std::string_view title{};         // for people; also the name of its kernels' dispatch key
    std::string_view machine{};       // which its simulation stands for; empty: it is not simulated
    std::string_view family = "gpu";  // as in the setting `prefer`
    bool is_accelerator = true;
    bool has_kernels = true;       // torch can compute on it
    bool serves_cuda = false;      // code for CUDA finds what it asks for: nothing is redirected
    bool can_be_hidden = false;    // torch does not see it where CUDA_VISIBLE_DEVICES is empty
    bool has_fallback = false;     // operators that it lacks may run on the CPU (--fallback)
    bool has_launch_mode = false;  // CUDA_LAUNCH_BLOCKING and the variables of CUDA's caches count
    int simulated = 0;             // how many of them --simulate gives
    std::array<std::string_view, 3> settings{};  // keys of those that only its simulation takes

    // Whether requests for CUDA can be sent to it.
    [[nodiscard]] constexpr bool takes_cuda_code() const { return is_accelerator && !serves_cuda; }
    [[nodiscard]] constexpr bool takes(std::string_view key) const {
        return !key.empty() && std::find(settings.begin(), settings.end(), key) != settings.end();
    }
};

inline constexpr std::array<DeviceKind, 6> kDeviceKinds{{
    {.word = "cpu",
     .title = "CPU",
     .family = "cpu",
     .is_accelerator = false,
     .can_be_hidden = true},  // there is nothing to hide
    {.word = "mps",
     .title = "MPS",
     .machine = "Mac",
     .has_fallback = true,
     .simulated = 1,
     .settings = {"macos", "start_method", "mac_like"}},
    {.word = "cuda",
     .title = "CUDA",
     .machine = "GPU",
     .serves_cuda = true,
     .can_be_hidden = true,
     .has_launch_mode = true,
     .simulated = 2,
     .settings = {"sanitize"}},
    {.word = "xpu", .title = "XPU"},
    {.word = "tpu", .title = "TPU", .family = "tpu", .has_kernels = false},
    {},
}};

// The row of a device, which may have an index ("cuda:1"), or of a family; the last row for any
// other word.
[[nodiscard]] constexpr const DeviceKind& device_kind(std::string_view device) {
    const std::string_view word = device.substr(0, device.find(':'));
    for (const DeviceKind& row : kDeviceKinds)
        if (row.word == word) return row;
    return kDeviceKinds.back();
}

[[nodiscard]] constexpr bool is_accelerator(std::string_view device) {
    return device_kind(device).is_accelerator;
}

// The device whose simulation alone takes a setting; null: all runs take it.
[[nodiscard]] constexpr const DeviceKind* simulation_with(std::string_view key) {
    for (const DeviceKind& row : kDeviceKinds)
        if (row.takes(key)) return &row;
    return nullptr;
}

namespace detail {
template <std::size_t N>
struct Words {
    std::array<char, N> text{};
    std::size_t size = 0;
};
inline constexpr auto kSimulatedWords = [] {
    Words<64> words;
    const auto put = [&](std::string_view text) {
        for (const char c : text) words.text.at(words.size++) = c;
    };
    put("off");
    for (const DeviceKind& row : kDeviceKinds)
        if (row.simulated > 0) put("|"), put(row.word);
    return words;
}();
}  // namespace detail
// "off|mps|…", as the table of settings writes allowed values.
inline constexpr std::string_view kSimulatedWords{detail::kSimulatedWords.text.data(),
                                                  detail::kSimulatedWords.size};

// The runs that `runner porting` compares. Plain CPU is the baseline. A test that breaks there and
// is good on CUDA, because it asks for CUDA by name, is compared with CUDA if it breaks on another
// device. One that breaks there because there is no device, and on the device too, is a loss: plain
// CPU never ran it.
enum class Column { cpu, cuda, mps, mps_strict, cuda_on_mps };
inline constexpr Column kBaseline = Column::cpu;

struct ColumnRow {
    Column column;
    std::string_view name;   // in files
    std::string_view words;  // for people
    std::string_view brief;
    bool shim;
    std::string_view simulated;  // value of --simulate; empty: off
    std::string_view policy;     // value of --policy; empty without the shim
    bool fallback;
    std::string_view assumes;  // a sentence for people

    [[nodiscard]] constexpr const DeviceKind& device() const {
        return simulated.empty() ? kDeviceKinds.front() : device_kind(simulated);
    }
    // Requests for CUDA are sent to the device.
    [[nodiscard]] constexpr bool redirects() const { return policy == "missing"; }
    // The device has no kernel for some operators, and the CPU runs them.
    [[nodiscard]] constexpr bool falls_back() const { return fallback && device().has_fallback; }
};
// A Mac as it is, which redirects nothing, says what breaks on a Mac; sending CUDA requests to MPS
// tries code that knows only CUDA. The columns of one device stand in this order: with fallback,
// without, redirected.
inline constexpr std::array<ColumnRow, 5> kColumns{{
    {Column::cpu, "cpu", "plain CPU", "CPU", false, "", "", true,
     "the suite as it is, without the shim"},
    {Column::cuda, "cuda", "CUDA *simulated*", "CUDA", true, "cuda", "none", true,
     "a machine with two GPUs of NVIDIA"},
    {Column::mps, "mps", "bare Mac *simulated*, fallback on", "MPS", true, "mps", "none", true,
     "a Mac where nothing is redirected and `PYTORCH_ENABLE_MPS_FALLBACK=1` is set"},
    {Column::mps_strict, "mps_strict", "bare Mac *simulated*, fallback off", "MPS without fallback",
     true, "mps", "none", false, "the same Mac without that variable"},
    {Column::cuda_on_mps, "cuda_on_mps", "CUDA code sent to MPS *simulated*", "CUDA code on MPS",
     true, "mps", "missing", false,
     "that Mac with the shim: requests for CUDA end on MPS, and tensors say that they are on CUDA"},
}};
[[nodiscard]] constexpr const ColumnRow& row_of(Column column) {
    return kColumns[static_cast<std::size_t>(column)];
}

// The column of a simulated device that redirects or not, without fallback if there are two.
[[nodiscard]] constexpr std::optional<Column> simulated_column(std::string_view simulated,
                                                               bool redirects) {
    std::optional<Column> found;
    for (const ColumnRow& row : kColumns)
        if (row.simulated == simulated && row.redirects() == redirects) found = row.column;
    return found;
}
// The column of the same device with nothing redirected and without fallback.
[[nodiscard]] constexpr Column strict_of(Column column) {
    return simulated_column(row_of(column).simulated, false).value_or(column);
}
// The column where code for CUDA gets what it asks for.
[[nodiscard]] constexpr Column column_with_cuda() {
    for (const ColumnRow& row : kColumns)
        if (row.device().serves_cuda) return row.column;
    return kBaseline;
}

}  // namespace compat
