#include "runner/store/subset.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace compat::store {

namespace {

constexpr std::string_view kKeyword = "-k", kOptions = "--";

// Options of a run that take no value.
constexpr std::array<std::string_view, 15> kSwitches{
    "-q",           "--quiet",     "-v",        "-vv",           "--verbose",
    "-x",           "--exitfirst", "--dry-run", "--flaky-fails", "--network",
    "--keep-going", "--diagnose",  "--github",  "--mac-like",    "--masquerade"};

// Commands that stored runs and chose no tests.
constexpr std::array<std::string_view, 4> kWhole{"import", "merge", "nightly", "resume"};

bool is_switch(std::string_view word) {
    return word.starts_with("--no-") || std::ranges::count(kSwitches, word) > 0;
}

// "tests" has "tests/test_a.py"; "a.py::A" has "a.py::A::test_x" and "a.py::A[1]".
bool is_below(std::string_view id, std::string_view target) {
    if (!id.starts_with(target)) return false;
    const std::string_view rest = id.substr(target.size());
    return rest.empty() || rest.starts_with('/') || rest.starts_with("::") || rest.starts_with('[');
}

}  // namespace

Subset options_in(const Subset& subset) {
    return {std::find(subset.begin(), subset.end(), kOptions), subset.end()};
}

bool chooses_tests(const Subset& subset) { return !subset.empty() && subset.front() != kOptions; }

bool asks_for(const Subset& subset, std::string_view id, bool has_module) {
    if (subset.empty()) return true;
    if (std::ranges::count(subset, kKeyword) + std::ranges::count(subset, kOptions) > 0)
        return false;
    const bool by_test = std::ranges::any_of(
        subset, [](const std::string& target) { return target.find("::") != std::string::npos; });
    // A target's file is there under another name where its tests are: tests.test_a, test_a.py.
    if (has_module && !by_test) return true;
    return std::ranges::any_of(
        subset, [&](std::string_view target) { return target == "." || is_below(id, target); });
}

Subset subset_of_older_run(const std::vector<std::string>& argv) {
    const auto options = std::find(argv.begin(), argv.end(), kOptions);
    std::vector<std::string> words(argv.empty() ? argv.begin() : argv.begin() + 1, options);
    const std::string command = words.empty() ? "" : words.front();
    if (command == "rerun") return {"rerun"};  // of tests that its run's files name
    if (std::ranges::count(kWhole, command) > 0) return {};
    if (command == "run") words.erase(words.begin());
    bool has_suite = false;
    std::set<std::string> targets;
    Subset keyword;
    for (auto word = words.begin(); word != words.end(); ++word) {
        if (!word->starts_with('-')) {
            if (std::exchange(has_suite, true)) targets.insert(*word);
        } else if (word->find('=') == std::string::npos && !is_switch(*word) &&
                   word + 1 != words.end()) {
            if (*word == kKeyword) keyword = {*word, *(word + 1)};
            ++word;
        }
    }
    Subset subset(targets.begin(), targets.end());
    subset.insert(subset.end(), keyword.begin(), keyword.end());
    subset.insert(subset.end(), options, argv.end());
    return subset;
}

}  // namespace compat::store
