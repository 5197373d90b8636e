#include "runner/base/run/subset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runner/base/names.h"

namespace compat {

namespace {

constexpr std::string_view kKeyword = "-k", kOptions = "--";
// The subset of an older `rerun`, whose tests stand in the files of its run alone.
constexpr std::string_view kRerun = "rerun";

// Commands before SUITE, and those that chose no tests.
constexpr std::array<std::string_view, 3> kCommands{"run", "plan", "porting"};
constexpr std::array<std::string_view, 3> kWhole{"import", "merge", "nightly"};

// Options of a run without a value, when runs did not have a subset yet.
constexpr std::array<std::string_view, 14> kSwitches{
    "-q",           "--quiet",       "-v",        "--verbose",        "-x",
    "--dry-run",    "--flaky-fails", "--github",  "--default-device", "--diagnose",
    "--keep-going", "--mac-like",    "--network", "--sanitize"};

// "tests.test_a.A.test_x": may name a class or a test.
bool is_dotted(std::string_view target) {
    return target.find('/') == std::string_view::npos && !target.ends_with(".py") &&
           target != "." && target.find('.') != std::string_view::npos;
}

}  // namespace

Subset make_subset(const std::vector<std::string>& targets, const std::string& keyword,
                   const std::vector<std::string>& options) {
    const std::set<std::string> sorted(targets.begin(), targets.end());
    Subset subset(sorted.begin(), sorted.end());
    if (!keyword.empty()) subset.insert(subset.end(), {std::string(kKeyword), keyword});
    if (!options.empty()) subset.emplace_back(kOptions);
    subset.insert(subset.end(), options.begin(), options.end());
    return subset;
}

Subset options_in(const Subset& subset) {
    return {std::find(subset.begin(), subset.end(), kOptions), subset.end()};
}

bool chooses_tests(const Subset& subset) { return !subset.empty() && subset.front() != kOptions; }

std::string describe_subset(const Subset& subset) {
    constexpr std::ptrdiff_t kTargets = 10;
    const auto options = std::find(subset.begin(), subset.end(), kOptions);
    const auto keyword = std::find(subset.begin(), options, kKeyword);
    const auto shown = subset.begin() + std::min(keyword - subset.begin(), kTargets);
    std::string words;
    if (options != subset.begin()) words = "only";
    if (shown != subset.begin()) words += " " + shell_quoted(std::vector(subset.begin(), shown));
    if (shown != keyword) words += fmt::format(" and {} more targets", keyword - shown);
    if (keyword != options) words += " " + shell_quoted(std::vector(keyword, options));
    if (options != subset.end())
        words += (words.empty() ? "" : ", ") + std::string("options ") +
                 shell_quoted(std::vector(options + 1, subset.end()));
    return words;
}

AskedFor::AskedFor(const Subset& subset)
    : all_(subset.empty() || std::ranges::count(subset, ".") > 0),
      none_(std::ranges::count(subset, kKeyword) + std::ranges::count(subset, kOptions) > 0),
      targets_(subset.begin(), subset.end()) {
    by_file_ = std::ranges::none_of(subset, [](std::string_view target) {
        return target == kRerun || target.find("::") != std::string_view::npos || is_dotted(target);
    });
}

bool AskedFor::operator()(std::string_view id, bool has_module) const {
    if (none_ || all_) return all_ && !none_;
    if (has_module && by_file_) return true;
    // "tests" has "tests/test_a.py"; "a.py::A" has "a.py::A::test_x" and "a.py::A[1]".
    for (std::size_t at = 0; at < id.size(); ++at)
        if ((id[at] == '/' || id[at] == '[' || id.substr(at).starts_with("::")) &&
            targets_.contains(id.substr(0, at)))
            return true;
    return targets_.contains(id);
}

bool had_no_value(std::string_view option) {
    return option.starts_with("--no-") || std::ranges::count(kSwitches, option) > 0;
}

Subset subset_of_older_run(const std::vector<std::string>& argv) {
    if (argv.size() < 2) return {};
    auto word = argv.begin() + 1;
    const auto options = std::find(word, argv.end(), kOptions);
    if (*word == kRerun) return {std::string(kRerun)};
    if (std::ranges::count(kWhole, *word) > 0) return {};
    if (std::ranges::count(kCommands, *word) > 0) ++word;
    std::vector<std::string> positional;
    std::string keyword;
    for (; word < options; ++word) {
        if (!word->starts_with('-')) {
            positional.push_back(*word);
        } else if (word->starts_with(kKeyword) && word->size() > kKeyword.size()) {
            keyword = word->substr(kKeyword.size());                                     // -kEXPR
        } else if (const bool has_value = !word->starts_with("--") && word->size() > 2;  // -j4
                   !has_value && word->find('=') == std::string::npos && !had_no_value(*word) &&
                   word + 1 < options) {
            if (*word++ == kKeyword) keyword = *word;
        }
    }
    if (!positional.empty()) positional.erase(positional.begin());  // SUITE
    return make_subset(positional, keyword,
                       {options == argv.end() ? options : options + 1, argv.end()});
}

}  // namespace compat
