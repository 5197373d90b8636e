#include "runner/analysis/device_ids.h"

#include <cctype>

namespace compat::analysis {

namespace {

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

}  // namespace

std::string without_device(std::string_view id, std::string_view device) {
    constexpr std::string_view kPlace = "{device}", kFirst = ":0";
    const std::size_t parameters = id.ends_with(']') ? id.rfind('[') : std::string_view::npos;
    if (parameters == std::string_view::npos || device.empty()) return std::string(id);
    std::string result(id.substr(0, parameters + 1));
    for (std::size_t at = parameters + 1; at < id.size();) {
        std::size_t end = at + device.size();
        const bool found = id.substr(at).starts_with(device) && !is_of_word(id[at - 1]);
        if (found && id.substr(end).starts_with(kFirst) && !is_of_word(id[end + kFirst.size()]))
            end += kFirst.size();
        if (found && !is_of_word(id[end]) && id[end] != ':') {
            result += kPlace;
            at = end;
        } else {
            result += id[at++];
        }
    }
    return result;
}

}  // namespace compat::analysis
