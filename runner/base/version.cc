#include "runner/base/version.h"

#include <charconv>
#include <vector>

namespace compat {

namespace {

// "2.13.0+cpu" as 2, 13, 0.
std::vector<int> numbers_of(std::string_view version) {
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
    return numbers;
}

}  // namespace

bool is_older(std::string_view version, std::string_view than) {
    return numbers_of(version) < numbers_of(than);
}

}  // namespace compat
