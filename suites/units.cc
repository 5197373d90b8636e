#include "suites/units.h"

#include <array>
#include <charconv>

namespace compat::suites {

namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

// Largest first, the order in which text must have them.
constexpr std::array<Unit, 4> kTimes{{{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::array<Unit, 4> kSizes{
    {{"GiB", 1ull << 30}, {"MiB", 1ull << 20}, {"KiB", 1ull << 10}, {"B", 1}}};

// With at most nine digits, no sum overflows 64 bits.
constexpr std::size_t kMaxDigits = 9;

std::optional<std::uint64_t> sum(std::string_view text, const std::array<Unit, 4>& units,
                                 bool several) {
    std::uint64_t total = 0;
    std::size_t next = 0;  // the first unit that may follow
    while (!text.empty()) {
        const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
        if (digits == 0 || digits > kMaxDigits) return std::nullopt;
        std::uint64_t number = 0;
        std::from_chars(text.data(), text.data() + digits, number);
        text.remove_prefix(digits);
        const std::string_view name = text.substr(0, text.find_first_of("0123456789"));
        while (next < units.size() && units[next].name != name) ++next;
        if (next == units.size()) return std::nullopt;
        total += number * units[next++].factor;
        text.remove_prefix(name.size());
        if (!several && !text.empty()) return std::nullopt;
    }
    return total == 0 ? std::nullopt : std::optional(total);
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
    const auto total = sum(text, kTimes, true);
    if (!total) return std::nullopt;
    return std::chrono::milliseconds(static_cast<std::int64_t>(*total));
}

std::optional<std::uint64_t> parse_size(std::string_view text) { return sum(text, kSizes, false); }

}  // namespace compat::suites
