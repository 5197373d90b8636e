#include "simulate/memory.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>
#include <utility>

#include "runtime/device_stats.h"
#include "runtime/host_memory.h"
#include "runtime/pinned.h"
#include "simulate/accelerator.h"
#include "simulate/kernels/assertions.h"
#include "simulate/trace/blocks.h"
#include "simulate/trace/trace.h"

namespace compat::shim::simulate {
namespace {

constexpr std::int64_t kGranule = 512;  // bytes; CUDACachingAllocator's kMinBlockSize

struct Device {
    Counter bytes, blocks;
    std::atomic<std::int64_t> limit{host_memory().total};
    std::atomic<bool> has_context{false};
};

// Never destroyed: tensors outlive statics.
std::array<Device, kMaxDevices>& devices() {
    static auto* all = new std::array<Device, kMaxDevices>();
    return *all;
}

Device& at(int index) { return devices()[static_cast<std::size_t>(index)]; }

struct Block {
    c10::DataPtr own;   // allocated for the device,
    c10::Storage host;  // or adopted from this
    const void* data = nullptr;
    std::int64_t bytes = 0;
    int device = 0;
};

void release(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    if (block->bytes > 0) trace_deallocation(block->data);
    at(block->device).bytes.remove(block->bytes);
    if (block->bytes > 0) at(block->device).blocks.remove(1);
}

c10::DataPtr counted(void* data, std::unique_ptr<Block> block) {
    Device& device = at(block->device);
    device.bytes.add(block->bytes);
    block->data = data;
    if (block->bytes > 0) {
        make_context(block->device);
        device.blocks.add(1);
        trace_allocation(data);
    }
    const c10::Device place = accelerator().device(block->device);
    return {data, block.release(), &release, place};
}

std::int64_t rounded(std::size_t bytes) {
    return (static_cast<std::int64_t>(bytes) + kGranule - 1) / kGranule * kGranule;
}

// Memory was pinned before any device had a context.
void use_first_for_pinned() {
    const auto has = [](const Device& device) { return device.has_context.load(); };
    if (pinned_figures().blocks.allocated > 0 && std::ranges::none_of(devices(), has))
        at(0).has_context = true;
}

// One function of each part that keeps memory.
std::array<std::atomic<void (*)()>, 2> free_unused{};

void check_limit(std::int64_t wanted, int index) {
    accelerator().check_block(wanted);
    const std::int64_t limit = at(index).limit;
    const auto taken = [&] { return at(index).bytes.figure().current; };
    if (wanted <= limit - taken()) return;
    for (const auto& each : free_unused)
        if (auto* const reclaim = each.load()) reclaim();
    if (wanted > limit - taken())
        accelerator().out_of_memory(accelerator().device(index), wanted, limit, taken());
}

[[noreturn]] void refuse_for_host(std::size_t bytes, int index) {
    TORCH_CHECK(false, "The host has no memory for a tensor of the simulated device ",
                accelerator().device(index).str(), ". Tried to allocate ",
                readable_size(static_cast<std::int64_t>(bytes)), ". The device has room for it, ",
                "and the host has ", readable_size(host_memory().free), " free. Run on a host ",
                "with more memory, or give the device less with --device-memory.");
    std::abort();
}

// Host memory for the device. Linux may hand out more memory than the machine has, and kill the
// process that uses it. So large blocks are compared with the free memory.
c10::DataPtr from_host(c10::Allocator& host, std::size_t bytes, int index) {
    constexpr std::size_t kLarge = 64 << 20;
    if (bytes >= kLarge && static_cast<std::int64_t>(bytes) > host_memory().free)
        refuse_for_host(bytes, index);
    try {
        if (bytes > 0 && is_traced())
            return traced_memory(host, static_cast<std::size_t>(rounded(bytes)), index);
        return host.allocate(bytes);
    } catch (const c10::Error&) {
        refuse_for_host(bytes, index);
    }
}

class Allocator final : public DeviceAllocator {
  public:
    c10::DataPtr allocate(std::size_t bytes) override {
        const int index = current_device();
        begin_use();
        check_limit(rounded(bytes), index);
        const KernelMemory checked(kHostDevice);
        auto block = std::make_unique<Block>();
        block->own = bytes > 0 ? from_host(*c10::GetCPUAllocator(), bytes, index)
                               : c10::DataPtr(nullptr, kHostDevice);
        block->bytes = rounded(bytes);
        block->device = index;
        void* data = block->own.get();
        return counted(data, std::move(block));
    }
    c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
    void copy_data(void* to, const void* from, std::size_t bytes) const override {
        default_copy_data(to, from, bytes);
    }
    bool initialized() override { return true; }
    void emptyCache(MempoolId) override { check_not_lost(); }
    void recordStream(const c10::DataPtr& memory, c10::Stream stream) override {
        record_on_stream(memory.get(), stream.id());
    }
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override {
        const DeviceFigures figures = device_figures(index);
        return device_stats(figures.bytes, figures.blocks);
    }
    void resetAccumulatedStats(c10::DeviceIndex index) override { reset_device_accumulated(index); }
    void resetPeakStats(c10::DeviceIndex index) override { reset_device_peak(index); }
    std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex index) override {
        check_not_lost();
        make_context(index);
        const DeviceFigures figures = device_figures(index);
        const std::int64_t total = std::min(figures.limit, host_memory().total);
        const std::int64_t free = std::max<std::int64_t>(0, total - figures.bytes.current);
        return {static_cast<std::size_t>(free), static_cast<std::size_t>(total)};
    }
};

constexpr int kUnbounded = -1;
thread_local int kernels_device = kUnbounded;

// The one that ours is over. Another library may have put its own over ours when memory is freed.
c10::Allocator* own_allocator = nullptr;

class HostAllocator final : public c10::Allocator {
  public:
    c10::DataPtr allocate(std::size_t bytes) override {
        if (kernels_device == kUnbounded) return own_allocator->allocate(bytes);
        check_limit(rounded(bytes), kernels_device);
        return from_host(*own_allocator, bytes, kernels_device);
    }
    // With a trace, of what was allocated with and without it.
    c10::DeleterFnPtr raw_deleter() const override {
        return is_traced() ? &free_either : own_allocator->raw_deleter();
    }
    void copy_data(void* to, const void* from, std::size_t bytes) const override {
        own_allocator->copy_data(to, from, bytes);
    }

