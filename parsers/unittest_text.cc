#include "parsers/unittest_text.h"

#include <optional>
#include <utility>
#include <vector>

#include "parsers/closing.h"
#include "parsers/ending.h"
#include "parsers/import/printed_end.h"
#include "parsers/text.h"
#include "parsers/unittest_scanner.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

// How a process of which only its log is known ended: in order, or nobody knows.
const ProcessEnd kInOrder{.kind = ProcessEnd::Kind::exited, .detail = {}};
const ProcessEnd kUnknown{.kind = ProcessEnd::Kind::stopped, .detail = "the log breaks off"};

void settle_run(ModuleRecord& record, const UnittestScanner& scanner, const ProcessEnd& end,
                bool foreign) {
    record.collected = static_cast<std::int64_t>(record.cases.size());
    const bool finished = record.closing.has_value();
    std::vector<Progress> progress = scanner.progress();
    // Up to Python 3.10 a test whose sub-tests fail ends without a word: of those that began
    // without one, the process died in the last.
    bool last = true;
    for (size_t i = progress.size(); i-- > 0 && !finished && foreign;) {
        if (progress[i] != Progress::started) continue;
        if (!std::exchange(last, false)) {
            progress[i] = Progress::announced;
            record.cases[i].reason = kUnknown.detail;
        }
    }
    settle(record, progress,
           {.ready = finished || !record.cases.empty(),
            .finished = finished,
            .fixture = {},
            .last_end = {}},
           end);
}

ModuleRecord unittest_record() {
    ModuleRecord record;
    record.from_text = true;
    record.framework = name_of(Framework::unittest);
    return record;
}

}  // namespace

ModuleRecord parse_unittest_text(std::string_view log, const ProcessEnd& end,
                                 std::string_view module) {
    ModuleRecord record = unittest_record();
    record.path = valid_utf8(module);
    auto closing = find_closing(log, name_of(Framework::unittest));
    UnittestScanner scanner({.text = log,
                             .module = record.path,
                             .fallback = record.path,
                             .closing = closing ? std::optional(closing->begin) : std::nullopt});
    (void)scanner.next(record);
    settle_run(record, scanner, end, false);
    return record;
}

std::vector<Diagnostic> read_unittest_text(const ForeignFile& file, const SeePart& see) {
    UnittestScanner scanner(
        {.text = file.bytes, .module = {}, .fallback = file.name, .closing = {}});
    std::vector<Diagnostic> said;
    bool any = false;
    struct Held {
        ModuleRecord record;
        std::optional<Diagnostic> doubts;
    };
    std::vector<Held> held;
    const auto let_go = [&] {
        for (Held& run : held) {
            if (run.doubts) {
                said.push_back(std::move(*run.doubts));
            } else {
                any = true;
                see(std::move(run.record));
            }
        }
        held.clear();
    };
    for (;;) {
        ModuleRecord record = unittest_record();
        if (!scanner.next(record)) break;
        record.path = record.cases.empty() ? valid_utf8(file.name) : scanner.path();
        const std::optional<ProcessEnd> died =
            record.closing ? std::nullopt : printed_end(scanner.tail());
        settle_run(record, scanner, record.closing ? kInOrder : died.value_or(kUnknown), true);
        held.erase(held.end() - static_cast<std::ptrdiff_t>(scanner.taken_back()), held.end());
        held.push_back({std::move(record), died ? std::nullopt : scanner.doubts()});
        if (!scanner.may_take_back()) let_go();
    }
    let_go();
    if (!any && said.empty()) said.push_back({"log", 0, "it holds no run of unittest"});
    return said;
}

int unittest_text_likeness(std::string_view beginning, std::string_view end) {
    int signs = 0;
    for (const std::string_view text : {beginning, end}) {
        bool rule = false;
        for (LogLines lines(text, 0, true); lines.next() && signs < 100;) {
            const std::string_view line = lines.line();
            if (rule && line.starts_with("Ran ") && line.find(" in ") != std::string_view::npos)
                signs += 10;
            rule = line == kRule;
            if (line == kDoubleRule) ++signs;
            const auto header = header_of(line.starts_with("  ") ? line.substr(2) : line);
            if (header && header->rest.starts_with(kEllipsis)) ++signs;
        }
    }
    return signs;
}

}  // namespace compat::parsers
