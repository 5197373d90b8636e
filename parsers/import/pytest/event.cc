#include "parsers/import/pytest/event.h"

#include <algorithm>
#include <array>

#include "parsers/framework_summary.h"
#include "parsers/import/fields.h"
#include "parsers/import/lines.h"
#include "parsers/pattern.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

using PytestKind = PytestEvent::Kind;
using Groups = Pattern::Groups;

#define COMPAT_WORD R"((PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN))"
// The reason, and the time that PyTorch's own plugin prints, before or behind it.
#define COMPAT_OUTCOME COMPAT_WORD R"((?: \[([\d.]+)s\])?(?: \((.+)\))?(?: \[([\d.]+)s\])?)"
// "[ 33%]"; of `console_output_style` "[ 3/12]", "804.9us", "1m 30s".
#define COMPAT_TIME R"([\d.]+(?:us|ms|s|m|h))"
#define COMPAT_PROGRESS \
    R"(( +(?:\[ *\d+%\]|\[ *\d+/ *\d+\]|)" COMPAT_TIME "(?: " COMPAT_TIME R"()?))? *)"
#define COMPAT_FILE R"([^ :][^:]*\.\w+)"
// "SUBFAILED[message] (i=1)" of pytest since 9; "[message] (i=1) SUBFAIL" of pytest-subtests.
#define COMPAT_LABEL R"((\[.*?\](?: \(\w+=.*?\))?|\(\w+=.*?\)|\(<subtest>\)))"
#define COMPAT_SUBTEST \
    "(?:" COMPAT_LABEL " )?SUB(PASS|FAIL|SKIP|XFAIL|XPASS)(?:ED|PED)?" COMPAT_LABEL "?"
// Python's names have no blanks but in their parameters.
#define COMPAT_NAME R"(::[^ \[]*(?:\[.*\])?)"

struct PytestWord {
    std::string_view word;
    State state;
};
// How they begin: "PASSED", of a sub-test "PASS".
constexpr std::array<PytestWord, 7> kOutcomeWords{{
    {"PASS", State::passed},
    {"FAIL", State::failed},
    {"ERROR", State::errored},
    {"SKIP", State::skipped},
    {"XFAIL", State::xfailed},
    {"XPASS", State::xpassed},
    {"RERUN", State::not_run},
}};

// So that a line of any length costs no more than a terminal's.
constexpr size_t kWidest = 2000;

State state_of_outcome(std::string_view word) {
    return std::find_if(kOutcomeWords.begin(), kOutcomeWords.end(),
                        [&](const PytestWord& known) { return word.starts_with(known.word); })
        ->state;
}

PytestStatus status_of(std::string_view word, std::string_view reason = {},
                       std::string_view seconds = {}) {
    return {state_of_outcome(word), valid_utf8(reason), file_seconds(seconds)};
}

bool set_rest(PytestEvent& event, const Groups& found) {
    event.rest = found[1];
    return true;
}

bool set_name_and_rest(PytestEvent& event, const Groups& found) {
    event.name = found[1];
    event.rest = found[2];
    return true;
}

bool set_closing(PytestEvent& event, const Groups& found) {
    event.closing = read_pytest_summary(found[0]);
    event.framed = found[0].starts_with('=');
    return event.closing.has_value();
}

// Takes the first blank behind which all is an outcome. A name that is not plain needs the
// progress behind it, which shows that it is no output.
bool set_node(PytestEvent& event, const Groups&) {
    static const Pattern ending(" " COMPAT_OUTCOME COMPAT_PROGRESS "$");
    static const Pattern plain(COMPAT_FILE COMPAT_NAME);
    const std::string_view tail = ending.search_end(event.line);
    if (tail.empty()) return false;
    const std::string_view name = event.line.substr(0, event.line.size() - tail.size());
    const auto found = *ending.match(tail);
    if (!plain.match(name) &&
        (found[5].empty() || name.find(".py::", name.find(' ')) < name.size()))
        return false;
    event.name = name;
    event.status = status_of(found[1], found[3], found[2].empty() ? found[4] : found[2]);
    return true;
}

// A dying worker's output may follow on the same line.
bool set_worker(PytestEvent& event, const Groups& found) {
    const auto& [all, word, label, subtest, label_behind, node, _6] = found;
    const size_t dump = node.find(" Fatal Python error: ");
    if (word.empty()) event.kind = PytestKind::subtest;
    event.name = node.substr(0, dump < node.find('[') ? dump : node.size());
    event.rest = label.empty() ? label_behind : label;
    event.status = status_of(word.empty() ? subtest : word);
    return event.of_worker = true;
}

// Without a name behind what its test printed (-s).
bool set_subtest(PytestEvent& event, const Groups& found) {
    event.name = found[1];
    event.rest = found[2].empty() ? found[4] : found[2];
    event.status = status_of(found[3], found[5]);
    return !event.rest.empty();
}

bool set_outcome(PytestEvent& event, const Groups& found) {
    event.status = status_of(found[1], found[3], found[2].empty() ? found[4] : found[2]);
    return true;
}

bool set_announced(PytestEvent& event, const Groups& found) {
    event.file = announced_file(found[0]);
    return !event.file.empty();
}

// The forms of lines: the first that fits is taken. `first`: the characters that it may begin with;
// `needs`: what it holds; empty: anything. A rule is as wide as a terminal, or little wider.
struct LineForm {
    PytestKind kind;
    std::string_view first;
    std::string_view needs;
    bool (*set)(PytestEvent& event, const Groups& found);
    Pattern pattern;
    bool is_rule = false;
};