  private:
    static void free_either(void* data) {
        if (!free_traced(data)) own_allocator->raw_deleter()(data);
    }
};

std::shared_mutex& addresses() {
    static auto* mutex = new std::shared_mutex();  // kernels may outlive statics
    return *mutex;
}
thread_local int addresses_uses = 0;

struct InUse {
    std::mutex mutex;
    std::unordered_multiset<const c10::StorageImpl*> storages;
};
InUse& in_use() {
    static auto* all = new InUse();  // threads may outlive statics
    return *all;
}

}  // namespace

void reclaim_memory_by(void (*reclaim)()) {
    for (auto& each : free_unused) {
        void (*none)() = nullptr;
        if (each == reclaim || each.compare_exchange_strong(none, reclaim)) return;
    }
}

AddressesInUse::AddressesInUse() {
    if (addresses_uses++ == 0) addresses().lock_shared();
}

AddressesInUse::~AddressesInUse() {
    if (--addresses_uses == 0) addresses().unlock_shared();
}

StorageInUse::StorageInUse(const at::Tensor& tensor)
    : storage_(tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr) {
    if (!storage_) return;
    const AddressesInUse now;  // waits while it moves
    const std::lock_guard lock(in_use().mutex);
    in_use().storages.insert(storage_);
}

StorageInUse::StorageInUse(StorageInUse&& other) noexcept
    : storage_(std::exchange(other.storage_, nullptr)) {}

StorageInUse::~StorageInUse() {
    if (!storage_) return;
    const std::lock_guard lock(in_use().mutex);
    in_use().storages.erase(in_use().storages.find(storage_));
}

bool is_in_use(const c10::StorageImpl& storage) {
    const std::lock_guard lock(in_use().mutex);
    return in_use().storages.contains(&storage);
}

MovingMemory::MovingMemory() : moves_(addresses_uses == 0 && addresses().try_lock()) {}

MovingMemory::~MovingMemory() {
    if (moves_) addresses().unlock();
}

void bound_host_allocator() {
    constexpr std::uint8_t kHighestPriority = 255;
    own_allocator = c10::GetCPUAllocator();
    c10::SetCPUAllocator(new HostAllocator(), kHighestPriority);
}

KernelMemory::KernelMemory(c10::Device device) noexcept
    : before_(std::exchange(kernels_device, device.is_cpu() ? kUnbounded : device.index())) {}

KernelMemory::~KernelMemory() { kernels_device = before_; }

std::string readable_size(std::int64_t bytes) {
    constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1 << 30;
    if (bytes <= kKiB) return std::to_string(bytes) + " bytes";
    const auto [unit, name] = bytes <= kMiB   ? std::pair(kKiB, "KiB")
                              : bytes <= kGiB ? std::pair(kMiB, "MiB")
                                              : std::pair(kGiB, "GiB");
    char text[32];
    std::snprintf(text, sizeof text, "%.2f %s",
                  static_cast<double>(bytes) / static_cast<double>(unit), name);
    return text;
}

DeviceAllocator& allocator() noexcept {
    static auto* instance = new Allocator();
    return *instance;
}

c10::DataPtr adopt_memory(const c10::Storage& host, c10::Device device) {
    begin_use();
    check_limit(rounded(host.nbytes()), device.index());
    auto block = std::make_unique<Block>();
    block->host = host;
    block->bytes = rounded(host.nbytes());
    block->device = device.index();
    return counted(host.unsafeGetStorageImpl()->mutable_data(), std::move(block));
}

c10::Storage adopt(const c10::Storage& host, c10::Device device) {
    return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), host.nbytes(), adopt_memory(host, device),
        &allocator(), /*resizable=*/true));
}

bool has_context(int device) {
    use_first_for_pinned();
    return at(device).has_context;
}

void make_context(int device) {
    if (at(device).has_context) return;
    use_first_for_pinned();
    at(device).has_context = true;
}

DeviceFigures device_figures(int device) {
    return {at(device).bytes.figure(), at(device).blocks.figure(), at(device).limit};
}

void reset_device_peak(int device) {
    at(device).bytes.reset_peak();
    at(device).blocks.reset_peak();
}

void reset_device_accumulated(int device) {
    at(device).bytes.reset_accumulated();
    at(device).blocks.reset_accumulated();
}

void set_device_limit(int device, std::int64_t bytes) {
    TORCH_CHECK(bytes >= 0, "a device has no less than 0 bytes");
    at(device).limit = bytes;
}

}  // namespace compat::shim::simulate
