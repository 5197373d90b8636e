#include "parsers/import/unittest/status.h"

#include <array>
#include <charconv>

#include "parsers/python_repr.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

struct StatusWord {
    std::string_view word;
    State state;
};
constexpr std::array<StatusWord, 5> kStatusWords{{
    {"ok", State::passed},
    {"FAIL", State::failed},
    {"ERROR", State::errored},
    {"expected failure", State::xfailed},
    {"unexpected success", State::xpassed},
}};
constexpr std::string_view kSkippedWord = "skipped ";
// unittest-xml-reporting's, which also says how long the test took.
constexpr std::string_view kTimedSkip = "skip";

struct UnittestCharacter {
    char character;
    State state;
};
constexpr std::array<UnittestCharacter, 6> kUnittestCharacters{{
    {'.', State::passed},
    {'F', State::failed},
    {'E', State::errored},
    {'s', State::skipped},
    {'x', State::xfailed},
    {'u', State::xpassed},
}};

bool is_quote(char c) { return c == '\'' || c == '"'; }

// Takes " (0.012s)" off the end; its seconds.
std::optional<double> take_duration(std::string_view& text) {
    if (!text.ends_with("s)")) return std::nullopt;
    const size_t open = text.rfind(" (");
    if (open == std::string_view::npos) return std::nullopt;
    const auto seconds = seconds_of(text.substr(open + 2, text.size() - open - 3));
    if (seconds) text = text.substr(0, open);
    return seconds;
}

std::optional<UnittestStatus> plain_status_of(std::string_view text) {
    for (const StatusWord& known : kStatusWords)
        if (text == known.word) return UnittestStatus{known.state, {}, 0};
    if (text.starts_with(kSkippedWord) && text.size() > kSkippedWord.size() + 1 &&
        is_quote(text[kSkippedWord.size()]) && text.back() == text[kSkippedWord.size()])
        return UnittestStatus{State::skipped, unquoted_python(text.substr(kSkippedWord.size())), 0};
    return std::nullopt;
}

}  // namespace

std::optional<double> seconds_of(std::string_view text) {
    if (!text.ends_with('s') || text.front() < '0' || text.front() > '9') return std::nullopt;
    text.remove_suffix(1);
    double seconds = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::fixed);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return seconds;
}

std::optional<UnittestStatus> unittest_status_of(std::string_view text) {
    const auto seconds = take_duration(text);
    auto status = plain_status_of(text);
    if (!status && seconds && text.starts_with(kTimedSkip)) {
        const std::string_view rest = text.substr(kTimedSkip.size());
        if (rest.empty() || rest.starts_with(": "))
            status = UnittestStatus{State::skipped,
                                    valid_utf8(trimmed(rest.substr(rest.empty() ? 0 : 2))), 0};
    }
    if (status) status->duration_s = seconds.value_or(0);
    return status;
}

std::optional<UnittestStatus> unittest_status_at_end(std::string_view line) {
    const auto seconds = take_duration(line);
    if (line.empty()) return std::nullopt;
    std::optional<UnittestStatus> status;
    if (is_quote(line.back()))
        if (const size_t at = line.rfind(kSkippedWord); at != std::string_view::npos)
            status = plain_status_of(line.substr(at));
    if (!status)
        for (const StatusWord& known : kStatusWords)
            if (line.ends_with(known.word)) {
                status = UnittestStatus{known.state, {}, 0};
                break;
            }
    if (status) status->duration_s = seconds.value_or(0);
    return status;
}

std::optional<State> unittest_state_of(char progress) {
    for (const UnittestCharacter& known : kUnittestCharacters)
        if (known.character == progress) return known.state;
    return std::nullopt;
}

}  // namespace compat::parsers