const std::array<LineForm, 18>& line_forms() {
    static const std::array<LineForm, 18> all{{
        {PytestKind::closing, "=n0123456789", " in ", set_closing, Pattern("=* ?(?:no|\\d).*"),
         true},
        {PytestKind::start, "", "= test session starts =", set_rest,
         Pattern("(.*?)=+ test session starts =+"), true},
        {PytestKind::heading, "=", "", set_rest, Pattern("=+ (.+?) =+"), true},
        {PytestKind::section, "_", "", set_rest, Pattern("_+ (.*[^_ ].*?) _+"), true},
        {PytestKind::captured, "-", "", set_rest, Pattern("-+ ((?:Captured|live log) .+?) -+"),
         true},
        {PytestKind::stopped, "!", "", set_rest, Pattern("!+ (.+?) !+"), true},
        {PytestKind::platform, "p", "", set_name_and_rest,
         Pattern("platform .* -- Python ([^ ,]+), pytest-([^ ,]+).*")},
        {PytestKind::root, "r", "", set_rest, Pattern("rootdir: (.+?)(?:, .*)?")},
        {PytestKind::internal, "", "INTERNALERROR>", set_rest, Pattern(".*?INTERNALERROR> ?(.*)")},
        {PytestKind::conftest, "I", "", set_rest,
         Pattern("(ImportError while loading conftest '.*)")},
        {PytestKind::collected, "c", "collected ", set_name_and_rest,
         Pattern("(?:collecting.*)?collected (\\d+) items?(.*)")},
        {PytestKind::workers, "g0123456789", "[", set_name_and_rest,
         Pattern("(?:gw0|\\d+ workers?) \\[(\\d+)( items?)?\\].*")},
        {PytestKind::announced, "R", "", set_announced, Pattern("Running .*")},
        {PytestKind::node, "[", "::", set_worker,
         Pattern("\\[gw\\d+\\] +(?:\\[[ \\d]+(?:%|/[ \\d]+)\\] +)?(?:" COMPAT_TIME
                 " +)*(?:" COMPAT_WORD "|" COMPAT_SUBTEST ") +([^ ].*::.+?) *")},
        {PytestKind::subtest, "", "SUB", set_subtest,
         Pattern("(?:(" COMPAT_FILE "::[^ \\[]*(?:\\[.*?\\])?) )?" COMPAT_SUBTEST
                 "(?: \\((.*)\\))?" COMPAT_PROGRESS)},
        {PytestKind::node, "", "::", set_node, Pattern(COMPAT_FILE "::.*")},
        // pytest writes the id and a blank before the test runs: what follows is its output.
        {PytestKind::node, "", "::", set_name_and_rest,
         Pattern("([^ :]+\\.\\w+::[^ \\[]*(?:\\[(?:[^\\[\\]]|\\[[^\\[\\]]*\\])*\\]|\\[.*?\\])?)(?: "
                 "(.*))?")},
        {PytestKind::outcome, " PFESX", "", set_outcome,
         Pattern(" *" COMPAT_OUTCOME COMPAT_PROGRESS)},
    }};
    return all;
}

}  // namespace

PytestEvent pytest_event_of(std::string_view line) {
    for (const LineForm& form : line_forms()) {
        if (line.empty() || (form.is_rule && line.size() > kWidest)) continue;
        if (!form.first.empty() && form.first.find(line[0]) == std::string_view::npos) continue;
        if (line.find(form.needs) == std::string_view::npos) continue;
        PytestEvent event{.kind = form.kind, .line = line};
        if (const auto found = form.pattern.match(line); found && form.set(event, *found))
            return event;
    }
    return {.line = line};
}

std::optional<PytestSummary> pytest_summary_of(std::string_view line) {
    static const Pattern test(COMPAT_WORD " (?:at (?:setup|teardown) of )?(.+)");
    static const Pattern subtest(COMPAT_SUBTEST R"( (\S+::.*))");
    // "SKIPPED [2] tests/test_a.py:4: why"; pytest-rerunfailures has a list of its own (-rR).
    if (line.starts_with("SKIPPED [") || line.starts_with("RERUN ")) return std::nullopt;
    if (const auto found = test.match(line))
        return PytestSummary{state_of_outcome((*found)[1]), std::string((*found)[2]), false, {}};
    const auto found = subtest.match(line);
    if (!found || (*found)[2] != "FAIL") return std::nullopt;
    const auto& [all, label, word, label_behind, text, _5, _6] = *found;
    return PytestSummary{State::failed, std::string(text), true,
                         valid_utf8(label.empty() ? label_behind : label)};
}

SummaryText split_summary(const PytestSummary& summary,
                          const std::function<bool(std::string_view)>& is_known) {
    constexpr int kMostTries = 16;
    constexpr std::string_view kDash = " - ";
    const std::string_view text = summary.text;
    // Nothing follows the node of a test that passed.
    if (summary.state == State::passed) return {text, {}};
    const size_t bracket = text.find('[');
    const bool in_brackets = bracket < text.find(kDash);
    const std::string_view mark = in_brackets ? "] - " : kDash;
    std::optional<SummaryText> first;
    size_t at = text.find(mark, in_brackets ? bracket : 0);
    for (int i = 0; i < kMostTries && at < text.size(); ++i, at = text.find(mark, at + 1)) {
        const size_t end = at + mark.size() - kDash.size();
        const SummaryText split{text.substr(0, end), text.substr(end + kDash.size())};
        if (is_known(split.node)) return split;
        if (!first) first = split;
    }
    if (first && !is_known(text)) return *first;
    // Up to pytest 7 the reason of an unexpected pass follows after a blank.
    const size_t blank = text.find(' ', bracket < text.find(' ') ? text.rfind(']') : 0);
    if (summary.state != State::xpassed || blank >= text.size() || is_known(text))
        return {text, {}};
    return {text.substr(0, blank), trimmed(text.substr(blank))};
}

}  // namespace compat::parsers
