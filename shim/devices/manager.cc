#include "devices/manager.h"

#include <ATen/Context.h>
#include <ATen/detail/MPSHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <stdexcept>

#include "policy/device_kind.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace compat::devices {
namespace {

struct NamedType {
    std::string_view name;
    at::ScalarType type;
};
constexpr std::array<NamedType, 4> kFloats{
    {{"fp32", at::kFloat}, {"fp16", at::kHalf}, {"bf16", at::kBFloat16}, {"fp64", at::kDouble}}};

class NoProgress final : public Progress {
  public:
    void about_to(std::string_view /*what*/) override {}
};

std::string first_line_of(std::string_view text) {
    return std::string(text.substr(0, text.find('\n')));
}

// In bytes.
std::optional<std::int64_t> resident_memory() {
    std::ifstream stream("/proc/self/status");
    for (std::string line; std::getline(stream, line);)
        if (line.compare(0, 6, "VmRSS:") == 0) return std::stoll(line.substr(6)) * 1024;
    return std::nullopt;
}

#ifdef COMPAT_TORCH_HAS_DEVICE_ALLOCATOR
c10::DeviceAllocator* allocator_of(at::Device device) {
    if (device.is_cpu() || device.is_mps()) return nullptr;
    auto* allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()));
    return allocator && allocator->initialized() ? allocator : nullptr;
}
c10::DeviceIndex index_of(at::Device device) {
    return device.has_index() ? device.index() : static_cast<c10::DeviceIndex>(0);
}
#endif

void ask_usage(Memory& memory, at::Device device) {
    if (device.is_cpu()) {
        memory.allocated = resident_memory();
    } else if (device.is_mps()) {
        const auto& hooks = at::detail::getMPSHooks();
        memory.allocated = static_cast<std::int64_t>(hooks.getCurrentAllocatedMemory());
        memory.reserved = static_cast<std::int64_t>(hooks.getDriverAllocatedMemory());
    }
#ifdef COMPAT_TORCH_HAS_DEVICE_ALLOCATOR
    if (auto* allocator = allocator_of(device)) {
        const auto stats = allocator->getDeviceStats(index_of(device));
        memory.allocated = stats.allocated_bytes.front().current;
        memory.reserved = stats.reserved_bytes.front().current;
    }
#endif
}

void empty_cache(at::Device device) {
    if (device.is_mps()) at::detail::getMPSHooks().emptyCache();
#ifdef __GLIBC__
    if (device.is_cpu()) malloc_trim(0);
#endif
#ifdef COMPAT_TORCH_HAS_DEVICE_ALLOCATOR
    if (auto* allocator = allocator_of(device)) allocator->emptyCache({0, 0});
#endif
}

std::int64_t held_by(at::Device device) {
    Memory memory;
    ask_usage(memory, device);
    return memory.reserved ? *memory.reserved : memory.allocated.value_or(0);
}

}  // namespace

std::optional<at::ScalarType> scalar_type_of(std::string_view dtype) {
    for (const auto& known : kFloats)
        if (known.name == dtype) return known.type;
    return std::nullopt;
}

DeviceManager& DeviceManager::instance() {
    static DeviceManager manager(resolve_settings({}, {}, environment_variable));
    return manager;
}

DeviceManager::DeviceManager(Settings settings, Describe describe, DeviceLog& log)
    : settings_(std::move(settings)), describe_(std::move(describe)), log_(log) {}

Settings DeviceManager::settings() const { return settings_; }

const std::vector<DeviceCapabilities>& DeviceManager::found() {
    if (devices_) return *devices_;
    std::vector<DeviceCapabilities> all;
    failed_.clear();
    NoProgress progress;
    for (const std::string& type : device_types()) {
        try {
            for (auto& device : devices_of(type, progress).devices)
                all.push_back(std::move(device));
        } catch (const c10::Error& error) {
            failed_.emplace_back(type, first_line_of(error.what_without_backtrace()));
        } catch (const std::exception& error) {
            failed_.emplace_back(type, first_line_of(error.what()));
        }
    }
    for (auto& device : all) {
        if (!describe_ || (!device.name.empty() && !device.capability.empty())) continue;
        auto [name, capability] = describe_(device.device);
        if (device.name.empty()) device.name = std::move(name);
        if (device.capability.empty()) device.capability = std::move(capability);
    }
    all.insert(all.end(), added_.begin(), added_.end());
    return devices_.emplace(std::move(all));
}

std::vector<DeviceCapabilities> DeviceManager::devices() {
    const std::lock_guard lock(mutex_);
    return found();
}

std::vector<std::pair<std::string, std::string>> DeviceManager::failed() {
    const std::lock_guard lock(mutex_);
    static_cast<void>(found());
    return failed_;
}

void DeviceManager::refresh() {
    const std::lock_guard lock(mutex_);
    devices_.reset();
    tensor_device_.reset();
}

void DeviceManager::add(DeviceCapabilities device) {
    const std::lock_guard lock(mutex_);
    if (devices_) devices_->push_back(device);
    added_.push_back(std::move(device));
    tensor_device_.reset();
}

Choice DeviceManager::best(std::string_view prefer) {
    Choice choice = devices::best(devices(), settings(), prefer);
    if (log_.enabled()) {
        LogEvent event;
        event.kind = LogKind::choice;
        event.what = "best";
        event.device = choice.device.device;
        event.why = choice.why;
        log_.add(std::move(event));
    }
    return choice;
}

