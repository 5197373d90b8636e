#include "parsers/import/unittest/text.h"

#include <utility>
#include <vector>

#include "parsers/ending.h"
#include "parsers/import/doubt.h"
#include "parsers/import/own_log.h"
#include "parsers/import/printed_end.h"
#include "parsers/import/unittest/reader.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

// Up to Python 3.10 a test whose sub-tests fail ends without a word: of those that began without
// one, the process died in the last.
void keep_last_started(FinishedUnittestRun& run) {
    bool last = true;
    for (size_t i = run.progress.size(); i-- > 0;) {
        if (run.progress[i] != Progress::started) continue;
        if (!std::exchange(last, false)) {
            run.progress[i] = Progress::announced;
            run.record.cases[i].reason = kBrokenOff.detail;
        }
    }
}

ModuleRecord settled(FinishedUnittestRun run, const ProcessEnd& end) {
    const bool finished = run.record.closing.has_value();
    if (!finished) keep_last_started(run);
    settle(run.record, run.progress,
           {.ready = finished || !run.record.cases.empty(),
            .finished = finished,
            .fixture = {},
            .last_end = {}},
           end);
    return std::move(run.record);
}

}  // namespace

ModuleRecord parse_unittest_text(std::string_view log, const ProcessEnd& end,
                                 std::string_view module) {
    std::vector<FinishedUnittestRun> runs;
    UnittestReader reader(
        {.text = log, .module = module, .fallback = module},
        [&](FinishedUnittestRun run, std::string_view) { runs.push_back(std::move(run)); });
    reader.read();
    FinishedUnittestRun own = own_part(std::move(runs), name_of(Framework::unittest));
    own.record.path = valid_utf8(module);
    return settled(std::move(own), end);
}

std::vector<Diagnostic> read_unittest_text(const ForeignFile& file, const SeePart& see) {
    bool any = false;
    UnittestReader reader({.text = file.bytes, .module = {}, .fallback = file.name},
                          [&](FinishedUnittestRun run, std::string_view tail) {
                              any = true;
                              const ProcessEnd end = run.record.closing
                                                         ? kInOrder
                                                         : printed_end(tail).value_or(kBrokenOff);
                              see(settled(std::move(run), end));
                          });
    reader.read();
    if (!any && reader.doubts().empty()) return {{"log", 0, "it holds no run of unittest"}};
    return reader.doubts();
}

int unittest_text_likeness(std::string_view beginning, std::string_view end) {
    using LineKind = UnittestEvent::Kind;
    int signs = 0;
    for (const std::string_view text : {beginning, end}) {
        LineKind before = LineKind::blank;
        for (LogLines lines(text); lines.next() && signs < 100;) {
            const LineKind kind = unittest_event_of(lines.line()).kind;
            if (kind == LineKind::ran && before == LineKind::rule) signs += 10;
            signs += kind == LineKind::double_rule || kind == LineKind::test;
            before = kind;
        }
    }
    return signs;
}

}  // namespace compat::parsers
