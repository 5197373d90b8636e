#include "parsers/import/unittest/event.h"

#include <algorithm>
#include <array>

#include "parsers/import/fields.h"
#include "parsers/import/lines.h"
#include "parsers/pattern.h"
#include "parsers/python_repr.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

using LineKind = UnittestEvent::Kind;

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

// Words of this form can be a test's, with a module, or a fixture's.
bool names_test(const UnittestHeader& header) {
    if (header.qualified[0] >= '0' && header.qualified[0] <= '9') return false;  // "ok (0.012s)"
    return header.qualified.find('.') != std::string_view::npos ||
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

UnittestEvent unittest_event_of(std::string_view line) {
    UnittestEvent event{.kind = LineKind::blank, .line = line};
    if (line.empty()) return event;
    event.kind = line == kRule ? LineKind::rule : LineKind::double_rule;
    if (line == kRule || line == kDoubleRule || is_test(event)) return event;
    event = {.line = line};
    const auto may_begin = [&](std::string_view first) {
        return first.find(line[0]) < first.size();
    };
    if ((may_begin(" oFEseu") && is_status(event)) || (may_begin("EFU") && is_title(event)))
        return event;
    event = {.line = line};
    if (line.starts_with("Ran ")) event.kind = LineKind::ran;
    if (line.starts_with("Running ")) event.file = announced_file(line);
    if (!event.file.empty()) event.kind = LineKind::announced;
    return event;
}

}  // namespace compat::parsers
