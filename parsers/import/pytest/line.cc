#include "parsers/import/pytest/line.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "parsers/import/unittest/status.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

struct OutcomeWord {
    std::string_view word;
    State state;
};
constexpr std::array<OutcomeWord, 6> kOutcomeWords{{
    {"PASSED", State::passed},
    {"FAILED", State::failed},
    {"ERROR", State::errored},
    {"SKIPPED", State::skipped},
    {"XFAIL", State::xfailed},
    {"XPASS", State::xpassed},
}};

struct ProgressCharacter {
    char character;
    State state;
};
constexpr std::array<ProgressCharacter, 6> kCharacters{{
    {'.', State::passed},
    {'F', State::failed},
    {'E', State::errored},
    {'s', State::skipped},
    {'x', State::xfailed},
    {'X', State::xpassed},
}};
// Those of sub-tests and of tests that run again.
constexpr std::string_view kOtherCharacters = ",u-R";

// How far from the end of a line its outcome is looked for, so that a line of any length costs no
// more than a terminal's.
constexpr size_t kWidestStatus = 2000;

bool is_progress(char c) {
    return pytest_state_of(c) || kOtherCharacters.find(c) != std::string_view::npos;
}

// "804.9us", "12.300s", "59m": a part of what `console_output_style=times` prints.
bool is_time(std::string_view text) {
    constexpr std::array<std::string_view, 5> kUnits{"us", "ms", "s", "m", "h"};
    const size_t unit = text.find_first_not_of("0123456789.");
    return unit != 0 && unit != std::string_view::npos &&
           std::find(kUnits.begin(), kUnits.end(), text.substr(unit)) != kUnits.end();
}

// " 33%" of "[ 33%]", and of `console_output_style=count` " 3/12".
bool is_progress_inside(std::string_view text) {
    if (text.ends_with('%')) return number_of(trimmed(text.substr(0, text.size() - 1))).has_value();
    const size_t slash = text.find('/');
    return slash != std::string_view::npos && number_of(trimmed(text.substr(0, slash))) &&
           number_of(text.substr(slash + 1));
}

// Without "   [ 33%]", "  [ 3/12]", " 804.9us" or " 1m 30s" at the end.
std::string_view without_progress(std::string_view line) {
    line = trimmed(line);
    if (line.ends_with(']')) {
        const size_t open = line.rfind('[');
        if (open == std::string_view::npos || open == 0 || line[open - 1] != ' ') return line;
        const bool is_it = is_progress_inside(line.substr(open + 1, line.size() - open - 2));
        return is_it ? trimmed(line.substr(0, open)) : line;
    }
    for (int parts = 0; parts < 2; ++parts) {
        const size_t blank = line.rfind(' ');
        if (blank == std::string_view::npos || !is_time(line.substr(blank + 1))) break;
        line = trimmed(line.substr(0, blank));
    }
    return line;
}

// As pytest_status_of(), without any progress after it.
std::optional<PytestStatus> bare_status_of(std::string_view text) {
    // Of PyTorch's own plugin, behind the reason.
    if (text.ends_with("s]") && text.find(") [") != std::string_view::npos) {
        const size_t open = text.rfind(") [");
        const auto seconds = seconds_of(text.substr(open + 3, text.size() - open - 4));
        auto status = seconds ? bare_status_of(text.substr(0, open + 1)) : std::nullopt;
        if (status) status->duration_s = *seconds;
        return status;
    }
    for (const OutcomeWord& known : kOutcomeWords) {
        if (!text.starts_with(known.word)) continue;
        std::string_view rest = text.substr(known.word.size());
        PytestStatus status{known.state, {}, 0};
        if (const size_t close = rest.find(']');
            rest.starts_with(" [") && close != std::string_view::npos) {
            const auto seconds = seconds_of(rest.substr(2, close - 2));
            if (!seconds) continue;
            status.duration_s = *seconds;
            rest.remove_prefix(close + 1);
        }
        if (rest.empty()) return status;
        if (rest.size() > 3 && rest.starts_with(" (") && rest.ends_with(')')) {
            status.reason = valid_utf8(rest.substr(2, rest.size() - 3));
            return status;
        }
    }
    return std::nullopt;
}

// "[gw0] [ 50%] PASSED tests/a.py::test_x", with any progress or none.
std::optional<PytestNode> xdist_node(std::string_view line) {
    if (!line.starts_with("[gw")) return std::nullopt;
    size_t close = line.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    line = trimmed(line.substr(close + 1));
    if (line.starts_with('[')) {
        close = line.find("] ");
        if (close == std::string_view::npos || !is_progress_inside(line.substr(1, close - 1)))
            return std::nullopt;
        line = trimmed(line.substr(close + 1));
    }
    size_t blank = line.find(' ');
    for (; blank != std::string_view::npos && is_time(line.substr(0, blank));
         blank = line.find(' '))
        line = trimmed(line.substr(blank));
    if (blank == std::string_view::npos) return std::nullopt;
    auto status = pytest_status_of(line.substr(0, blank));
    const std::string_view node = trimmed(line.substr(blank));
    if (!status || node.find("::") == std::string_view::npos) return std::nullopt;
    return PytestNode{.node = node, .status = std::move(status), .of_worker = true};
}

