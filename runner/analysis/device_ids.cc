#include "runner/analysis/device_ids.h"

#include <algorithm>
#include <cctype>

namespace compat::analysis {

namespace {

constexpr std::string_view kPlace = "{device}", kUpperPlace = "{DEVICE}", kFirst = ":0";

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// In parameters, after "[".
std::string in_parameters(std::string_view id, std::size_t from, std::string_view device) {
    std::string result;
    for (std::size_t at = from; at < id.size();) {
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

// `TestFooCPU::test_x_cpu_float32`, as torch's instantiate_device_type_tests names them: the class
// ends with the device, and the test has it as a word.
std::string in_names(std::string_view names, std::string_view device) {
    constexpr std::string_view kBetween = "::";
    std::string upper(device);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const std::size_t test = names.rfind(kBetween);
    if (test == std::string_view::npos || !names.substr(0, test).ends_with(upper))
        return std::string(names);
    const std::string word = "_" + std::string(device);
    std::size_t at = names.rfind(word);
    while (at != std::string_view::npos && at > test && at + word.size() < names.size() &&
           names[at + word.size()] != '_')
        at = names.rfind(word, at - 1);
    if (at == std::string_view::npos || at < test) return std::string(names);
    std::string result(names.substr(0, test - upper.size()));
    result.append(kUpperPlace).append(names.substr(test, at + 1 - test)).append(kPlace);
    return result.append(names.substr(at + word.size()));
}

}  // namespace

std::string without_device(std::string_view id, std::string_view device) {
    if (device.empty()) return std::string(id);
    const std::size_t bracket = id.ends_with(']') ? id.rfind('[') : std::string_view::npos;
    const std::size_t parameters = std::min(bracket, id.size());
    std::string result = in_names(id.substr(0, parameters), device);
    if (parameters == id.size()) return result;
    return result + '[' + in_parameters(id, parameters + 1, device);
}

}  // namespace compat::analysis
