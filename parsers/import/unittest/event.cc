#include "parsers/import/unittest/event.h"

#include <algorithm>
#include <array>

#include "parsers/import/fields.h"
#include "parsers/import/lines.h"
#include "parsers/import/pattern.h"
#include "parsers/python_repr.h"
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

// The words with which a status or a title begins.
struct UnittestWord {
    std::string_view word;
    State state;
};
constexpr std::array<UnittestWord, 7> kUnittestStatuses{{
    {"ok", State::passed},
    {"FAIL", State::failed},
    {"ERROR", State::errored},
    {"skip", State::skipped},
    {"expected failure", State::xfailed},
    {"unexpected success", State::xpassed},
    {"UNEXPECTED SUCCESS", State::xpassed},
}};

constexpr std::string_view kUnittestCharacters = ".FEsxu";
constexpr std::array kCharacterStates{State::passed,  State::failed,  State::errored,
                                      State::skipped, State::xfailed, State::xpassed};

#define COMPAT_STATUS \
    R"(ok|FAIL|ERROR|expected failure|unexpected success|skipped '.*'|skipped ".*")"
#define COMPAT_SECONDS R"(([\d.]+)s)"

State state_of_word(std::string_view text) {
    return std::find_if(kUnittestStatuses.begin(), kUnittestStatuses.end(),
                        [&](const UnittestWord& known) { return text.starts_with(known.word); })
        ->state;
}

UnittestStatus status_in(std::string_view word, std::string_view seconds) {
    constexpr std::string_view kSkipped = "skipped ", kTimedSkip = "skip: ";
    UnittestStatus status{state_of_word(word), {}, file_seconds(seconds)};
    if (word.starts_with(kSkipped)) status.reason = unquoted_python(word.substr(kSkipped.size()));
    if (word.starts_with(kTimedSkip))
        status.reason = valid_utf8(trimmed(word.substr(kTimedSkip.size())));
    return status;
}

// Words of this form can be a test's: with a module, a fixture's, or of a function.
bool names_test(const UnittestHeader& header) {
    if (header.qualified[0] >= '0' && header.qualified[0] <= '9') return false;  // "ok (0.012s)"
    return header.qualified.find('.') != std::string_view::npos ||
           header.method.find('.') != std::string_view::npos ||
           unittest_fixture_of(header.method) != nullptr;
}

// unittest-xml-reporting indents its tests, unittest the sub-tests that have lines.
bool is_test(UnittestEvent& event) {
    const bool indented = event.line.starts_with("  ");
    const auto header = header_of(event.line.substr(indented ? 2 : 0));
    if (!header || !names_test(*header)) return false;
    event.header = header;
    event.kind = LineKind::heading;
    if (header->rest.empty()) return true;
    event.kind = LineKind::test;
    event.rest = header->rest.substr(std::min(kEllipsis.size(), header->rest.size()));
    if (header->rest.starts_with(kEllipsis)) return true;
    const size_t dots = header->rest.rfind(kEllipsis);
    if (!indented || dots == std::string_view::npos) return false;
    auto status = unittest_status_of(header->rest.substr(dots + kEllipsis.size()));
    event.rest = trimmed(header->rest.substr(0, dots));
    if (!status || event.rest.empty()) return false;
    event.kind = LineKind::subtest;
    event.status = std::move(*status);
    return true;
}

bool is_status(UnittestEvent& event) {
    auto status = unittest_status_of(trimmed(event.line));
    if (status) event.status = std::move(*status);
    event.kind = LineKind::status;
    return status.has_value();
}

// "FAIL: test_x (m.A.test_x)", of unittest-xml-reporting "ERROR [0.003s]: …".
bool is_title(UnittestEvent& event) {
    static const Pattern title("(ERROR|FAIL|UNEXPECTED SUCCESS)(?: \\[" COMPAT_SECONDS
                               "\\])?: (.*)");
    const auto found = title.match(event.line);
    if (!found) return false;
    event.kind = LineKind::title;
    event.status = status_in((*found)[1], (*found)[2]);
    event.rest = (*found)[3];
    event.header = header_of(event.rest);
    return true;
}

bool is_ran(UnittestEvent& event) {
    event.kind = LineKind::ran;
    return event.line.starts_with("Ran ");
}

bool is_announced(UnittestEvent& event) {
    event.kind = LineKind::announced;
    event.file = announced_file(event.line);
    return !event.file.empty();
}

bool is_duration(UnittestEvent& event) {
    static const Pattern duration(COMPAT_SECONDS " +(.*)");
    const auto found = duration.match(event.line);
    event.header = found ? header_of((*found)[2]) : std::nullopt;
    event.kind = LineKind::duration;
    if (event.header) event.seconds = file_seconds((*found)[1]);
    return event.header.has_value();
}

bool is_characters(UnittestEvent& event) {
    event.kind = LineKind::characters;
    return event.line.find_first_not_of(kUnittestCharacters) == std::string_view::npos;
}

// With the characters that the line may begin with; empty: any.
struct Recogniser {
    std::string_view first;
    bool (*is_it)(UnittestEvent&);
};
constexpr std::array<Recogniser, 7> kRecognisers{{
    {"", is_test},
    {" oFEseu", is_status},
    {"EFU", is_title},
    {"R", is_ran},
    {"R", is_announced},
    {"0123456789", is_duration},
    {kUnittestCharacters, is_characters},
}};

}  // namespace

std::optional<UnittestStatus> unittest_status_of(std::string_view text) {
    if (text == "ok") return UnittestStatus{State::passed, {}, 0};  // of nearly all tests
    static const Pattern status("(" COMPAT_STATUS ")(?: \\(" COMPAT_SECONDS "\\))?");
    static const Pattern timed_skip("(skip(?:: .*)?) \\(" COMPAT_SECONDS "\\)");
    auto found = status.match(text);
    if (!found && text.starts_with("skip")) found = timed_skip.match(text);
    return found ? std::optional(status_in((*found)[1], (*found)[2])) : std::nullopt;
}

std::optional<UnittestStatus> unittest_status_at_end(std::string_view line) {
    constexpr size_t kWidest = 2000;  // so that a line of any length costs no more
    static const Pattern status(".*(" COMPAT_STATUS ")(?: \\(" COMPAT_SECONDS "\\))?");
    constexpr std::string_view kLast = "kLRes'\")";
    if (line.empty() || kLast.find(line.back()) == std::string_view::npos) return std::nullopt;
    const auto found = status.match(line.substr(line.size() - std::min(line.size(), kWidest)));
    return found ? std::optional(status_in((*found)[1], (*found)[2])) : std::nullopt;
}

std::optional<State> unittest_state_of(char progress) {
    const size_t i = kUnittestCharacters.find(progress);
    return i == std::string_view::npos ? std::nullopt : std::optional(kCharacterStates[i]);
}

UnittestEvent unittest_event_of(std::string_view line) {
    for (const FixedLine& known : kFixedLines)
        if (line == known.line) return {.kind = known.kind, .line = line};
    for (const Recogniser& known : kRecognisers) {
        if (!known.first.empty() && known.first.find(line[0]) == std::string_view::npos) continue;
        UnittestEvent event{.line = line};
        if (known.is_it(event)) return event;
    }
    return {.line = line};
}

}  // namespace compat::parsers
