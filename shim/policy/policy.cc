#include "policy/policy.h"

#include <cstddef>

namespace compat::shim {
namespace {

constexpr Place kSame = Place::unchanged;
constexpr Place kCpu = Place::cpu;
constexpr Place kMps = Place::mps;
constexpr Place kCuda = Place::cuda;
constexpr Place kOther = Place::accelerator;

// Rows: Requested, in its order. Columns: Host, in its order (mps, cuda, accelerator, cpu).
using Table = std::array<std::array<Place, kHosts.size()>, kRequested.size()>;

constexpr Table kFull{{
    {kMps, kCuda, kOther, kCpu},   // none
    {kMps, kCuda, kOther, kCpu},   // cpu
    {kCpu, kCpu, kCpu, kCpu},      // toggle
    {kSame, kCuda, kOther, kCpu},  // mps
    {kMps, kSame, kOther, kCpu},   // cuda
    {kMps, kSame, kOther, kCpu},   // integer
    {kSame, kSame, kSame, kSame},  // meta
    {kSame, kSame, kSame, kSame},  // other
}};

constexpr Table kMissing{{
    {kSame, kSame, kSame, kSame},  // none
    {kSame, kSame, kSame, kSame},  // cpu
    {kCpu, kCpu, kCpu, kCpu},      // toggle
    {kSame, kCuda, kOther, kCpu},  // mps
    {kMps, kSame, kOther, kCpu},   // cuda
    {kMps, kSame, kOther, kCpu},   // integer
    {kSame, kSame, kSame, kSame},  // meta
    {kSame, kSame, kSame, kSame},  // other
}};

template <class Enum>
constexpr std::size_t at(Enum value) {
    return static_cast<std::size_t>(value);
}

// The place that a request names; `unchanged` if it names none of the three.
constexpr Place own_place(Requested kind) {
    switch (kind) {
        case Requested::cpu:
        case Requested::toggle:
            return kCpu;
        case Requested::mps:
            return kMps;
        case Requested::cuda:
        case Requested::integer:
            return kCuda;
        case Requested::none:
        case Requested::meta:
        case Requested::other:
            return kSame;
    }
    return kSame;
}

// All but CUDA have one device: every index except 0 and "none given" becomes 0. CUDA keeps its
// index.
constexpr int folded(Place place, int index) { return place == kCuda || index < 0 ? index : 0; }

// Compares the decided place with the request. A request without a device that ends on the CPU is
// no change: torch would have done the same.
Answer decided(Request request, Place place, bool override_on, Change reason) {
    const int index = folded(place, request.index);
    const Place own = own_place(request.kind);
    const bool moved = own != place && !(request.kind == Requested::none && place == kCpu);
    const Change change = moved ? reason : index != request.index ? Change::fold : Change::none;
    return {place, index, change, override_on};
}

}  // namespace

Answer resolve(Request request, Host host, bool override_on, Mode mode) noexcept {
    if (request.kind == Requested::toggle) return {kCpu, -1, Change::override_, !override_on};
    const Table& table = mode == Mode::full ? kFull : kMissing;
    const bool is_a_place = request.kind != Requested::meta && request.kind != Requested::other;
    if (override_on && is_a_place) return decided(request, kCpu, true, Change::override_);
    const Place place = table[at(request.kind)][at(host)];
    if (place != kSame) return decided(request, place, override_on, Change::redirect);
    // The place stays; the index of a request for MPS or the CPU may still become 0.
    const Place own = own_place(request.kind);
    if (own == kSame || folded(own, request.index) == request.index)
        return {kSame, request.index, Change::none, override_on};
    return {own, folded(own, request.index), Change::fold, override_on};
}

std::string_view name_of(Mode mode) noexcept {
    static constexpr std::array<std::string_view, 2> names{"missing", "full"};
    return names[at(mode)];
}

std::string_view name_of(Host host) noexcept {
    static constexpr std::array<std::string_view, 4> names{"mps", "cuda", "accelerator", "cpu"};
    return names[at(host)];
}

const DeviceKind& kind_of(Host host) noexcept { return device_kind(name_of(host)); }

std::string_view name_of(Requested kind) noexcept {
    static constexpr std::array<std::string_view, 8> names{"none", "cpu",     "cpu:-1", "mps",
                                                           "cuda", "integer", "meta",   "other"};
    return names[at(kind)];
}

std::string_view name_of(Change change) noexcept {
    static constexpr std::array<std::string_view, 4> names{"none", "redirect", "fold", "override"};
    return names[at(change)];
}

std::optional<Mode> parse_mode(std::string_view text) noexcept {
    for (const Mode mode : kModes)
        if (name_of(mode) == text) return mode;
    return std::nullopt;
}

std::optional<Host> parse_host(std::string_view text) noexcept {
    for (const Host host : kHosts)
        if (name_of(host) == text) return host;
    return std::nullopt;
}

}  // namespace compat::shim
