#include "runner/base/version.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace compat {

namespace {

// "2.13.0+cpu" as 2, 13, 0. `rest`: what follows the numbers, from its sign on.
std::vector<int> numbers_of(std::string_view version, std::string_view* rest = nullptr) {
    std::vector<int> numbers;
    const char* at = version.data();
    const char* const end = at + version.size();
    for (int number = 0; at < end; ++at) {
        const auto [next, error] = std::from_chars(at, end, number);
        if (error != std::errc{}) break;
        numbers.push_back(number);
        at = next;
        if (at == end || *at != '.') break;
    }
    if (rest != nullptr) *rest = {at, static_cast<std::size_t>(end - at)};
    return numbers;
}

// Its numbers without zeros at the end, its further public part ("rc1"), its build ("+cpu").
struct Release {
    std::vector<int> numbers;
    std::string_view suffix, build;
};
Release release_of(std::string_view version) {
    Release release;
    release.numbers = numbers_of(version, &release.suffix);
    while (!release.numbers.empty() && release.numbers.back() == 0) release.numbers.pop_back();
    const std::size_t plus = std::min(release.suffix.find('+'), release.suffix.size());
    release.build = release.suffix.substr(plus);
    release.suffix = release.suffix.substr(0, plus);
    return release;
}

}  // namespace

bool is_older(std::string_view version, std::string_view than) {
    return numbers_of(version) < numbers_of(than);
}

bool accepts_version(std::string_view wanted, std::string_view version) {
    const Release asked = release_of(wanted), had = release_of(version);
    return asked.numbers == had.numbers && asked.suffix == had.suffix &&
           (asked.build.empty() || asked.build == had.build);
}

}  // namespace compat
