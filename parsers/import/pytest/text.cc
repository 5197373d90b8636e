#include "parsers/import/pytest/text.h"

#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "parsers/diagnosis/traceback.h"
#include "parsers/import/doubt.h"
#include "parsers/import/lines.h"
#include "parsers/import/pattern.h"
#include "parsers/import/printed_end.h"
#include "parsers/import/pytest/session.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using PytestKind = PytestEvent::Kind;

// The parts after the results, in pytest's order. Others, of plugins, may stand between them.
enum Rank { kOther, kErrors, kFailures, kXfailures, kWarnings, kPasses, kXpasses, kSummary, kLast };
constexpr std::array<std::pair<std::string_view, Rank>, 8> kParts{{
    {"ERRORS", kErrors},
    {"FAILURES", kFailures},
    {"XFAILURES", kXfailures},
    {"warnings summary", kWarnings},
    {"PASSES", kPasses},
    {"XPASSES", kXpasses},
    {"short test summary info", kSummary},
    {"warnings summary (final)", kLast},
}};

int rank_of(std::string_view heading) {
    for (const auto& [name, rank] : kParts)
        if (heading == name) return rank;
    return kOther;
}

// Sessions within one another's tests, and in a row within one test: more are a log of sessions
// that broke off.
constexpr size_t kDeepest = 4;
constexpr size_t kMostInTest = 16;

struct PytestLog {
    std::string_view text;
    std::string_view module;  // all tests are of it; empty: their node ids tell
    std::string fallback;     // for what names no module
};

// The sessions in a log, one after the other: where each begins, which closing line is
// whose, and which session a test of another one ran. Reads forward, once.
//
// A closing line that counts what was seen ends the session. Any other is pending: if more of the
// session follows, a test had printed it; else it ends the session, and is in doubt. A session that
// begins where another one's tests still run is pending, too: if an outcome of the other one
// follows its end, a test had run it.
class PytestReader {
  public:
    using See = std::function<void(FinishedPytestSession session)>;

    PytestReader(PytestLog log, See see);

    // Reads the whole log. Returns the diagnostics for text between the sessions.
    std::vector<Diagnostic> read();

  private:
    enum class Stage { results, sections, summary };
    struct PendingClosing {
        FrameworkSummary closing;
        size_t begin = 0;
    };
    // A session that has not ended.
    struct Open {
        PytestSession session;
        Stage stage = Stage::results;
        size_t width = 0;       // of its terminal; 0: unknown
        int rank = 0;           // of the last part that began after the results
        bool captured = false;  // what tests printed stands among the sections
        std::optional<PendingClosing> pending;
    };

    void take(const PytestEvent& event);
    void take_start(const PytestEvent& event);
    void take_closing(const PytestEvent& event);
    void take_result(const PytestEvent& event);
    void take_text(std::string_view line);
    void take_heading(const PytestEvent& event);
    void take_in_sections(const PytestEvent& event);
    void take_anywhere(const PytestEvent& event);
    void drop_printed(const PytestEvent& event);
    void begin(size_t offset);
    void end_session(std::optional<PendingClosing> closing);
    void end_all();
    [[nodiscard]] FinishedPytestSession finish(Open open, std::optional<PendingClosing> closing);
    [[nodiscard]] PytestFacts& facts() { return open_.back().session.facts(); }

    PytestLog log_;
    See see_;
    Unnamed::Room room_;
    std::vector<Diagnostic> doubts_;
    std::vector<Open> open_;                     // each within a test of the one before
    std::vector<FinishedPytestSession> closed_;  // within a test of the last one that is open
    size_t offset_ = 0;                          // of the line
    size_t after_ = 0;
};

PytestReader::PytestReader(PytestLog log, See see) : log_(std::move(log)), see_(std::move(see)) {
    begin(0);
}

std::vector<Diagnostic> PytestReader::read() {
    for (LogLines lines(log_.text); lines.next();) {
        offset_ = lines.offset();
        after_ = lines.after();
        take(pytest_event_of(lines.line()));
    }
    offset_ = after_ = log_.text.size();
    end_all();
    return std::move(doubts_);
}

void PytestReader::begin(size_t offset) {
    open_.push_back({.session = PytestSession(log_.text, offset, log_.module), .pending = {}});
}

void PytestReader::take(const PytestEvent& event) {
    if (event.kind == PytestKind::announced) {
        end_all();
        log_.fallback = event.file;
        return;
    }
    if (event.kind == PytestKind::start) return take_start(event);
    drop_printed(event);
    if (event.kind == PytestKind::closing) return take_closing(event);
    if (open_.back().stage == Stage::results)
        take_result(event);
    else
        take_in_sections(event);
}

