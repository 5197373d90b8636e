#include "simulate/trace/blocks.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "runtime/fork_safe_mutex.h"
#include "runtime/streams.h"
#include "simulate/accelerator.h"

namespace compat::shim::simulate {
namespace {

constexpr std::size_t kMostUnused = std::size_t{256} << 20;  // bytes

using BlockPool =
    std::tuple<int, c10::StreamId, std::size_t>;  // device, stream, bytes of each block

struct UsedBlock {
    c10::DataPtr memory;
    BlockPool pool;
    bool is_recycled;
    std::vector<c10::StreamId> recorded;
};

class TracedBlocks {
  public:
    // Never destroyed: tensors outlive statics.
    static TracedBlocks& instance() {
        static auto* blocks = new TracedBlocks();
        return *blocks;
    }

    c10::DataPtr take(c10::Allocator& host, const BlockPool& pool) {
        c10::DataPtr memory;
        {
            const std::lock_guard lock(mutex_);
            // The last one first, as from a stack.
            if (const auto found = unused_.find(pool); found != unused_.end()) {
                memory = std::move(found->second.back());
                found->second.pop_back();
                if (found->second.empty()) unused_.erase(found);
                unused_bytes_ -= std::get<std::size_t>(pool);
            }
        }
        const bool is_recycled = static_cast<bool>(memory);
        if (!is_recycled) memory = host.allocate(std::get<std::size_t>(pool));
        void* data = memory.get();
        const std::lock_guard lock(mutex_);
        used_.insert_or_assign(address(data), UsedBlock{std::move(memory), pool, is_recycled, {}});
        return {data, data, [](void* block) { instance().put_back(block); }, kHostDevice};
    }

    template <class Ask>
    void ask(std::uintptr_t at, Ask answer) {
        const std::lock_guard lock(mutex_);
        const auto next = used_.upper_bound(at);
        if (next == used_.begin()) return;
        auto& [begin, used] = *std::prev(next);
        if (at < begin + std::get<std::size_t>(used.pool)) answer(begin, used);
    }

    static std::uintptr_t address(const void* data) {
        return reinterpret_cast<std::uintptr_t>(data);
    }

    bool put_back(const void* data) {
        decltype(unused_) too_much;
        const std::lock_guard lock(mutex_);
        const auto found = used_.find(address(data));
        if (found == used_.end()) return false;
        unused_bytes_ += std::get<std::size_t>(found->second.pool);
        unused_[found->second.pool].push_back(std::move(found->second.memory));
        used_.erase(found);
        if (unused_bytes_ > kMostUnused) {
            unused_.swap(too_much);
            unused_bytes_ = 0;
        }
        return true;
    }

  private:
    ForkSafeMutex mutex_;
    std::map<std::uintptr_t, UsedBlock> used_;
    std::map<BlockPool, std::vector<c10::DataPtr>> unused_;
    std::size_t unused_bytes_ = 0;
};

}  // namespace

c10::DataPtr traced_memory(c10::Allocator& host, std::size_t bytes, int device) {
    const c10::StreamId stream = current_stream(accelerator().device(device));
    return TracedBlocks::instance().take(host, {device, stream, bytes});
}

bool free_traced(void* memory) { return TracedBlocks::instance().put_back(memory); }

std::optional<TracedBlock> traced_block(std::uintptr_t address) {
    std::optional<TracedBlock> block;
    TracedBlocks::instance().ask(address, [&](std::uintptr_t begin, const UsedBlock& used) {
        block = TracedBlock{begin, used.is_recycled, used.recorded};
    });
    return block;
}

void record_on_stream(const void* memory, c10::StreamId stream) {
    TracedBlocks::instance().ask(TracedBlocks::address(memory),
                                 [&](std::uintptr_t, UsedBlock& used) {
                                     if (std::ranges::count(used.recorded, stream) == 0)
                                         used.recorded.push_back(stream);
                                 });
}

}  // namespace compat::shim::simulate
