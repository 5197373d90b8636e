// Counts allocated and freed memory, from any thread. It keeps no list of live blocks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace compat::shim {

// A Counter's figures, of bytes or of blocks.
struct Figure {
    std::int64_t current = 0, peak = 0;     // the peak since the last reset
    std::int64_t allocated = 0, freed = 0;  // since the last reset of them
};

// On the path of every op that makes a tensor: one addition at allocation, one at free.
class Counter {
  public:
    void add(std::int64_t amount) noexcept {
        const auto allocated = allocated_.fetch_add(amount, kRelaxed) + amount;
        const auto now = allocated - freed_.load(kRelaxed);
        auto peak = peak_.load(kRelaxed);
        while (peak < now && !peak_.compare_exchange_weak(peak, now, kRelaxed))
            ;
    }
    void remove(std::int64_t amount) noexcept { freed_.fetch_add(amount, kRelaxed); }
    void reset_peak() noexcept { peak_.store(figure().current); }
    void reset_accumulated() noexcept {
        freed_before_.store(freed_.load());
        allocated_before_.store(allocated_.load());
    }
    [[nodiscard]] Figure figure() const noexcept {
        // In this order: whatever is freed in between was allocated before.
        const auto freed = freed_.load();
        const auto allocated = allocated_.load();
        return {allocated - freed, std::max(allocated - freed, peak_.load()),
                allocated - allocated_before_.load(), freed - freed_before_.load()};
    }

  private:
    static constexpr auto kRelaxed = std::memory_order_relaxed;
    std::atomic<std::int64_t> allocated_{0}, freed_{0}, peak_{0};
    std::atomic<std::int64_t> allocated_before_{0}, freed_before_{0};  // the last reset
};

}  // namespace compat::shim