// Drops a closing line or a session that, as this event shows, a test had printed or run.
void PytestReader::drop_printed(const PytestEvent& event) {
    while (event.kind == PytestKind::outcome && open_.size() > 1 && !open_.back().session.is_open())
        open_.pop_back();
    Open& open = open_.back();
    const bool quiet = !open.session.facts().verbose;
    const PytestFacts& facts = open.session.facts();
    if (open.pending && event.kind == PytestKind::closing && !facts.first_character &&
        facts.cases.size() == 0)
        return end_session(std::exchange(open.pending, std::nullopt));
    const bool goes_on = event.kind == PytestKind::outcome || event.kind == PytestKind::node ||
                         (quiet && event.kind == PytestKind::characters) ||
                         (!open.session.is_open() &&
                          (event.kind == PytestKind::heading || event.kind == PytestKind::closing));
    if (goes_on && open.stage == Stage::results) closed_.clear();
    if (goes_on || event.kind == PytestKind::section || event.kind == PytestKind::stopped)
        open.pending.reset();
}

void PytestReader::take_start(const PytestEvent& event) {
    if (!event.rest.empty()) take(pytest_event_of(event.rest));
    Open& open = open_.back();
    const size_t width = columns_of(event.line.substr(event.rest.size()));
    if (open.session.is_open() && open.width != 0 && width != open.width) return;
    const bool in_results = open.stage == Stage::results && open.session.facts().in_order &&
                            (open.session.is_open() || !open.session.facts().verbose);
    const bool ended = open.pending && !(open.captured && open.session.has_summary_of_others());
    if (!in_results && open.captured && !ended) return;
    if (in_results && !ended && closed_.size() < kMostInTest && !open.session.is_empty() &&
        open_.size() < kDeepest)
        begin(offset_);
    else
        end_all();
    facts().started = true;
    facts().begin = offset_;
    open_.back().width = width;
}

void PytestReader::take_closing(const PytestEvent& event) {
    Open& open = open_.back();
    // A session without a first line is one of -q, whose closing has no frame.
    const bool framed = open.session.facts().started;
    const bool fits = framed == event.framed && (!framed || fills_terminal(event.line, open.width));
    if (!fits || (open.session.is_empty() && event.closing->counts.empty())) return;
    if (open.session.is_open() || !open.session.agrees(*event.closing))
        open.pending = {*event.closing, offset_};
    else
        end_session(PendingClosing{*event.closing, offset_});
}

void PytestReader::take_anywhere(const PytestEvent& event) {
    if (event.kind == PytestKind::stopped) {
        facts().stopped = valid_utf8(event.rest);
        facts().has_progress = true;
    } else if (event.kind == PytestKind::timeout) {
        facts().timed_out = true;
    } else if (event.kind == PytestKind::internal) {
        if (facts().internal_error.empty()) {
            if (!event.line.ends_with(kTracebackHeader)) return;
            facts().internal_at = offset_;
        }
        facts().internal_error.append(event.rest).push_back('\n');
    }
}

void PytestReader::take_result(const PytestEvent& event) {
    PytestSession& session = open_.back().session;
    switch (event.kind) {
        case PytestKind::platform:
        case PytestKind::root:
        case PytestKind::collected:
        case PytestKind::workers:
            if (!session.facts().selected) session.take_preamble(event);
            return;
        case PytestKind::node:
        case PytestKind::subtest:
            return session.take_node(event, after_);
        case PytestKind::outcome:
            return session.take_outcome(*event.status, after_);
        case PytestKind::characters:
            return session.take_characters(event, offset_, after_);
        case PytestKind::heading:
            return take_heading(event);
        case PytestKind::conftest:
            if (session.is_empty()) session.facts().conftest = offset_;
            return;
        case PytestKind::text:
            return take_text(event.line);
        default:
            if (!session.is_open() || event.kind == PytestKind::timeout) take_anywhere(event);
    }
}

// Behind characters, the words of a death may stand on the same line.
void PytestReader::take_text(std::string_view line) {
    const bool is_quiet = !facts().verbose && facts().in_order;
    const auto dead = is_quiet ? characters_before_death(line) : std::nullopt;
    const size_t end = dead ? *dead : end_of_result(line);
    if (!dead && (end == 0 || end == line.size())) return open_.back().session.take_output(line);
    if (end > 0) {
        const size_t after =
            std::exchange(after_, after_ - std::min(after_, line.size() - end + 1));
        take(pytest_event_of(line.substr(0, end)));
        after_ = after;
    }
    facts().has_progress = facts().has_progress || facts().first_character;
    if (!dead) return take(pytest_event_of(line.substr(end)));
    if (!facts().first_character) return;
    offset_ = after_;
    end_all();
}

// pytest's own headings are as wide as its terminal, and in one order.
void PytestReader::take_heading(const PytestEvent& event) {
    Open& open = open_.back();
    if (open.session.is_open() || !fills_terminal(event.line, open.width)) return;
    const int rank = rank_of(event.rest);
    if (open.stage == Stage::results && rank == kOther) return;
    if (rank != kOther && (rank < open.rank || (rank == open.rank && rank != kSummary))) return;
    if (open.width == 0) open.width = columns_of(event.line);
    if (open.stage == Stage::results) open.session.end_results();
    open.session.close_section(offset_);
    if (rank == kOther) return;
    open.rank = rank;
    open.stage = rank == kSummary ? Stage::summary : Stage::sections;
    // The last one is the session's.
    if (rank == kSummary) open.session.facts().summaries.clear();
}

