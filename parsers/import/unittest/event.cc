#include "parsers/import/unittest/event.h"

#include <algorithm>
#include <array>
#include <utility>

#include "parsers/text.h"

namespace compat::parsers {

namespace {

using LineKind = UnittestEvent::Kind;

struct FixedLine {
    std::string_view line;
    LineKind kind;
};
constexpr std::array<FixedLine, 7> kFixedLines{{
    {"", LineKind::blank},
    {kRule, LineKind::rule},
    {kDoubleRule, LineKind::double_rule},
    {"Stdout:", LineKind::captured},
    {"Stderr:", LineKind::captured},
    {"Slowest test durations", LineKind::durations},
    {"Running tests...", LineKind::begins},
}};

struct TitleWord {
    std::string_view word;
    State state;
};
constexpr std::array<TitleWord, 3> kTitles{{
    {"ERROR", State::errored},
    {"FAIL", State::failed},
    {"UNEXPECTED SUCCESS", State::xpassed},
}};

// Words of this form can be a test's: with a module, a fixture's, or of a function.
bool names_test(const UnittestHeader& header) {
    if (header.qualified[0] >= '0' && header.qualified[0] <= '9') return false;  // "ok (0.012s)"
    return header.qualified.find('.') != std::string_view::npos ||
           header.method.find('.') != std::string_view::npos ||
           unittest_fixture_of(header.method) != nullptr;
}

bool is_test(UnittestEvent& event, std::string_view line) {
    const auto header = header_of(line);
    if (!header || !names_test(*header)) return false;
    if (!header->rest.empty() && !header->rest.starts_with(kEllipsis)) return false;
    event.kind = header->rest.empty() ? LineKind::heading : LineKind::test;
    event.header = header;
    if (event.kind == LineKind::test) event.rest = header->rest.substr(kEllipsis.size());
    return true;
}

// unittest-xml-reporting indents its tests, unittest the sub-tests that broke.
bool is_indented(UnittestEvent& event) {
    constexpr std::string_view kIndent = "  ";
    if (!event.line.starts_with(kIndent)) return false;
    const std::string_view line = event.line.substr(kIndent.size());
    if (is_test(event, line)) return true;
    const auto header = header_of(line);
    if (!header || !names_test(*header)) return false;
    const size_t dots = header->rest.rfind(kEllipsis);
    if (dots == std::string_view::npos) return false;
    event.status = unittest_status_of(header->rest.substr(dots + kEllipsis.size()));
    event.rest = trimmed(header->rest.substr(0, dots));
    if (!event.status || event.rest.empty()) return false;
    event.kind = LineKind::subtest;
    event.header = header;
    return true;
}

// "FAIL: test_x (m.A.test_x)", of unittest-xml-reporting "ERROR [0.003s]: …".
bool is_title(UnittestEvent& event) {
    for (const TitleWord& known : kTitles) {
        if (!event.line.starts_with(known.word)) continue;
        std::string_view rest = event.line.substr(known.word.size());
        UnittestStatus status{known.state, {}, 0};
        if (const size_t close = rest.find("]: ");
            rest.starts_with(" [") && close != std::string_view::npos) {
            const auto seconds = seconds_of(rest.substr(2, close - 2));
            if (!seconds) return false;
            status.duration_s = *seconds;
            rest.remove_prefix(close + 1);
        }
        if (!rest.starts_with(": ")) return false;
        event.kind = LineKind::title;
        event.rest = rest.substr(2);
        event.status = std::move(status);
        event.header = header_of(event.rest);
        return true;
    }
    return false;
}

bool is_status(UnittestEvent& event) {
    event.status = unittest_status_of(trimmed(event.line));
    if (event.status) event.kind = LineKind::status;
    return event.status.has_value();
}

bool is_ran(UnittestEvent& event) {
    if (!event.line.starts_with("Ran ") || event.line.find(" in ") == std::string_view::npos)
        return false;
    event.kind = LineKind::ran;
    return true;
}

// "Running distributed/test_ops 1/2 ... [2024-05-01 12:34:56.123456]".
bool is_announced(UnittestEvent& event) {
    event.rest = announced_file(event.line);
    if (!event.rest.empty()) event.kind = LineKind::announced;
    return !event.rest.empty();
}

bool is_duration(UnittestEvent& event) {
    const size_t blank = event.line.find(' ');
    if (event.line[0] < '0' || event.line[0] > '9' || blank == std::string_view::npos) return false;
    const auto seconds = seconds_of(event.line.substr(0, blank));
    const auto header = seconds ? header_of(trimmed(event.line.substr(blank))) : std::nullopt;
    if (!header) return false;
    event.kind = LineKind::duration;
    event.header = header;
    event.seconds = *seconds;
    return true;
}

bool is_characters(UnittestEvent& event) {
    if (!std::all_of(event.line.begin(), event.line.end(), is_unittest_progress)) return false;
    event.kind = LineKind::characters;
    return true;
}

bool is_unindented_test(UnittestEvent& event) { return is_test(event, event.line); }

constexpr std::array<bool (*)(UnittestEvent&), 8> kRecognisers{
    is_unindented_test, is_indented, is_status,    is_title, is_ran,
    is_announced,       is_duration, is_characters};

}  // namespace

std::string_view announced_file(std::string_view line) {
    constexpr std::string_view kRunning = "Running ";
    if (!line.starts_with(kRunning) || !line.ends_with(']')) return {};
    const size_t time = line.rfind(" ... [");
    if (time == std::string_view::npos || time < kRunning.size()) return {};
    const std::string_view file = line.substr(kRunning.size(), time - kRunning.size());
    return file.substr(0, file.find(' '));
}

UnittestEvent unittest_event_of(std::string_view line) {
    UnittestEvent event{.line = line};
    for (const FixedLine& known : kFixedLines)
        if (line == known.line) {
            event.kind = known.kind;
            return event;
        }
    (void)std::any_of(kRecognisers.begin(), kRecognisers.end(),
                      [&](auto* is_it) { return is_it(event); });
    return event;
}

}  // namespace compat::parsers
