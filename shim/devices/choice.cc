#include "devices/choice.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "policy/device_kind.h"

namespace compat::devices {
namespace {

using namespace std::string_view_literals;
using shim::device_kind;

constexpr std::int64_t kLargestBase = std::int64_t{1} << 40;
constexpr std::int64_t kGpuFactor = 4;

// The smaller, the earlier in the chain.
std::size_t rank_of(std::string_view type) {
    const auto found = std::find(kChain.begin(), kChain.end(), type);
    if (found == kChain.end()) return 2 * kChain.size() - 3;  // just before the CPU
    return 2 * static_cast<std::size_t>(found - kChain.begin());
}

bool is_kind(std::string_view word) {
    constexpr std::array kKinds{"auto"sv, "cpu"sv, "gpu"sv, "tpu"sv};
    return std::find(kKinds.begin(), kKinds.end(), word) != kKinds.end();
}

bool is_of_kind(std::string_view type, std::string_view kind) {
    return kind == "auto" || device_kind(type).family == kind;
}

// Why `device` may not be chosen; empty: it may.
std::string refusal(const DeviceCapabilities& device, const Settings& settings) {
    if (const auto& kind = device_kind(device.type); !kind.has_kernels && !settings.allow_tpu)
        return "a " + std::string(kind.title) + " is not allowed (" +
               settings.origin.at("allow_tpu") + ")";
    for (const DtypeSupport& dtype : device.dtypes)
        if (dtype.name == "fp32") return dtype.works ? "" : "fp32 does not work: " + dtype.why;
    return "fp32 was not tried";
}

std::vector<const DeviceCapabilities*> in_order(const std::vector<DeviceCapabilities>& devices) {
    std::vector<const DeviceCapabilities*> sorted;
    for (const auto& device : devices) sorted.push_back(&device);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
        return rank_of(a->type) < rank_of(b->type);
    });
    return sorted;
}

// "8.10" → {8, 10}; empty where it is not of this form.
std::optional<std::pair<int, int>> version_of(std::string_view text) {
    std::pair<int, int> version{0, 0};
    const char* end = text.data() + text.size();
    const auto major = std::from_chars(text.data(), end, version.first);
    if (major.ec != std::errc{}) return std::nullopt;
    if (major.ptr == end) return version;
    if (*major.ptr != '.') return std::nullopt;
    const auto minor = std::from_chars(major.ptr + 1, end, version.second);
    if (minor.ec != std::errc{} || minor.ptr != end) return std::nullopt;
    return version;
}

std::int64_t power_of_two_from(std::int64_t number) {
    std::int64_t power = 1;
    while (power < number) power *= 2;
    return power;
}

// Where a preference stands, for a reader: "COMPAT_DEVICE=cuda", "device=cuda (file)".
std::string said_by(std::string_view setting, const std::string& value, const Settings& settings) {
    const auto found = settings.origin.find(setting);
    const std::string origin = found == settings.origin.end() ? "argument" : found->second;
    if (origin.find('_') != std::string::npos) return origin + "=" + value;
    return std::string(setting) + "=" + value + " (" + origin + ")";
}

struct Wish {
    std::string kind;    // auto, cpu, gpu, tpu; empty: a device
    std::string device;  // "cuda", "cuda:1"; empty: a kind
    std::string source;  // for a reader

    [[nodiscard]] bool holds(const DeviceCapabilities& capabilities) const {
        if (!kind.empty()) return is_of_kind(capabilities.type, kind);
        const bool any_index = device.find(':') == std::string::npos;
        return (any_index ? capabilities.type : capabilities.device) == device;
    }
};

Wish wish_of(const Settings& settings, std::string_view prefer) {
    if (!prefer.empty()) {
        const std::string word(prefer), source = "prefer=" + word;
        if (is_kind(word)) return {word, "", source};
        // Throws where it is no device.
        static_cast<void>(resolve_settings({{"device", word}}, {},
                                           [](std::string_view) { return std::nullopt; }));
        return {"", word, source};
    }
    if (settings.device != "auto")
        return {"", settings.device, said_by("device", settings.device, settings)};
    return {settings.prefer, "", said_by("prefer", settings.prefer, settings)};
}

}  // namespace

bool supports(const DeviceCapabilities& device, std::string_view dtype) {
    return std::any_of(device.dtypes.begin(), device.dtypes.end(), [&](const DtypeSupport& known) {
        return known.name == dtype && known.works;
    });
}

std::vector<std::string> chain(const std::vector<DeviceCapabilities>& devices,
                               const Settings& settings) {
    std::vector<std::string> names;
    std::string last;
    for (const auto* device : in_order(devices)) {
        if (device->type == last || !refusal(*device, settings).empty()) continue;
        names.push_back(device->device);
        last = device->type;
    }
    return names;
}

