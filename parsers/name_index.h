// Finds places in a list by a name that stands in the list itself: nothing is copied. For lists of
// any size that are filled once a run and emptied as a whole.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace compat::parsers {

class NameIndex {
  public:
    // What a name is found by.
    [[nodiscard]] static std::uint32_t hash_of(std::string_view name) {
        return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
    }

    // The place added first under the name's hash for which `is_it(place)` holds; nullptr where
    // none is. What is behind the pointer may be set anew.
    template <class IsIt>
    [[nodiscard]] std::uint32_t* find(std::uint32_t hash, IsIt is_it) {
        if (slots_.empty()) return nullptr;
        for (size_t i = hash & mask();; i = (i + 1) & mask()) {
            Slot& slot = slots_[i];
            if (slot.place == kNone) return nullptr;
            if (slot.hash == hash && is_it(slot.place)) return &slot.place;
        }
    }

    void add(std::uint32_t hash, std::uint32_t place) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        put({hash, place});
        ++used_;
    }

    // Keeps room for as many as it held.
    void clear() {
        size_t room = 64;
        while (room < 2 * used_) room *= 2;
        slots_.assign(room, Slot{});
        used_ = 0;
    }

  private:
    static constexpr std::uint32_t kNone = UINT32_MAX;
    struct Slot {
        std::uint32_t hash = 0;
        std::uint32_t place = kNone;
    };

    [[nodiscard]] size_t mask() const { return slots_.size() - 1; }

    void put(Slot slot) {
        size_t i = slot.hash & mask();
        while (slots_[i].place != kNone) i = (i + 1) & mask();
        slots_[i] = slot;
    }

    void grow() {
        std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.place != kNone) put(slot);
    }

    std::vector<Slot> slots_;
    size_t used_ = 0;
};

}  // namespace compat::parsers