std::vector<std::string> DeviceManager::chain() { return devices::chain(devices(), settings()); }

DeviceCapabilities DeviceManager::capabilities(const std::string& device) {
    if (device.empty()) return best().device;
    std::string names;
    for (DeviceCapabilities& known : devices()) {
        if (known.device == device || known.type == device) return std::move(known);
        names.append(names.empty() ? "" : ", ").append(known.device);
    }
    throw std::invalid_argument("there is no device \"" + device + "\"; there are: " + names);
}

DtypeChoice DeviceManager::recommended_dtype(const std::string& device) {
    const auto known = capabilities(device);
    DtypeChoice choice = devices::recommended_dtype(known, settings());
    if (log_.enabled()) {
        LogEvent event;
        event.kind = LogKind::choice;
        event.what = "recommended_dtype " + choice.dtype;
        event.device = known.device;
        event.why = choice.why;
        log_.add(std::move(event));
    }
    return choice;
}

Batch DeviceManager::batch(std::int64_t base, const std::string& device,
                           std::int64_t sample_bytes) {
    return devices::batch(base, capabilities(device), settings(), sample_bytes);
}

Fit DeviceManager::validate(const Requirements& requirements, const std::string& device) {
    return devices::validate(requirements, capabilities(device), settings());
}

at::Device DeviceManager::tensor_device(const std::string& device) {
    if (!device.empty()) return at::Device(device);
    {
        const std::lock_guard lock(mutex_);
        if (tensor_device_) return *tensor_device_;
    }
    std::string name = best().device.device;
    for (const std::string& next : chain())
        if (!shim::device_kind(name).has_kernels) name = next;
    const at::Device chosen(name);
    const std::lock_guard lock(mutex_);
    return tensor_device_.emplace(chosen);
}

at::Tensor DeviceManager::converted(const at::Tensor& tensor, at::TensorOptions options,
                                    const char* what) {
    if (!log_.enabled()) return tensor.to(options);
    const auto begun = std::chrono::steady_clock::now();
    at::Tensor result = tensor.to(options);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    LogEvent event;
    event.kind = LogKind::move;
    event.what = what;
    event.from = tensor.device().str();
    event.device = result.device().str();
    if (tensor.scalar_type() != result.scalar_type())
        event.why = std::string(c10::toString(tensor.scalar_type())) + " to " +
                    c10::toString(result.scalar_type());
    event.bytes = static_cast<std::int64_t>(result.nbytes());
    event.seconds = took.count();
    log_.add(std::move(event));
    return result;
}

at::Tensor DeviceManager::ensure_device(const at::Tensor& tensor, const std::string& device) {
    const at::Device to = tensor_device(device);
    const at::Device here = tensor.device();
    if (here == to || (here.type() == to.type() && !to.has_index()) || here.is_meta())
        return tensor;
    return converted(tensor, at::TensorOptions(to), "ensure_device");
}

std::vector<at::Tensor> DeviceManager::ensure_device(const std::vector<at::Tensor>& tensors,
                                                     const std::string& device) {
    std::vector<at::Tensor> moved;
    for (const auto& tensor : tensors) moved.push_back(ensure_device(tensor, device));
    return moved;
}

at::Tensor DeviceManager::ensure_dtype(const at::Tensor& tensor, const std::string& dtype) {
    if (!at::isFloatingType(tensor.scalar_type())) return tensor;
    std::string name = dtype;
    if (name.empty()) {
        name = recommended_dtype(std::string(tensor.device().str())).dtype;
        if (name == "int8") name = "fp32";
    }
    const auto type = scalar_type_of(name);
    if (!type) throw std::invalid_argument("dtype=\"" + name + "\": use fp32, fp16, bf16 or fp64");
    if (tensor.scalar_type() == *type) return tensor;
    return converted(tensor, at::TensorOptions(*type), "ensure_dtype");
}

std::vector<at::Tensor> DeviceManager::ensure_dtype(const std::vector<at::Tensor>& tensors,
                                                    const std::string& dtype) {
    std::vector<at::Tensor> converted_tensors;
    for (const auto& tensor : tensors) converted_tensors.push_back(ensure_dtype(tensor, dtype));
    return converted_tensors;
}

Memory DeviceManager::memory(const std::string& device) {
    const DeviceCapabilities known = capabilities(device);
    Memory memory;
    if (!shim::device_kind(known.type).has_kernels) {
        memory.total = known.memory_total;
        memory.free = known.memory_free;
        return memory;
    }
    DeviceCapabilities now;  // the figures of `known` are those of when it was found
    ask_memory_of(now, known.device);
    memory.total = now.memory_total;
    memory.free = now.memory_free;
    ask_usage(memory, at::Device(known.device));
    return memory;
}

std::int64_t DeviceManager::free_memory(const std::string& device) {
    std::int64_t released = 0;
    for (const DeviceCapabilities& known : devices()) {
        if (!shim::device_kind(known.type).has_kernels) continue;
        if (!device.empty() && known.device != device && known.type != device) continue;
        const at::Device place(known.device);
        const std::int64_t before = held_by(place);
        empty_cache(place);
        released += std::max<std::int64_t>(before - held_by(place), 0);
    }
    return released;
}

}  // namespace compat::devices