// "SUBFAILED[message] (i=1)" and the like, since pytest 9.
bool is_subtest_outcome(std::string_view text) {
    constexpr std::array<std::string_view, 3> kOutcomes{"SUBFAILED", "SUBPASSED", "SUBSKIPPED"};
    return std::any_of(kOutcomes.begin(), kOutcomes.end(), [&](std::string_view word) {
        const std::string_view rest = text.substr(std::min(word.size(), text.size()));
        return text.starts_with(word) && (rest.starts_with('[') || rest.starts_with('('));
    });
}

PytestNode subtest_node(std::string_view name, std::string_view outcome) {
    PytestNode node{.node = name, .of_subtest = true};
    if (outcome.starts_with("SUBFAILED")) node.status = PytestStatus{State::failed, {}, 0};
    return node;
}

// What ends in ".py", ".yaml" and the like.
bool has_extension(std::string_view text) {
    const size_t dot = text.rfind('.');
    return dot != std::string_view::npos && dot > 0 && dot + 1 < text.size() &&
           std::isalpha(static_cast<unsigned char>(text[dot + 1])) != 0 &&
           text.find_first_of(" /", dot) == std::string_view::npos;
}

bool is_file(std::string_view text) {
    return has_extension(text) && text.find(' ') == std::string_view::npos;
}

std::optional<PytestSummary> subtest_summary_of(std::string_view line) {
    // Of the package pytest-subtests "[message] (i=1) SUBFAIL node - why", since pytest 9
    // "SUBFAILED[message] (i=1) node - why".
    constexpr std::string_view kFail = "SUBFAIL ";
    constexpr std::string_view kFailed = "SUBFAILED";
    PytestSummary summary{State::failed, {}, 0, true, {}};
    if (const size_t at = line.find(kFail);
        at != std::string_view::npos && (at == 0 || line[0] == '[' || line[0] == '(')) {
        summary.text = line.substr(at + kFail.size());
        summary.label = trimmed(line.substr(0, at));
    } else if (line.starts_with(kFailed)) {
        const size_t names = line.find("::");
        const size_t blank = line.rfind(' ', names);
        if (names == std::string_view::npos || blank == std::string_view::npos) return std::nullopt;
        summary.text = line.substr(blank + 1);
        summary.label = trimmed(line.substr(kFailed.size(), blank - kFailed.size()));
    } else {
        return std::nullopt;
    }
    return summary;
}

// "tests/a.py::test_x" of "at setup of tests/a.py::test_x", in the summary since pytest 9.
std::string_view without_phase(std::string_view text) {
    constexpr std::array<std::string_view, 2> kPhases{"at setup of ", "at teardown of "};
    for (const std::string_view phase : kPhases)
        if (text.starts_with(phase)) return text.substr(phase.size());
    return text;
}

// Where the parameters that begin at a bracket end, if a blank follows: at the first bracket that
// closes all, else at the last one.
std::optional<size_t> end_of_parameters(std::string_view line, size_t bracket) {
    std::optional<size_t> last;
    int depth = 0;
    for (size_t i = bracket; i + 1 < line.size(); ++i) {
        depth += line[i] == '[';
        if (line[i] != ']') continue;
        --depth;
        if (line[i + 1] != ' ') continue;
        last = i + 1;
        if (depth <= 0) break;
    }
    return last;
}

// "ValueError: why", "assert 1 == 2": how pytest's words on why a test failed begin.
bool is_crash_message(std::string_view why) {
    constexpr std::string_view kAssert = "assert ";
    if (why.starts_with(kAssert)) return true;
    const size_t end = std::find_if_not(why.begin(), why.end(),
                                        [](char c) {
                                            return std::isalnum(static_cast<unsigned char>(c)) ||
                                                   c == '_' || c == '.';
                                        }) -
                       why.begin();
    return end > 0 && (end == why.size() || why.substr(end).starts_with(": "));
}

}  // namespace

size_t end_of_result(std::string_view line) {
    constexpr std::string_view kFatal = "Fatal Python error: ";
    constexpr std::string_view kInternalError = "INTERNALERROR> ";
    constexpr std::string_view kTimeout = " Timeout ++";
    if (const size_t fatal = line.find(kFatal); fatal != std::string_view::npos) return fatal;
    if (line.ends_with("Traceback (most recent call last):"))
        return std::min(line.find(kInternalError), line.size());
    const size_t timeout = line.ends_with("+++") ? line.find(kTimeout) : std::string_view::npos;
    if (timeout == std::string_view::npos) return line.size();
    return line.find_last_not_of('+', timeout - 1) + 1;
}

