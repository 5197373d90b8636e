#include "devices/devices.h"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <ATen/detail/MPSHooksInterface.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <fstream>
#include <stdexcept>

#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

#include "devices/cuda_driver.h"

namespace compat::devices {
namespace {

struct Type {
    const char* name;
    c10::DeviceType type;
};
constexpr std::array<Type, 7> kTypes{{{"cpu", at::kCPU},
                                      {"cuda", at::kCUDA},
                                      {"mps", at::kMPS},
                                      {"xpu", at::kXPU},
                                      {"hpu", at::kHPU},
                                      {"mtia", at::kMTIA},
                                      {"privateuseone", at::kPrivateUse1}}};

// Each dtype is tested with a matrix product, as in models, and integers with a sum. Every
// intermediate number is exact in every dtype.
struct Dtype {
    const char* name;
    at::ScalarType type;
    double (*try_on)(at::TensorOptions);
    double due;
};
double product(at::TensorOptions options) {
    const auto a = at::full({8, 8}, 0.5, options);
    return at::mm(a, a).sum().item().toDouble();
}
double sum(at::TensorOptions options) {
    const auto a = at::full({8}, 3, options);
    return a.add(a).to(at::kLong).sum().item().toDouble();
}
constexpr std::array<Dtype, 5> kDtypes{{{"fp32", at::kFloat, product, 128},
                                        {"fp16", at::kHalf, product, 128},
                                        {"bf16", at::kBFloat16, product, 128},
                                        {"fp64", at::kDouble, product, 128},
                                        {"int8", at::kChar, sum, 48}}};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

DtypeSupport try_dtype(const Dtype& dtype, at::Device device) {
    DtypeSupport support{dtype.name, false, {}};
    try {
        const double got = dtype.try_on(at::TensorOptions(device).dtype(dtype.type));
        support.works = got == dtype.due;
        if (!support.works)
            support.why = "gave " + std::to_string(got) + ", not " + std::to_string(dtype.due);
    } catch (const c10::Error& error) {
        support.why = first_line(error.what_without_backtrace());
    } catch (const std::exception& error) {
        support.why = first_line(error.what());
    }
    return support;
}

// The value of the first line "key<blanks>: value" in a system file.
std::string field_of(const char* file, const std::string& key) {
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        const auto colon = line.find(':');
        if (line.compare(0, key.size(), key) != 0 || colon == std::string::npos) continue;
        const auto begin = line.find_first_not_of(" \t", colon + 1);
        return begin == std::string::npos ? "" : line.substr(begin);
    }
    return {};
}

// "8123456 kB", as Linux writes it.
std::optional<std::int64_t> kilobytes(const char* key) {
    const auto text = field_of("/proc/meminfo", key);
    if (text.empty()) return std::nullopt;
    return std::stoll(text) * 1024;
}

std::string processor_name() {
#ifdef __APPLE__
    std::array<char, 256> name{};
    auto size = name.size() - 1;
    if (sysctlbyname("machdep.cpu.brand_string", name.data(), &size, nullptr, 0) == 0)
        return name.data();
#endif
    return field_of("/proc/cpuinfo", "model name");
}

DeviceCapabilities cpu() {
    DeviceCapabilities found;
    found.name = processor_name();
    found.memory_total = kilobytes("MemTotal");
    if (!found.memory_total)
        found.memory_total =
            static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    // Memory available without swapping, not only untouched memory.
    found.memory_free = kilobytes("MemAvailable");
    found.capability = at::get_cpu_capability();
    return found;
}

void ask_memory(DeviceCapabilities& found, at::Device device) {
    if (device.is_mps()) {
        const auto& hooks = at::detail::getMPSHooks();
        found.memory_total = static_cast<std::int64_t>(hooks.getRecommendedMaxMemory());
        found.memory_free =
            *found.memory_total - static_cast<std::int64_t>(hooks.getDriverAllocatedMemory());
        return;
    }
#ifdef COMPAT_TORCH_HAS_MEMORY_INFO
    try {
        auto* allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()));
        if (!allocator) return;
        const auto [free, total] = allocator->getMemoryInfo(device.index());
        found.memory_free = static_cast<std::int64_t>(free);
        found.memory_total = static_cast<std::int64_t>(total);
    } catch (const c10::Error&) {
        // A backend may not implement this.
    }
#endif
}

DeviceCapabilities accelerator(at::Device device) {
    DeviceCapabilities found;
    ask_memory(found, device);
    if (device.is_cuda()) {
        auto described = describe_cuda_device(device.index());
        found.name = described.name;
        found.capability = described.capability;
    } else if (device.is_mps()) {
        found.name = processor_name();
    }
    return found;
}

bool has_code(c10::DeviceType type) {
    if (type == at::kCPU) return true;
    // Asking for unregistered hooks is an error there.
    if (type == at::kPrivateUse1 && !at::isPrivateUse1HooksRegistered()) return false;
    return at::globalContext().getAcceleratorHooksInterface(type).isBuilt();
}

c10::DeviceIndex count_of(c10::DeviceType type) {
    if (type == at::kCPU) return 1;
    if (type == at::kMPS) return at::hasMPS() ? 1 : 0;  // its hooks count none in some versions
    return at::globalContext().getAcceleratorHooksInterface(type).deviceCount();
}

c10::DeviceType type_of(std::string_view name) {
    for (const auto& type : kTypes)
        if (type.name == name) return type.type;
    throw std::invalid_argument("no such type of device: " + std::string(name));
}

}  // namespace

const std::vector<std::string>& device_types() {
    static const auto names = [] {
        std::vector<std::string> all;
        for (const auto& type : kTypes) all.emplace_back(type.name);
        return all;
    }();
    return names;
}

TypeReport devices_of(std::string_view name, Progress& progress) {
    const auto type = type_of(name);
    TypeReport report;
    report.built = has_code(type);
    if (!report.built) return report;
    progress.about_to("counting devices");
    const auto count = count_of(type);
    for (c10::DeviceIndex i = 0; i < count; ++i) {
        const at::Device device(type, type == at::kCPU ? -1 : i);
        progress.about_to("asking " + device.str());
        auto found = type == at::kCPU ? cpu() : accelerator(device);
        found.device = device.str();
        found.type = name;
        for (const auto& dtype : kDtypes) {
            progress.about_to(std::string("trying ") + dtype.name + " on " + device.str());
            found.dtypes.push_back(try_dtype(dtype, device));
        }
        report.devices.push_back(std::move(found));
    }
    return report;
}

void ask_memory_of(DeviceCapabilities& found, const std::string& device) {
    const at::Device asked(device);
    if (!asked.is_cpu()) {
        ask_memory(found, asked);
        return;
    }
    const DeviceCapabilities now = cpu();
    found.memory_total = now.memory_total;
    found.memory_free = now.memory_free;
}

std::string build_config() { return at::show_config(); }

}  // namespace compat::devices
