// The name of the folder that holds a run's private copy of a source: PLACE/kSourceCopies/ROOT is
// the copy of /ROOT. Paths in it are shown as those of the source. Not here: making the copy
// (runner/run/isolation).
#pragma once

#include <string>
#include <string_view>

namespace compat {

inline constexpr std::string_view kSourceCopies = ".private-source";

// The text with the paths of sources in place of those of their copies.
[[nodiscard]] inline std::string with_source_paths(std::string_view text) {
    constexpr std::string_view kEndsPath = " \t\r\n\"'`()<>[]{},;=:|";
    std::string out;
    for (auto at = text.find(kSourceCopies); at != text.npos; at = text.find(kSourceCopies)) {
        const auto begin = text.substr(0, at).find_last_of(kEndsPath);
        out += text.substr(0, begin == text.npos ? 0 : begin + 1);
        text.remove_prefix(at + kSourceCopies.size());
    }
    return out += text;
}

}  // namespace compat
