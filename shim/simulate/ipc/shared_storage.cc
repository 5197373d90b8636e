#include "simulate/ipc/shared_storage.h"

#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "simulate/accelerator.h"
#include "simulate/ipc/pool.h"
#include "simulate/memory.h"

namespace compat::shim::simulate {
namespace {

constexpr std::size_t kFewFreed = 64;

// A storage of ours that was moved. A caller that has the old memory's address, such as a
// collective under way, may still use it. So the old memory stays as long as the storage, and
// counts for both.
struct Sent {
    c10::DataPtr before;
    Region region;
    pid_t process;
};

// Storages that other processes held when ours were freed.
struct Freed {
    std::mutex mutex;
    std::vector<std::unique_ptr<Sent>> all;
    std::size_t limit = kFewFreed;  // of `all`, before the next check of which are free
};
Freed& freed() {
    static auto* instance = new Freed();  // tensors outlive statics
    return *instance;
}

// Warns as torch does at the end of a process (CudaIPCTypes.cpp).
struct EndOfProcess {
    const pid_t process = ::getpid();
    ~EndOfProcess() {
        if (process != ::getpid()) return;
        collect_sent();
        if (!freed().all.empty())
            TORCH_WARN(
                "Producer process has been terminated before all shared CUDA tensors released. "
                "See Note [Sharing CUDA tensors]");
    }
};

Pool& pool() {
    static auto* instance = new Pool();
    return *instance;
}

void release_sent(void* context) {
    std::unique_ptr<Sent> sent(static_cast<Sent*>(context));
    if (sent->process != ::getpid()) return;  // a forked copy: the memory is the parent's
    if (sent->region.holders() == 0) return pool().release(sent->region);
    static const EndOfProcess end_of_process;
    bool many = false;
    {
        const std::lock_guard lock(freed().mutex);
        freed().all.push_back(std::move(sent));
        many = freed().all.size() >= freed().limit;
    }
    if (many) collect_sent();
}

// A storage of another process.
struct Received {
    std::shared_ptr<Segment> segment;
    std::size_t counter;
    pid_t process;
};

void release_received(void* context) {
    const std::unique_ptr<Received> received(static_cast<Received*>(context));
    if (received->process == ::getpid()) --received->segment->holders(received->counter);
}

// Each segment is mapped once.
std::shared_ptr<Segment> opened(const std::string& handle) {
    static std::mutex mutex;
    static auto* all = new std::map<std::string, std::weak_ptr<Segment>>();
    const std::lock_guard lock(mutex);
    if (const auto found = all->find(handle); found != all->end())
        if (auto segment = found->second.lock()) return segment;
    std::erase_if(*all, [](const auto& each) { return each.second.expired(); });
    auto segment = Segment::open(handle);
    if (segment) (*all)[handle] = segment;
    return segment;
}

[[noreturn]] void refuse_handle() {
    constexpr int kInvalidResourceHandle = 400;
    throw c10::AcceleratorError(
        {__func__, __FILE__, __LINE__}, kInvalidResourceHandle,
        "CUDA error: invalid resource handle\nThe process that sent the tensor has ended.\n");
}

void move(c10::StorageImpl& storage) {
    Region region = pool().allocate(storage.nbytes());
    std::byte* data = region.data();
    std::memcpy(data, storage.data(), storage.nbytes());
    const c10::Device device = storage.device();
    auto* sent = new Sent{{}, std::move(region), ::getpid()};
    sent->before = storage.set_data_ptr(c10::DataPtr(data, sent, &release_sent, device));
}

}  // namespace

bool has_memory(const at::Tensor& tensor) {
    c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    TORCH_CHECK(!storage->received_cuda(),
                "Attempted to send CUDA tensor received from another process; this is not "
                "currently supported. Consider cloning before sending.");
    return storage->nbytes() > 0 && storage->data() != nullptr;
}

std::optional<SharedMemory> try_share(const at::Tensor& tensor) {
    c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
    if (storage.data_ptr().get_deleter() != &release_sent) {
        const MovingMemory moving;
        if (!moving || is_in_use(storage)) return std::nullopt;
        reclaim_memory_by(&collect_sent);
        move(storage);
    }
    const Region& region = static_cast<Sent*>(storage.data_ptr().get_context())->region;
    ++region.holders();
    return SharedMemory{region.segment->handle(), region.offset(), region.granule};
}

at::Tensor open_shared(int device, std::size_t bytes, const SharedMemory& memory) {
    check_index(device);
    auto segment = opened(memory.handle);
    if (!segment) refuse_handle();
    void* data = segment->at_offset(memory.offset);
    auto* received = new Received{std::move(segment), memory.counter, ::getpid()};
    const c10::Device place = accelerator().device(device);
    auto storage = c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), bytes,
        c10::DataPtr(data, received, &release_received, place), /*allocator=*/nullptr,
        /*resizable=*/false);
    storage->set_received_cuda(true);
    at::Tensor tensor = at::empty({0}, at::dtype(at::kByte).device(place));
    return tensor.set_(c10::Storage(std::move(storage)));
}

void release_holder(const std::string& handle, std::size_t counter) {
    const auto segment = opened(handle);
    if (segment) --segment->holders(counter);
}

void collect_sent() {
    std::vector<std::unique_ptr<Sent>> unused;
    {
        const std::lock_guard lock(freed().mutex);
        auto& all = freed().all;
        const auto held = std::partition(
            all.begin(), all.end(), [](const auto& sent) { return sent->region.holders() != 0; });
        unused.assign(std::move_iterator(held), std::move_iterator(all.end()));
        all.erase(held, all.end());
        freed().limit = std::max(kFewFreed, 2 * all.size());
    }
    for (const auto& sent : unused) pool().release(sent->region);
}

}  // namespace compat::shim::simulate