Choice best(const std::vector<DeviceCapabilities>& devices, const Settings& settings,
            std::string_view prefer) {
    const Wish wish = wish_of(settings, prefer);
    const auto sorted = in_order(devices);
    const DeviceCapabilities* wanted = nullptr;
    const DeviceCapabilities* first = nullptr;
    Choice choice;
    for (const auto* device : sorted) {
        const std::string why_not = refusal(*device, settings);
        if (!why_not.empty()) {
            choice.passed_over.emplace_back(device->device, why_not);
        } else if (!wish.holds(*device)) {
            if (!first) first = device;
            choice.passed_over.emplace_back(device->device, "not asked for: " + wish.source);
        } else if (!wanted) {
            wanted = device;
        } else {
            choice.passed_over.emplace_back(device->device, "later in the order of choice");
        }
    }
    if (wanted) {
        choice.device = *wanted;
        choice.why = wish.kind == "auto" ? "first usable device in the order TPU, MPS, CUDA, CPU"
                                         : wish.source;
        return choice;
    }
    std::string reasons;
    for (const auto& [name, why] : choice.passed_over)
        if (why.rfind("not asked for", 0) != 0)
            reasons.append(reasons.empty() ? "" : "; ").append(name + ": " + why);
    const std::string missing =
        wish.source + ": no such device is usable" + (reasons.empty() ? "" : " (" + reasons + ")");
    if (!first || !settings.recovery)
        throw std::runtime_error(
            missing +
            (first ? "; " + first->device + " is, and would be taken with recovery on" : ""));
    choice.device = *first;
    choice.why = missing + ", so " + first->device + " was taken";
    std::erase_if(choice.passed_over, [&](const auto& row) { return row.first == first->device; });
    return choice;
}

DtypeChoice recommended_dtype(const DeviceCapabilities& device, const Settings& settings) {
    if (settings.precision != "auto") {
        const auto source = said_by("precision", settings.precision, settings);
        if (supports(device, settings.precision)) return {settings.precision, source};
        return {"fp32", source + ", which does not work on " + device.device};
    }
    if (!settings.enable_optimizations) return {"fp32", "enable_optimizations is off"};
    const auto& kind = device_kind(device.type);
    if (!kind.is_accelerator) return {"fp32", "smaller dtypes are seldom faster on a CPU"};
    // bf16 has fp32's range, so needs no loss scaling.
    const auto capability = version_of(device.capability);
    const bool emulated =
        kind.has_capability && (!capability || capability->first < shim::kFirstCapabilityWithBf16);
    if (kind.has_bf16 && !emulated && supports(device, "bf16"))
        return {"bf16", "bf16 works on " + device.device};
    if (supports(device, "fp16")) return {"fp16", "fp16 works on " + device.device};
    return {"fp32", "no smaller dtype works on " + device.device};
}

Batch batch(std::int64_t base, const DeviceCapabilities& device, const Settings& settings,
            std::int64_t sample_bytes) {
    if (base < 1 || base > kLargestBase)
        throw std::invalid_argument("base=" + std::to_string(base) + ": use a number from 1 to " +
                                    std::to_string(kLargestBase));
    if (sample_bytes < 0)
        throw std::invalid_argument("sample_bytes=" + std::to_string(sample_bytes) +
                                    ": use 0 (unknown) or more");
    Batch batch;
    const auto& kind = device_kind(device.type);
    const bool is_tpu = !kind.has_kernels;
    batch.factor = is_tpu ? settings.tpu_batch_factor : kind.is_accelerator ? kGpuFactor : 1;
    batch.size = is_tpu ? power_of_two_from(base * batch.factor) : base * batch.factor;
    batch.why = std::to_string(base) + " × " + std::to_string(batch.factor) + " on a " +
                (is_tpu                ? "TPU, rounded up to a power of two"
                 : kind.is_accelerator ? "GPU"
                                       : "CPU");
    const auto memory = device.memory_free ? device.memory_free : device.memory_total;
    if (sample_bytes == 0 || !memory) return batch;
    const auto usable =
        static_cast<std::int64_t>(static_cast<double>(*memory) * settings.memory_fraction);
    batch.maximum = usable / sample_bytes;
    if (batch.size <= *batch.maximum) return batch;
    batch.size = *batch.maximum;
    batch.why += ", but only " + std::to_string(batch.size) + " fit in memory";
    return batch;
}

Fit validate(const Requirements& requirements, const DeviceCapabilities& device,
             const Settings& settings) {
    Fit fit;
    const auto refuse = [&](std::string reason) { fit.reasons.push_back(std::move(reason)); };
    const auto& types = requirements.types;
    if (!types.empty() && std::find(types.begin(), types.end(), device.type) == types.end())
        refuse(device.device + " is of type " + device.type);
    for (const std::string& dtype : requirements.dtypes) {
        const auto known =
            std::find_if(device.dtypes.begin(), device.dtypes.end(),
                         [&](const DtypeSupport& support) { return support.name == dtype; });
        if (known == device.dtypes.end())
            refuse("dtype " + dtype + " was not tried on " + device.device);
        else if (!known->works)
            refuse("dtype " + dtype + " does not work on " + device.device + ": " + known->why);
    }
    const auto memory = device.memory_free ? device.memory_free : device.memory_total;
    if (requirements.memory > 0 && !memory)
        refuse("the memory of " + device.device + " is unknown");
    if (requirements.memory > 0 && memory) {
        const auto usable =
            static_cast<std::int64_t>(static_cast<double>(*memory) * settings.memory_fraction);
        if (requirements.memory > usable)
            refuse("it needs " + std::to_string(requirements.memory) + " bytes, and " +
                   std::to_string(usable) + " of " + device.device + " are usable");
    }
    if (!requirements.capability.empty()) {
        const auto needed = version_of(requirements.capability);
        if (!needed)
            throw std::invalid_argument("capability=\"" + requirements.capability +
                                        "\": use major.minor, as 8.0");
        const auto own =
            device_kind(device.type).has_capability ? version_of(device.capability) : std::nullopt;
        if (!own)
            refuse(device.device + " has no compute capability, and " + requirements.capability +
                   " is needed");
        else if (*own < *needed)
            refuse(device.device + " has compute capability " + device.capability + ", and " +
                   requirements.capability + " is needed");
    }
    fit.fits = fit.reasons.empty();
    return fit;
}

}  // namespace compat::devices
