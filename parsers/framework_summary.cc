#include "parsers/framework_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "parsers/outcomes.h"
#include "parsers/pattern.h"
#include "parsers/text.h"
#include "parsers/unittest_header.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using Counts = std::vector<std::pair<std::string, std::int64_t>>;

// "1 failed, 2 passed" and "failures=1, skipped=2": pairs of `number` and its word.
Counts counts_in(std::string_view text) {
    static const Pattern part(R"((?:(\d+) ([a-z ]+)|([a-z ]+)=(\d+))(?:, |$))");
    Counts counts;
    while (const auto found = part.match_beginning(text)) {
        const auto& [all, number, word, other_word, other_number, _5, _6] = *found;
        std::string key(word.empty() ? other_word : word);
        if (key == "error" || key == "warning") key += 's';
        counts.emplace_back(std::move(key),
                            number_of(word.empty() ? other_number : number).value_or(0));
        text.remove_prefix(all.size());
    }
    return counts;
}

// The summary whose "Ran" line begins at `ran`.
std::optional<FoundSummary> unittest_summary_at(std::string_view log, size_t ran) {
    std::string_view before = log.substr(0, ran - (ran > 0));
    if (before.ends_with('\r')) before.remove_suffix(1);
    if (!before.ends_with(kRule)) return std::nullopt;
    const size_t rule = before.size() - kRule.size();
    Lines lines(log, ran);
    lines.next();
    const std::string_view first = lines.line();
    if (!lines.next() || !lines.line().empty() || !lines.next()) return std::nullopt;
    auto summary = read_unittest_summary(first, lines.line());
    if (!summary) return std::nullopt;
    return FoundSummary{.summary = std::move(*summary), .begin = rule, .end = lines.after()};
}

// After a summary that a test had printed, tests have lines yet.
bool tests_follow(std::string_view log, size_t from) {
    for (Lines lines(log, from); lines.next();) {
        const auto header = header_of(lines.line());
        if (header && header->rest.starts_with(kEllipsis)) return true;
    }
    return false;
}

// Whatever follows it.
std::optional<FoundSummary> last_unittest_summary(std::string_view log) {
    for (size_t at = log.size(); at > 0;) {
        at = log.rfind("\nRan ", at - 1);
        if (at == std::string_view::npos) return std::nullopt;
        if (auto found = unittest_summary_at(log, at + 1)) return found;
    }
    return std::nullopt;
}

std::optional<FoundSummary> find_unittest_summary(std::string_view log) {
    auto found = last_unittest_summary(log);
    return found && tests_follow(log, found->end) ? std::nullopt : found;
}

std::optional<FoundSummary> find_pytest_summary(std::string_view log) {
    for (size_t end = log.size(); end > 0;) {
        const size_t stop = log[end - 1] == '\n' ? end - 1 : end;
        const size_t newline = stop == 0 ? std::string_view::npos : log.rfind('\n', stop - 1);
        const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
        if (auto summary = read_pytest_summary(log.substr(begin, stop - begin)))
            return FoundSummary{.summary = std::move(*summary), .begin = begin, .end = end};
        end = begin;
    }
    return std::nullopt;
}

// Adds the counts of a line to those that are there.
void add(FrameworkSummary& to, std::string_view text, const Counts& counts) {
    to.text += (to.text.empty() ? "" : " ") + valid_utf8(text);
    for (const auto& [word, count] : counts) {
        const auto known = std::find_if(to.counts.begin(), to.counts.end(),
                                        [&](const auto& had) { return had.first == word; });
        if (known == to.counts.end())
            to.counts.emplace_back(word, count);
        else
            known->second += count;
    }
}

// "[==========] 5 tests from 2 test suites ran. (3 ms total)", "[  FAILED  ] 1 test, listed
// below:". The last ones of each start of the binary: the harness starts it more than once where
// its filter would be too long for one command line, and says so before each ("harness: invocation
// 2 of 3").
std::optional<FoundSummary> find_gtest_summary(std::string_view log) {
    static const Pattern ran(R"(\[==========\] (\d+) tests? from .* ran\..*)");
    static const Pattern counted(
        R"(\[  (PASSED |SKIPPED|FAILED ) ?\] (\d+) tests?(?:\.|, listed below:))");
    FoundSummary all, last;
    const auto end_invocation = [&] {
        if (!last.summary.ran) return false;
        all.summary.ran = all.summary.ran.value_or(0) + *last.summary.ran;
        add(all.summary, last.summary.text, last.summary.counts);
        all.begin = all.end == 0 ? last.begin : all.begin;
        all.end = last.end;
        last = {};
        return true;
    };
    bool invoked = false;
    for (Lines lines(log); lines.next();) {
        const std::string_view line = lines.line();
        if (line.starts_with("harness: invocation ")) {
            if (!end_invocation() && invoked) return std::nullopt;
            invoked = true;
        }
        if (!line.starts_with('[')) continue;
        if (const auto found = ran.match(line)) {
            last = {
                .summary = {.text = valid_utf8(line), .ran = number_of((*found)[1]), .counts = {}},
                .begin = lines.offset(),
                .end = lines.after()};
        } else if (const auto count = counted.match(line); count && last.summary.ran) {
            std::string word(trimmed((*count)[1]));
            for (char& c : word) c = static_cast<char>(std::tolower(c));
            add(last.summary, line, {{word, number_of((*count)[2]).value_or(0)}});
            last.end = lines.after();
        }
    }
    if (!end_invocation() && (invoked || !all.summary.ran)) return std::nullopt;
    return all;
}

