#include "parsers/pytest_text.h"

#include "parsers/closing.h"
#include "parsers/ending.h"
#include "parsers/pytest_line.h"
#include "parsers/pytest_scanner.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

ModuleRecord pytest_record() {
    ModuleRecord record;
    record.from_text = true;
    record.framework = "pytest";
    return record;
}

void settle_session(ModuleRecord& record, const PytestScanner& scanner, const ProcessEnd& end) {
    settle(record, scanner.progress(),
           {.ready = scanner.ready(),
            .finished = record.closing.has_value(),
            .fixture = {},
            .last_end = {}},
           end);
}

// How a process of which only its log is known ended.
ProcessEnd end_of(const ModuleRecord& record, const PytestScanner& scanner) {
    if (record.closing) return {.kind = ProcessEnd::Kind::exited, .detail = {}};
    if (scanner.timed_out())
        return {.kind = ProcessEnd::Kind::timed_out, .detail = "by pytest-timeout"};
    if (scanner.death()) return *scanner.death();
    return {.kind = ProcessEnd::Kind::stopped, .detail = "the log breaks off"};
}

}  // namespace

ModuleRecord parse_pytest_text(std::string_view log, const ProcessEnd& end,
                               std::string_view module) {
    ModuleRecord record = pytest_record();
    record.path = valid_utf8(module);
    auto closing = find_closing(log, "pytest");
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
        settle_session(record, scanner, end_of(record, scanner));
        see(std::move(record));
    }
    if (any) return {};
    return {{"log", 0, "it holds no session of pytest"}};
}

int pytest_text_likeness(std::string_view beginning, std::string_view end) {
    int signs = 0;
    for (const std::string_view text : {beginning, end})
        for (LogLines lines(text, 0, true); lines.next() && signs < 100;) {
            const std::string_view line = lines.line();
            if (line.empty()) continue;
            const std::string_view section = pytest_ruled(line, '=');
            if (section == "test session starts" || section == "short test summary info" ||
                section == "FAILURES")
                signs += 10;
            else if (line.size() < 1000 && line.ends_with("s") && pytest_closing_of(line))
                signs += 5;
            else if (!section.empty() && pytest_closing_of(line))
                signs += 10;
            else if (const auto node = pytest_node_of(line); node && node->status)
                ++signs;
        }
    return signs;
}

}  // namespace compat::parsers
