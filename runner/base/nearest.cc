#include "runner/base/nearest.h"

#include <algorithm>
#include <utility>

namespace compat {

namespace {

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + cost});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

std::vector<std::string> nearest(std::string_view wanted, std::span<const std::string> known,
                                 std::size_t max) {
    const std::string word = lower(wanted);
    const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
    std::vector<std::pair<std::size_t, std::string_view>> found;
    for (const std::string& candidate : known) {
        const std::size_t longer = std::max(candidate.size(), word.size());
        const std::size_t shorter = std::min(candidate.size(), word.size());
        if (longer - shorter > limit) continue;
        const std::size_t distance = edit_distance(word, lower(candidate));
        if (distance <= limit) found.emplace_back(distance, candidate);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> words;
    for (const auto& [distance, candidate] : found) {
        if (words.size() == max || distance > found.front().first + 2) break;
        if (std::find(words.begin(), words.end(), candidate) == words.end())
            words.emplace_back(candidate);
    }
    return words;
}

std::string did_you_mean(std::span<const std::string> words) {
    if (words.empty()) return {};
    std::string text = "did you mean ";
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
        text += '"' + words[i] + '"';
    }
    return text + '?';
}

}  // namespace compat