// "67% tests passed, 1 tests failed out of 3". A line that a test printed has its number in front.
std::optional<FoundSummary> find_ctest_summary(std::string_view log) {
    static const Pattern failed(R"(\d+% tests passed, (\d+) tests? failed out of (\d+))");
    std::optional<FoundSummary> last;
    for (Lines lines(log); lines.next();)
        if (const auto found = failed.match(lines.line()))
            last = FoundSummary{{.text = valid_utf8(lines.line()),
                                 .ran = number_of((*found)[2]),
                                 .counts = {{"failed", number_of((*found)[1]).value_or(0)}}},
                                lines.offset(),
                                lines.after()};
    return last;
}

}  // namespace

std::optional<FrameworkSummary> read_pytest_summary(std::string_view line) {
    // A summary line is as wide as a terminal; a longer one need not be looked at.
    constexpr size_t kWidest = 2000;
    static const Pattern line_of_summary(
        R"(=* ?((?:\d{1,18} [a-z ]+(?:, \d{1,18} [a-z ]+)*|no tests ran)) in \d+\.\d+s(?: \(.*\))? ?=*)");
    if (line.size() > kWidest || line.find(" in ") == std::string_view::npos) return std::nullopt;
    const std::string plain = without_ansi(line);
    const std::string_view text = trimmed(plain);
    const auto found = line_of_summary.match(text);
    if (!found) return std::nullopt;
    return FrameworkSummary{.text = valid_utf8(text), .ran = {}, .counts = counts_in((*found)[1])};
}

std::optional<FrameworkSummary> read_unittest_summary(std::string_view ran,
                                                      std::string_view verdict) {
    static const Pattern tests(R"(Ran (\d{1,18}) tests? in .*s)");
    static const Pattern counts(
        R"((?:NO TESTS RAN|FAILED|OK)(?: \(([a-z ]+=\d{1,18}(?:, [a-z ]+=\d{1,18})*)\))?)");
    const auto count = tests.match(ran);
    const std::string plain = without_ansi(verdict);
    const auto found = count ? counts.match(plain) : std::nullopt;
    if (!found) return std::nullopt;
    return FrameworkSummary{.text = valid_utf8(fmt::format("{}: {}", ran, plain)),
                            .ran = number_of((*count)[1]),
                            .counts = counts_in((*found)[1])};
}

std::optional<FoundSummary> find_summary(std::string_view log, std::string_view framework) {
    const auto known = compat::framework_of(framework);
    if (!known) return std::nullopt;
    switch (*known) {
        case Framework::unittest:
            return find_unittest_summary(log);
        case Framework::pytest:
            return find_pytest_summary(log);
        case Framework::gtest:
            return find_gtest_summary(log);
        case Framework::ctest:
            return find_ctest_summary(log);
    }
    return std::nullopt;
}

std::optional<FoundSummary> find_contradiction(std::string_view log, const FrameworkSummary& own,
                                               std::string_view framework) {
    const FrameworkTraits* const traits = traits_of(framework);
    if (!traits || !traits->in_python) return std::nullopt;
    const auto words = counted_words(framework);
    const auto counts_alike = [&](const FrameworkSummary& other) {
        return other.ran == own.ran &&
               std::all_of(words.begin(), words.end(), [&](const CountedWord& known) {
                   return count_in(other, known.word) == count_in(own, known.word);
               });
    };
    std::optional<FoundSummary> last = find_summary(log, framework);
    const bool is_unittest = traits->framework == Framework::unittest;
    for (auto found = last; found;) {
        if (counts_alike(found->summary)) return std::nullopt;
        const std::string_view before = log.substr(0, found->begin);
        found = is_unittest ? last_unittest_summary(before) : find_pytest_summary(before);
    }
    return last;
}

std::int64_t count_in(const FrameworkSummary& summary, std::string_view word) {
    for (const auto& [key, count] : summary.counts)
        if (key == word) return count;
    return 0;
}

}  // namespace compat::parsers
