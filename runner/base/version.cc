#include "runner/base/version.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>
#include <utility>
#include <vector>

namespace compat {

namespace {

// Its numbers without zeros at the end, its further public part ("rc1"), its build ("+cpu").
struct Release {
    std::vector<int> numbers;
    std::string_view suffix, build;
};
Release release_of(std::string_view version) {
    Release release;
    const char* at = version.data();
    const char* const end = at + version.size();
    for (int number = 0; at < end; ++at) {
        const auto [next, error] = std::from_chars(at, end, number);
        if (error != std::errc{}) break;
        release.numbers.push_back(number);
        at = next;
        if (at == end || *at != '.') break;
    }
    while (!release.numbers.empty() && release.numbers.back() == 0) release.numbers.pop_back();
    const std::string_view rest(at, static_cast<std::size_t>(end - at));
    const std::size_t plus = std::min(rest.find('+'), rest.size());
    release.suffix = rest.substr(0, plus);
    release.build = rest.substr(plus);
    return release;
}

// "rc1" as its place among the suffixes, and 1. A suffix that PEP 440 does not know counts as none.
std::pair<std::ptrdiff_t, int> place_of(std::string_view suffix) {
    constexpr std::array<std::string_view, 6> kInOrder{"dev", "a", "b", "rc", "", "post"};
    const std::size_t digits = std::min(suffix.find_first_of("0123456789"), suffix.size());
    auto found = std::ranges::find(kInOrder, suffix.substr(0, digits));
    if (found == kInOrder.end()) found = std::ranges::find(kInOrder, "");
    int number = 0;
    std::from_chars(suffix.data() + digits, suffix.data() + suffix.size(), number);
    return {found - kInOrder.begin(), number};
}

}  // namespace

bool is_older(std::string_view version, std::string_view than) {
    const Release a = release_of(version), b = release_of(than);
    return std::tuple(a.numbers, place_of(a.suffix)) < std::tuple(b.numbers, place_of(b.suffix));
}

bool accepts_version(std::string_view wanted, std::string_view version) {
    const Release asked = release_of(wanted), had = release_of(version);
    return asked.numbers == had.numbers && asked.suffix == had.suffix &&
           (asked.build.empty() || asked.build == had.build);
}

}  // namespace compat
