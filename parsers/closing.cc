#include "parsers/closing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "parsers/import/unittest/header.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using Counts = std::vector<std::pair<std::string, std::int64_t>>;

// "failures=1, expected failures=2" into counts; nothing where a part is of another form.
std::optional<Counts> unittest_counts(std::string_view text) {
    Counts counts;
    while (!text.empty()) {
        const size_t comma = std::min(text.find(", "), text.size());
        const std::string_view part = text.substr(0, comma);
        const size_t equals = part.find('=');
        if (equals == std::string_view::npos) return std::nullopt;
        const auto value = number_of(part.substr(equals + 1));
        if (!value) return std::nullopt;
        counts.emplace_back(valid_utf8(part.substr(0, equals)), *value);
        text.remove_prefix(std::min(comma + 2, text.size()));
    }
    return counts;
}

// "Ran 3 tests in 0.001s": the 3.
std::optional<std::int64_t> tests_run(std::string_view line) {
    constexpr std::string_view kRan = "Ran ";
    if (!line.starts_with(kRan) || !line.ends_with('s')) return std::nullopt;
    line.remove_prefix(kRan.size());
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    const std::string_view rest = line.substr(blank);
    if (!rest.starts_with(" test in ") && !rest.starts_with(" tests in ")) return std::nullopt;
    return number_of(line.substr(0, blank));
}

// The verdict's line: "OK", "FAILED (failures=1)", "NO TESTS RAN (skipped=2)".
std::optional<Counts> verdict_counts(std::string_view line) {
    constexpr std::array<std::string_view, 3> kVerdicts{"NO TESTS RAN", "FAILED", "OK"};
    for (const std::string_view verdict : kVerdicts) {
        if (!line.starts_with(verdict)) continue;
        std::string_view rest = line.substr(verdict.size());
        if (rest.empty()) return Counts{};
        if (!rest.starts_with(" (") || !rest.ends_with(')')) return std::nullopt;
        return unittest_counts(rest.substr(2, rest.size() - 3));
    }
    return std::nullopt;
}

// The closing whose "Ran" line begins at `ran`.
std::optional<FoundClosing> unittest_closing_at(std::string_view log, size_t ran) {
    if (ran < kRule.size() + 1) return std::nullopt;
    size_t rule = ran - 1;  // the newline that ends the rule's line
    if (rule > 0 && log[rule - 1] == '\r') --rule;
    if (rule < kRule.size()) return std::nullopt;
    rule -= kRule.size();
    if (log.substr(rule, kRule.size()) != kRule) return std::nullopt;
    Lines lines(log, ran);
    lines.next();
    const std::string_view first = lines.line();
    if (!tests_run(first) || !lines.next() || !lines.line().empty() || !lines.next())
        return std::nullopt;
    auto closing = unittest_closing_of(first, lines.line());
    if (!closing) return std::nullopt;
    return FoundClosing{.closing = std::move(*closing), .begin = rule, .end = lines.after()};
}

std::optional<FoundClosing> last_printed_unittest_closing(std::string_view log) {
    for (size_t at = log.size(); at > 0;) {
        at = log.rfind("\nRan ", at - 1);
        if (at == std::string_view::npos) return std::nullopt;
        if (auto found = unittest_closing_at(log, at + 1)) return found;
    }
    return std::nullopt;
}

std::optional<FoundClosing> find_unittest_closing(std::string_view log) {
    auto found = last_printed_unittest_closing(log);
    if (!found) return std::nullopt;
    for (Lines lines(log, found->end); lines.next();) {
        const auto header = header_of(lines.line());
        if (header && header->rest.starts_with(kEllipsis)) return std::nullopt;
    }
    return found;
}

// "1 failed, 2 passed, 7 subtests passed, 1 error"; nothing where a part is of another form.
std::optional<Counts> pytest_counts(std::string_view text) {
    if (text == "no tests ran") return Counts{};
    Counts counts;
    while (!text.empty()) {
        const size_t comma = std::min(text.find(", "), text.size());
        const std::string_view part = text.substr(0, comma);
        const size_t blank = part.find(' ');
        if (blank == std::string_view::npos) return std::nullopt;
        const auto value = number_of(part.substr(0, blank));
        if (!value) return std::nullopt;
        std::string word = valid_utf8(part.substr(blank + 1));
        const bool is_word = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
            return (c >= 'a' && c <= 'z') || c == ' ';
        });
        if (!is_word) return std::nullopt;
        if (word == "error" || word == "warning") word += 's';
        counts.emplace_back(std::move(word), *value);
        text.remove_prefix(std::min(comma + 2, text.size()));
    }
    return counts;
}