void PytestReader::take_in_sections(const PytestEvent& event) {
    Open& open = open_.back();
    switch (event.kind) {
        case PytestKind::heading:
            return take_heading(event);
        case PytestKind::section:
            if (!fills_terminal(event.line, open.width)) return;
            if ((open.rank == kErrors || open.rank == kFailures || open.rank == kSummary) &&
                open.session.open_section(event.rest, offset_, after_))
                open.stage = Stage::sections;
            return;
        case PytestKind::captured:
            open.captured = true;
            return;
        case PytestKind::stopped:
        case PytestKind::internal:
        case PytestKind::timeout:
            return take_anywhere(event);
        default:
            break;
    }
    if (open.stage == Stage::summary)
        open.session.take_summary(event.line);
    else
        open.session.take_crash(event.line);
}

FinishedPytestSession PytestReader::finish(Open open, std::optional<PendingClosing> closing) {
    const size_t end = closing ? closing->begin : offset_;
    const bool sure = closing && !open.session.is_open() && open.session.agrees(closing->closing);
    open.session.end_results();
    open.session.close_section(end);
    const size_t tail = std::min(end, open.session.facts().tail);
    const bool in_results = open.stage == Stage::results;
    const auto died =
        closing || !in_results ? std::nullopt : printed_end(log_.text.substr(tail, end - tail));
    return finish_pytest_session(
        std::move(open.session),
        {.closing = closing ? std::optional(std::move(closing->closing)) : std::nullopt,
         .end = end,
         .sure = sure,
         .died = died,
         .summarised = open.stage == Stage::summary,
         .fallback = log_.fallback},
        room_);
}

// The session that is innermost.
void PytestReader::end_session(std::optional<PendingClosing> closing) {
    FinishedPytestSession session = finish(std::move(open_.back()), std::move(closing));
    open_.pop_back();
    if (open_.empty()) {
        see_(std::move(session));
        begin(after_);
    } else {
        closed_.push_back(std::move(session));
    }
}

// No more follows: those that are open broke off, or end with their pending closing.
void PytestReader::end_all() {
    for (Open& open : std::exchange(open_, {})) {
        const auto characters = open.session.facts().first_character;
        std::optional<PendingClosing> pending = std::move(open.pending);
        const PytestFacts& facts = open.session.facts();
        if (!open.session.is_empty() || pending ||
            (characters && is_cut_off(log_.text, facts.most_in_line, facts.tail)))
            see_(finish(std::move(open), std::move(pending)));
        else if (characters)
            doubts_.push_back(uncounted_characters(*characters));
    }
    for (FinishedPytestSession& session : std::exchange(closed_, {})) see_(std::move(session));
    begin(offset_);
}

ModuleRecord resolved(FinishedPytestSession session, const ProcessEnd& end) {
    resolve_unfinished(session.record, session.progress, session.course, end);
    return std::move(session.record);
}

// How much a line tells that pytest wrote it; a session's first line more than any other
// framework's run within its tests. With -q a log may have no more than what stopped it.
int signs_of(const PytestEvent& event) {
    static const Pattern stop(
        "(?:KeyboardInterrupt|_pytest.outcomes.Exit: |stopping after |"
        "Interrupted: |xdist.dsession.Interrupted: ).*");
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
            return stop.match(event.rest) ? 10 : 0;
        case Kind::node:
            return event.status.has_value();
        case Kind::characters:
            return event.has_progress ? 5 : 0;
        default:
            return event.line.starts_with("  File \"") &&
                   event.line.find("/_pytest/") != std::string_view::npos;
    }
}

}  // namespace

ModuleRecord parse_pytest_text(std::string_view log, const ProcessEnd& end,
                               std::string_view module) {
    std::vector<FinishedPytestSession> sessions;
    (void)PytestReader({log, module, valid_utf8(module)}, [&](FinishedPytestSession session) {
        sessions.push_back(std::move(session));
    }).read();
    FinishedPytestSession own = own_part(std::move(sessions), name_of(Framework::pytest));
    own.record.path = valid_utf8(module);
    return resolved(std::move(own), end);
}

std::vector<Diagnostic> read_pytest_text(const ResultFile& file, const SeePart& see) {
    bool any = false;
    auto doubts =
        PytestReader({file.bytes, {}, valid_utf8(file.name)}, [&](FinishedPytestSession session) {
            any = true;
            const ProcessEnd end = session.end;
            see(resolved(std::move(session), end));
        }).read();
    if (!any && doubts.empty()) return {{"log", 0, "it holds no session of pytest"}};
    return doubts;
}

int pytest_text_likeness(std::string_view beginning, std::string_view end) {
    int signs = 0;
    for (const std::string_view text : {beginning, end})
        for (LogLines lines(text); lines.next() && signs < 1000;)
            signs += signs_of(pytest_event_of(lines.line()));
    return signs;
}

}  // namespace compat::parsers
