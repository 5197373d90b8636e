#include "runner/cli/options/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "runner/base/nearest.h"

namespace compat::cli {

Check in_range(std::int64_t least, std::int64_t most) {
    return [least, most](const std::string& text) -> std::string {
        std::int64_t number = 0;
        const char* const end = text.data() + text.size();
        const auto [read, error] = std::from_chars(text.data(), end, number);
        if (read != end || text.empty() || error == std::errc::invalid_argument)
            return fmt::format("\"{}\" is not a whole number ({} to {})", text, least, most);
        if (error == std::errc{} && number >= least && number <= most) return {};
        return fmt::format("{} is out of range ({} to {})", text, least, most);
    };
}

Check one_of(std::vector<std::string> words) {
    return [words = std::move(words)](const std::string& text) -> std::string {
        if (std::ranges::find(words, text) != words.end()) return {};
        const std::string guess = did_you_mean(nearest(text, words, 1));
        return fmt::format("\"{}\" is not allowed: {}{}use one of {}", text, guess,
                           guess.empty() ? "" : " ", fmt::join(words, ", "));
    };
}

}  // namespace compat::cli
