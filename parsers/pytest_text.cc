#include "parsers/pytest_text.h"

#include <algorithm>

#include "parsers/closing.h"
#include "parsers/ending.h"
#include "parsers/pytest_line.h"
#include "parsers/pytest_scanner.h"
#include "parsers/text.h"
#include "parsers/import/unittest/header.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

ModuleRecord pytest_record() {
    ModuleRecord record;
    record.from_text = true;
    record.framework = name_of(Framework::pytest);
    return record;
}

void settle_session(ModuleRecord& record, const PytestScanner& scanner, const ProcessEnd& end) {
    settle(record, scanner.progress(),
           {.ready = scanner.ready(),
            .finished = scanner.finished() || record.closing,
            .fixture = {},
            .last_end = {}},
           end);
}

// How a process of which only its log is known ended.
ProcessEnd end_of(const PytestScanner& scanner) {
    if (scanner.finished()) return {.kind = ProcessEnd::Kind::exited, .detail = {}};
    if (scanner.timed_out())
        return {.kind = ProcessEnd::Kind::timed_out, .detail = "by pytest-timeout"};
    if (scanner.death()) return *scanner.death();
    return {.kind = ProcessEnd::Kind::stopped, .detail = "the log breaks off"};
}

// With -q and -qq a log may have no more of its own than what stopped it.
bool is_stop(std::string_view text) {
    constexpr std::array<std::string_view, 5> kStops{
        "KeyboardInterrupt", "_pytest.outcomes.Exit: ", "stopping after ",
        "Interrupted: ", "xdist.dsession.Interrupted: "};
    return std::any_of(kStops.begin(), kStops.end(),
                       [&](std::string_view stop) { return text.starts_with(stop); });
}

bool is_no_character(char c) { return !pytest_state_of(c); }

size_t leading_characters(std::string_view line) {
    return static_cast<size_t>(std::find_if(line.begin(), line.end(), is_no_character) -
                               line.begin());
}

// Whether something of a session of pytest's stands in front of what is unittest's: its first line,
// a line of a test, characters right in front of a name of unittest's, or more of them than its
// runs count, where they name no tests.
bool begins_before_unittest(std::string_view text) {
    constexpr std::string_view kRan = "Ran ";
    std::int64_t characters = 0;
    std::int64_t ran = 0;
    bool named = false;
    for (LogLines lines(text); lines.next();) {
        const std::string_view line = lines.line();
        if (pytest_ruled(line, '=') == "test session starts") return true;
        if (const auto node = pytest_node_of(line); node && (node->status || node->after_output))
            return true;
        const size_t head = leading_characters(line);
        const std::string_view rest = line.substr(head);
        const auto header = header_of(rest);
        if (header && header->rest.starts_with(kEllipsis)) {
            // A name may begin with such letters.
            if (head > 0 && (line[head - 1] == '.' || header->method.starts_with("test")))
                return true;
            named = true;
        }
        if (rest.empty() || line.starts_with('.')) characters += static_cast<std::int64_t>(head);
        if (line.starts_with(kRan)) {
            const std::string_view count = line.substr(kRan.size());
            ran += number_of(count.substr(0, count.find(' '))).value_or(0);
        }
    }
    return !named && ran > 0 && characters > ran;
}

// Characters with pytest's progress or own words behind them, and its sources in a stack.
int lesser_signs(std::string_view line) {
    const size_t end = end_of_result(line);
    const auto found = pytest_characters_of(line.substr(0, end));
    const std::string_view rest = line.substr(end);
    if (found && (found->has_progress || rest.starts_with("INTERNAL") || rest.starts_with('+')))
        return 5;
    return line.starts_with("  File \"") && line.find("/_pytest/") != std::string_view::npos;
}

}  // namespace

ModuleRecord parse_pytest_text(std::string_view log, const ProcessEnd& end,
                               std::string_view module) {
    ModuleRecord record = pytest_record();
    record.path = valid_utf8(module);
    auto closing = find_closing(log, name_of(Framework::pytest));
    PytestScanner scanner({.text = log,
                           .module = record.path,
                           .fallback = record.path,
                           .closing = closing ? std::optional(closing->begin) : std::nullopt});
    (void)scanner.next(record);
    if (closing) record.closing = std::move(closing->closing);
    settle_session(record, scanner, end);
    return record;
}

std::vector<Diagnostic> read_pytest_text(const ForeignFile& file, const SeePart& see) {
    PytestScanner scanner({.text = file.bytes, .module = {}, .fallback = file.name, .closing = {}});
    bool any = false;
    for (;; any = true) {
        ModuleRecord record = pytest_record();
        if (!scanner.next(record)) break;
        settle_session(record, scanner, end_of(scanner));
        see(std::move(record));
    }
    if (any) return scanner.doubts();
    return {{"log", 0, "it holds no session of pytest"}};
}

bool pytest_encloses_unittest(std::string_view beginning, std::string_view end) {
    const auto inner = find_closing(end, name_of(Framework::unittest));
    if (!inner) return false;
    const bool overlap = beginning.data() + beginning.size() > end.data();
    if (!begins_before_unittest(end.substr(0, inner->end)) &&
        (overlap || !begins_before_unittest(beginning)))
        return false;
    std::int64_t results = 0;
    std::int64_t counted = 0;
    bool among_results = true;
    for (LogLines lines(end, inner->end); lines.next();) {
        const std::string_view line = lines.line();
        const std::string_view ruled = pytest_ruled(line, '=');
        if (ruled == "test session starts") return false;
        among_results = among_results && ruled.empty();
        if (const auto closing = pytest_closing_of(line)) {
            counted = count_in(*closing, "passed") + count_in(*closing, "failed") +
                      count_in(*closing, "skipped");
        } else if (!among_results) {
            continue;
        } else if (const auto node = pytest_node_of(line); node && node->status) {
            ++results;
        } else if (const auto found = pytest_characters_of(line)) {
            results += static_cast<std::int64_t>(found->characters.size());
        } else {
            const size_t head = leading_characters(line);
            const auto tail = std::find_if(line.rbegin(), line.rend(), is_no_character);
            results += static_cast<std::int64_t>(head) + (tail - line.rbegin());
        }
    }
    return results < counted;
}

int pytest_text_likeness(std::string_view beginning, std::string_view end) {
    int signs = 0;
    for (const std::string_view text : {beginning, end})
        for (LogLines lines(text); lines.next() && signs < 100;) {
            const std::string_view line = lines.line();
            if (line.empty()) continue;
            const std::string_view section = pytest_ruled(line, '=');
            if (section == "test session starts" || section == "short test summary info" ||
                section == "FAILURES" || line.starts_with("ImportError while loading conftest '"))
                signs += 10;
            else if (line.size() < 1000 && line.ends_with("s") && pytest_closing_of(line))
                signs += 5;
            else if (!section.empty() && pytest_closing_of(line))
                signs += 10;
            else if (is_stop(pytest_ruled(line, '!')))
                signs += 10;
            else if (const auto node = pytest_node_of(line); node && node->status)
                ++signs;
            else
                signs += lesser_signs(line);
        }
    return signs;
}

}  // namespace compat::parsers
