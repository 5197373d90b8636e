#include "runner/exec/darwin/process_arguments.h"

#include <algorithm>
#include <cstring>

namespace compat::exec {

ProcessArguments parse_process_arguments(std::string_view block) {
    ProcessArguments found;
    int count = 0;
    if (block.size() < sizeof count) return found;
    std::memcpy(&count, block.data(), sizeof count);
    block.remove_prefix(sizeof count);
    const auto next = [&] {
        const auto word = block.substr(0, block.find('\0'));
        block.remove_prefix(std::min(word.size() + 1, block.size()));
        return word;
    };
    (void)next();  // the executable's path
    block.remove_prefix(std::min(block.find_first_not_of('\0'), block.size()));
    while (count-- > 0 && !block.empty()) found.argv.emplace_back(next());
    // Behind the environment lie an empty word and strings for the dynamic loader.
    while (!block.empty()) {
        const auto word = next();
        if (word.empty()) break;
        found.environment.emplace_back(word);
    }
    return found;
}

}  // namespace compat::exec