std::optional<State> pytest_state_of(char progress) {
    for (const ProgressCharacter& known : kCharacters)
        if (known.character == progress) return known.state;
    return std::nullopt;
}

std::optional<PytestStatus> pytest_status_of(std::string_view text) {
    return bare_status_of(without_progress(text));
}

std::optional<PytestStatus> pytest_status_at_end(std::string_view line) {
    line = without_progress(line);
    line.remove_prefix(line.size() - std::min(line.size(), kWidestStatus));
    size_t begin = std::string_view::npos;
    for (const OutcomeWord& known : kOutcomeWords) {
        if (line.ends_with(known.word)) begin = line.size() - known.word.size();
        // Of what has a reason, where it begins: "SKIPPED (why)".
        if (!line.ends_with(')')) continue;
        for (size_t at = line.find(known.word); at != std::string_view::npos;
             at = line.find(known.word, at + 1))
            if (line.substr(at + known.word.size()).starts_with(" (")) {
                begin = std::min(begin, at);
                break;
            }
    }
    return begin == std::string_view::npos ? std::nullopt : bare_status_of(line.substr(begin));
}

std::optional<PytestStatus> pytest_status_at_start(std::string_view line) {
    for (const OutcomeWord& known : kOutcomeWords) {
        if (!line.starts_with(known.word)) continue;
        const std::string_view rest = line.substr(known.word.size());
        if (rest.empty()) return PytestStatus{known.state, {}, 0};
        if (const size_t close = rest.substr(0, kWidestStatus).rfind(')');
            rest.starts_with(" (") && close != std::string_view::npos)
            return bare_status_of(line.substr(0, known.word.size() + close + 1));
        // A line of a log that a test prints.
        const bool is_message = rest[0] == ' ' || rest[0] == ':';
        if (is_message && (known.state == State::failed || known.state == State::errored))
            return std::nullopt;
        return PytestStatus{known.state, {}, 0};
    }
    return std::nullopt;
}

std::optional<PytestStatus> pytest_status_within(std::string_view line) {
    const std::string_view text = line.substr(0, kWidestStatus);
    std::optional<size_t> last;
    for (const OutcomeWord& known : kOutcomeWords)
        if (const size_t at = text.rfind(known.word); at != std::string_view::npos)
            last = std::max(last.value_or(0), at);
    return last ? pytest_status_at_start(text.substr(*last)) : std::nullopt;
}

std::optional<PytestNode> pytest_node_of(std::string_view line) {
    const size_t names = line.find("::");
    if (names == std::string_view::npos || names == 0 || line[0] == ' ') return std::nullopt;
    if (auto node = xdist_node(line)) return node;
    const std::string_view file = line.substr(0, names);
    if (!has_extension(file)) return std::nullopt;
    const bool has_blank = file.find(' ') != std::string_view::npos;
    const std::string_view text = without_progress(line);
    const bool has_progress = text.size() < trimmed(line).size();
    // Python's names have no blanks but in their parameters: where no progress shows that a name
    // goes on to the outcome, what follows a blank is the test's own output.
    size_t name_ends = std::min(text.find(' ', names), text.size());
    if (const size_t bracket = text.find('[', names); bracket < name_ends)
        name_ends = end_of_parameters(text, bracket).value_or(text.size());
    const bool whole = has_progress || !file.ends_with(".py");
    const size_t first = std::max(names, text.size() - std::min(text.size(), kWidestStatus));
    for (size_t blank = text.find(' ', first); blank != std::string_view::npos;
         blank = text.find(' ', blank + 1)) {
        const std::string_view rest = text.substr(blank + 1);
        if (rest.starts_with("SUB") && is_subtest_outcome(rest))
            return subtest_node(text.substr(0, blank), rest);
        auto status = bare_status_of(rest);
        if (!status) continue;
        const bool of_another =
            blank > name_ends &&
            text.substr(name_ends, blank - name_ends).find(".py::") != std::string_view::npos;
        if (blank <= name_ends || (!of_another && (whole || text[blank - 1] == ']')))
            return PytestNode{.node = text.substr(0, blank), .status = std::move(status)};
        return PytestNode{.node = text.substr(0, name_ends),
                          .output = text.substr(name_ends + 1),
                          .unsure = true};
    }
    // pytest writes the id and a blank before the test runs.
    if (has_blank || name_ends == text.size())
        return !has_blank && line.size() > text.size() ? std::optional(PytestNode{.node = text})
                                                       : std::nullopt;
    return PytestNode{.node = text.substr(0, name_ends), .output = text.substr(name_ends + 1)};
}