// "0.12s" and "75.01s (0:01:15)".
bool is_pytest_time(std::string_view text) {
    if (const size_t more = text.find(" ("); more != std::string_view::npos) {
        if (!text.ends_with(')')) return false;
        text = text.substr(0, more);
    }
    if (!text.ends_with('s')) return false;
    text.remove_suffix(1);
    const size_t dot = text.find('.');
    return dot != std::string_view::npos && number_of(text.substr(0, dot)) &&
           number_of(text.substr(dot + 1));
}

std::optional<FoundClosing> find_pytest_closing(std::string_view log) {
    for (size_t end = log.size(); end > 0;) {
        const size_t stop = log[end - 1] == '\n' ? end - 1 : end;
        const size_t newline = stop == 0 ? std::string_view::npos : log.rfind('\n', stop - 1);
        const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
        const std::string_view line = log.substr(begin, stop - begin);
        // A closing line is as wide as a terminal; a longer one need not be looked at.
        constexpr size_t kWidest = 2000;
        if (line.size() < kWidest && line.find(" in ") != std::string_view::npos)
            if (auto closing = pytest_closing_of(line))
                return FoundClosing{.closing = std::move(*closing), .begin = begin, .end = end};
        end = begin;
    }
    return std::nullopt;
}

// "3" of "3 tests."; nothing where other words follow.
std::optional<std::int64_t> tests_in(std::string_view text, std::string_view one,
                                     std::string_view more) {
    const size_t blank = std::min(text.find(' '), text.size());
    const std::string_view rest = text.substr(blank);
    if (rest != one && rest != more) return std::nullopt;
    return number_of(text.substr(0, blank));
}

constexpr std::string_view kGtestRule = "[==========] ";

// "[==========] 5 tests from 2 test suites ran. (3 ms total)": the 5.
std::optional<std::int64_t> gtest_ran(std::string_view line) {
    if (!line.starts_with(kGtestRule)) return std::nullopt;
    line.remove_prefix(kGtestRule.size());
    const size_t blank = std::min(line.find(' '), line.size());
    const std::string_view rest = line.substr(blank);
    if (!rest.starts_with(" test from ") && !rest.starts_with(" tests from ")) return std::nullopt;
    if (rest.find(" ran.") == std::string_view::npos) return std::nullopt;
    return number_of(line.substr(0, blank));
}

struct GtestCount {
    std::string_view mark, one, more, word;
};
constexpr std::array<GtestCount, 4> kGtestCounts{{
    {"[  PASSED  ] ", " test.", " tests.", "passed"},
    {"[  SKIPPED ] ", " test, listed below:", " tests, listed below:", "skipped"},
    {"[  SKIPPED ] ", " test.", " tests.", "skipped"},  // --gtest_brief
    {"[  FAILED  ] ", " test, listed below:", " tests, listed below:", "failed"},
}};

// The last closing of the binary in this part of the log.
std::optional<FoundClosing> gtest_closing_in(std::string_view log, size_t begin, size_t end) {
    std::optional<FoundClosing> found;
    for (Lines lines(log.substr(0, end), begin); lines.next();) {
        if (const auto ran = gtest_ran(lines.line())) {
            found = FoundClosing{
                .closing = {.text = valid_utf8(lines.line()), .ran = ran, .counts = {}},
                .begin = lines.offset(),
                .end = lines.after()};
            continue;
        }
        if (!found) continue;
        for (const GtestCount& row : kGtestCounts) {
            if (!lines.line().starts_with(row.mark)) continue;
            const auto count = tests_in(lines.line().substr(row.mark.size()), row.one, row.more);
            if (!count) continue;
            found->closing.text += ' ' + valid_utf8(lines.line());
            found->closing.counts.emplace_back(std::string(row.word), *count);
            found->end = lines.after();
        }
    }
    return found;
}

