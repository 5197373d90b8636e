#include "parsers/import/pytest/text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "parsers/import/lines.h"
#include "parsers/import/own_log.h"
#include "parsers/import/pytest/reader.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

ModuleRecord settled(FinishedPytestSession session, const ProcessEnd& end) {
    settle(session.record, session.progress, session.course, end);
    return std::move(session.record);
}

// With -q a log may have no more of its own than what stopped it.
bool is_stop(std::string_view text) {
    constexpr std::array<std::string_view, 5> kStops{
        "KeyboardInterrupt", "_pytest.outcomes.Exit: ", "stopping after ",
        "Interrupted: ", "xdist.dsession.Interrupted: "};
    return std::any_of(kStops.begin(), kStops.end(),
                       [&](std::string_view stop) { return text.starts_with(stop); });
}

// How much a line tells that pytest wrote it; a session's first line more than any other
// framework's run within its tests.
int signs_of(const PytestEvent& event) {
    using Kind = PytestEvent::Kind;
    switch (event.kind) {
        case Kind::start:
            return event.line.starts_with('=') ? 50 : 1;
        case Kind::closing:
            return event.framed ? 10 : 5;
        case Kind::heading:
            return event.rest == "FAILURES" || event.rest == "short test summary info" ? 10 : 0;
        case Kind::conftest:
            return 10;
        case Kind::stopped:
            return is_stop(event.rest) ? 10 : 0;
        case Kind::node:
            return event.node->status.has_value();
        case Kind::characters:
            return event.characters->has_progress ? 5 : 0;
        default:
            return event.line.starts_with("  File \"") &&
                   event.line.find("/_pytest/") != std::string_view::npos;
    }
}

}  // namespace

ModuleRecord parse_pytest_text(std::string_view log, const ProcessEnd& end,
                               std::string_view module) {
    std::vector<FinishedPytestSession> sessions;
    PytestReader reader(
        {.text = log, .module = module, .fallback = module},
        [&](FinishedPytestSession session) { sessions.push_back(std::move(session)); });
    reader.read();
    FinishedPytestSession own = own_part(std::move(sessions), name_of(Framework::pytest));
    own.record.path = valid_utf8(module);
    return settled(std::move(own), end);
}

std::vector<Diagnostic> read_pytest_text(const ForeignFile& file, const SeePart& see) {
    bool any = false;
    PytestReader reader({.text = file.bytes, .module = {}, .fallback = file.name},
                        [&](FinishedPytestSession session) {
                            any = true;
                            const ProcessEnd end = session.end;
                            see(settled(std::move(session), end));
                        });
    reader.read();
    if (!any && reader.doubts().empty()) return {{"log", 0, "it holds no session of pytest"}};
    return reader.doubts();
}

int pytest_text_likeness(std::string_view beginning, std::string_view end) {
    int signs = 0;
    for (const std::string_view text : {beginning, end})
        for (LogLines lines(text); lines.next() && signs < 1000;)
            signs += signs_of(pytest_event_of(lines.line()));
    return signs;
}

}  // namespace compat::parsers