std::optional<PytestCharacters> pytest_characters_of(std::string_view line) {
    if (line.empty() || line[0] == ' ') return std::nullopt;
    const std::string_view text = without_progress(line);
    const size_t blank = text.rfind(' ');
    const std::string_view characters =
        blank == std::string_view::npos ? text : text.substr(blank + 1);
    if (characters.empty() || !std::all_of(characters.begin(), characters.end(), is_progress))
        return std::nullopt;
    PytestCharacters found{.characters = characters};
    found.has_progress = line.back() == ']' && text.size() < line.size();
    found.is_last = found.has_progress && line.find("[100%]") != std::string_view::npos;
    if (blank == std::string_view::npos) return found;
    found.file = text.substr(0, blank);
    const bool named = found.has_progress ? has_extension(found.file) : is_file(found.file);
    return named ? std::optional(found) : std::nullopt;
}

size_t subtest_label(std::string_view text) {
    int depth = 0;
    for (size_t i = 0; i + 1 < text.size(); ++i) {
        if (text[i] == ' ' && depth == 0 && (text[i + 1] == '[' || text[i + 1] == '(')) return i;
        if (text[i] == '[') ++depth;
        if (text[i] == ']') --depth;
    }
    return text.size();
}

std::optional<PytestSummary> pytest_summary_of(std::string_view line) {
    if (auto sub = subtest_summary_of(line)) return sub;
    for (const OutcomeWord& known : kOutcomeWords) {
        if (!line.starts_with(known.word)) continue;
        std::string_view rest = line.substr(known.word.size());
        PytestSummary summary{known.state, {}, 0, false, {}};
        if (const size_t close = rest.find("] "); known.state == State::skipped &&
                                                  rest.starts_with(" [") &&
                                                  close != std::string_view::npos) {
            const auto count = number_of(rest.substr(2, close - 2));
            if (!count) return std::nullopt;
            summary.count = *count;
            rest.remove_prefix(close + 1);
        }
        if (rest.size() < 2 || rest[0] != ' ') return std::nullopt;
        summary.text = without_phase(rest.substr(1));
        return summary;
    }
    return std::nullopt;
}

SummaryText split_summary(State state, std::string_view text,
                          const std::function<bool(std::string_view)>& is_known) {
    constexpr std::string_view kDash = " - ";
    // Nothing follows the node of a test that passed.
    if (state == State::passed) return {text, {}};
    const size_t bracket = text.find('[');
    // Parameters may hold the dash; they end with a bracket before one.
    const bool in_brackets = bracket < text.find(kDash);
    const auto next_dash = [&](size_t from) {
        const size_t at = text.find(in_brackets ? "] - " : kDash, from);
        return at == std::string_view::npos ? at : at + in_brackets;
    };
    size_t dash = next_dash(in_brackets ? bracket : 0);
    if (dash != std::string_view::npos && !is_known(text.substr(0, dash))) {
        if (is_known(text)) return {text, {}};
        constexpr int kMostTries = 16;
        const size_t last = std::min(text.size(), kWidestStatus);
        std::optional<size_t> likely;
        size_t at = dash;
        for (int i = 0; i < kMostTries && at < last; ++i, at = next_dash(at + 1)) {
            if (is_known(text.substr(0, at))) {
                likely = at;
                break;
            }
            if (!likely && is_crash_message(text.substr(at + kDash.size()))) likely = at;
        }
        dash = likely.value_or(dash);
    }
    if (in_brackets && dash == std::string_view::npos && text.ends_with(']')) return {text, {}};
    if (dash != std::string_view::npos)
        return {text.substr(0, dash), text.substr(dash + kDash.size())};
    // Up to pytest 7 the reason follows after a blank.
    if (state != State::xpassed || is_known(text)) return {text, {}};
    const size_t blank = text.find(' ', bracket < text.find(' ') ? text.rfind(']') : 0);
    if (blank == std::string_view::npos) return {text, {}};
    return {text.substr(0, blank), trimmed(text.substr(blank))};
}

std::string_view pytest_ruled(std::string_view line, char rule) {
    if (line.size() < 5 || line.front() != rule || line.back() != rule) return {};
    const size_t begin = line.find_first_not_of(rule);
    if (begin == std::string_view::npos || line[begin] != ' ') return {};
    const size_t end = line.find_last_not_of(rule);
    if (end <= begin || line[end] != ' ') return {};
    const std::string_view text = trimmed(line.substr(begin, end - begin));
    return text.find_first_not_of("_ ") == std::string_view::npos ? std::string_view{} : text;
}

}  // namespace compat::parsers