void add(Closing& to, const Closing& more) {
    to.text += ' ' + more.text;
    *to.ran += *more.ran;
    for (const auto& [word, count] : more.counts) {
        const auto known = std::find_if(to.counts.begin(), to.counts.end(),
                                        [&](const auto& had) { return had.first == word; });
        if (known == to.counts.end())
            to.counts.emplace_back(word, count);
        else
            known->second += count;
    }
}

// The harness starts a binary more than once where its filter would be too long for one command
// line, and says so before each: "harness: invocation 2 of 3". Each closes for itself.
std::optional<FoundClosing> find_gtest_closing(std::string_view log) {
    constexpr std::string_view kInvocation = "harness: invocation ";
    const std::string line_start = fmt::format("\n{}", kInvocation);
    std::optional<FoundClosing> all;
    for (size_t begin = 0; begin < log.size();) {
        const size_t newline = log.find(line_start, begin);
        const size_t next = newline == std::string_view::npos ? log.size() : newline + 1;
        const auto found = gtest_closing_in(log, begin, next);
        if (found && all) {
            add(all->closing, found->closing);
            all->end = found->end;
        } else if (found) {
            all = found;
        } else if (log.substr(begin).starts_with(kInvocation)) {
            return std::nullopt;
        }
        begin = next;
    }
    return all;
}

// "67% tests passed, 1 tests failed out of 3". A line that a test printed has its number in front.
std::optional<Closing> ctest_closing_of(std::string_view line) {
    constexpr std::string_view kPassed = "% tests passed, ";
    constexpr std::string_view kFailed = " failed out of ";
    const size_t passed = line.find(kPassed);
    const size_t failed = line.find(kFailed);
    if (passed == std::string_view::npos || failed == std::string_view::npos) return std::nullopt;
    const size_t from = passed + kPassed.size();
    if (failed < from || !number_of(line.substr(0, passed))) return std::nullopt;
    const auto broken = tests_in(line.substr(from, failed - from), " test", " tests");
    const auto ran = number_of(line.substr(failed + kFailed.size()));
    if (!broken || !ran) return std::nullopt;
    return Closing{.text = valid_utf8(line), .ran = ran, .counts = {{"failed", *broken}}};
}

std::optional<FoundClosing> find_ctest_closing(std::string_view log) {
    std::optional<FoundClosing> last;
    for (Lines lines(log); lines.next();)
        if (auto closing = ctest_closing_of(lines.line()))
            last = FoundClosing{std::move(*closing), lines.offset(), lines.after()};
    return last;
}

}  // namespace

std::optional<Closing> pytest_closing_of(std::string_view line) {
    const std::string plain = without_ansi(line);
    std::string_view text = trimmed(plain);
    // With -q the same words stand without their frame.
    const size_t framed = text.find_first_not_of('=');
    if (framed == std::string_view::npos) return std::nullopt;
    if (framed > 0) {
        text = text.substr(framed, text.find_last_not_of('=') + 1 - framed);
        text = trimmed(text);
    }
    const size_t in = text.rfind(" in ");
    if (in == std::string_view::npos || !is_pytest_time(text.substr(in + 4))) return std::nullopt;
    auto counts = pytest_counts(text.substr(0, in));
    if (!counts) return std::nullopt;
    return Closing{.text = valid_utf8(trimmed(plain)), .ran = {}, .counts = std::move(*counts)};
}

std::optional<Closing> unittest_closing_of(std::string_view ran, std::string_view verdict) {
    const auto count = tests_run(ran);
    if (!count) return std::nullopt;
    auto counts = verdict_counts(verdict);
    if (!counts) return std::nullopt;
    return Closing{.text = valid_utf8(fmt::format("{}: {}", ran, verdict)),
                   .ran = count,
                   .counts = std::move(*counts)};
}

std::optional<FoundClosing> find_closing(std::string_view log, std::string_view framework) {
    const auto known = compat::framework_of(framework);
    if (!known) return std::nullopt;
    switch (*known) {
        case Framework::unittest:
            return find_unittest_closing(log);
        case Framework::pytest:
            return find_pytest_closing(log);
        case Framework::gtest:
            return find_gtest_closing(log);
        case Framework::ctest:
            return find_ctest_closing(log);
    }
    return std::nullopt;
}

std::int64_t count_in(const Closing& closing, std::string_view word) {
    for (const auto& [key, count] : closing.counts)
        if (key == word) return count;
    return 0;
}

}  // namespace compat::parsers
