#include "parsers/import/pytest/text.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "parsers/import/lines.h"
#include "parsers/import/printed_end.h"
#include "parsers/import/pytest/session.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

using PytestKind = PytestEvent::Kind;

// The parts after the results, in pytest's order. Others, of plugins, may stand between them.
constexpr std::array<std::string_view, 8> kParts{"ERRORS",
                                                 "FAILURES",
                                                 "XFAILURES",
                                                 "warnings summary",
                                                 "PASSES",
                                                 "XPASSES",
                                                 "short test summary info",
                                                 "warnings summary (final)"};
enum Rank { kOther, kErrors, kFailures, kSummary = 7 };

int rank_of(std::string_view heading) {
    const auto* const known = std::find(kParts.begin(), kParts.end(), heading);
    return known == kParts.end() ? kOther : static_cast<int>(known - kParts.begin()) + 1;
}

// The sessions in a log, one after the other: where each begins, and which closing line is whose.
// Reads forward, once. A closing line that counts what was seen ends the session. Any other is
// pending: if more of the session follows, a test had printed it; else it ends the session, and is
// in doubt.
class PytestReader {
  public:
    PytestReader(const RunsText& log, const SeeRun& see)
        : log_(log),
          fallback_(valid_utf8(log.fallback)),
          see_(see),
          session_(log.text, 0, log.module) {}

    void read() {
        for (LogLines lines(log_.text); lines.next();) {
            offset_ = lines.offset();
            after_ = lines.after();
            take(pytest_event_of(lines.line()));
        }
        offset_ = after_ = log_.text.size();
        end_session();
    }

  private:
    enum class Stage { results, sections, summary };

    void take(const PytestEvent& event) {
        if (event.kind == PytestKind::announced) {
            end_session();
            fallback_ = event.file;
            return;
        }
        if (event.kind == PytestKind::start) return take_start(event);
        const bool goes_on = event.kind == PytestKind::outcome || event.kind == PytestKind::node ||
                             event.kind == PytestKind::section ||
                             event.kind == PytestKind::stopped ||
                             (!session_.is_open() && event.kind == PytestKind::heading);
        if (goes_on) pending_.reset();
        if (event.kind == PytestKind::closing) return take_closing(event);
        if (stage_ == Stage::results)
            take_result(event);
        else
            take_in_sections(event);
    }

    // In captured output a test had printed it.
    void take_start(const PytestEvent& event) {
        if (!event.rest.empty()) take(pytest_event_of(event.rest));
        if (captured_ && !pending_) return;
        end_session();
        session_.started = true;
        session_.begin = offset_;
    }

    // A session without a first line is one of -q, whose closing has no frame.
    void take_closing(const PytestEvent& event) {
        if (session_.started != event.framed) return;
        if (session_.is_empty() && event.closing->counts.empty()) return;
        pending_ = {*event.closing, offset_};
        if (!session_.is_open() && session_.agrees(*event.closing)) end_session();
    }

    void take_result(const PytestEvent& event) {
        switch (event.kind) {
            case PytestKind::platform:
            case PytestKind::root:
            case PytestKind::collected:
            case PytestKind::workers:
                if (!session_.selected) session_.take_preamble(event);
                return;
            case PytestKind::node:
            case PytestKind::subtest:
                return session_.take_node(event, after_);
            case PytestKind::outcome:
                return session_.take_outcome(*event.status, after_);
            case PytestKind::heading:
                return take_heading(event);
            case PytestKind::conftest:
                if (session_.is_empty()) session_.conftest = offset_;
                return;
            case PytestKind::text:
                if (session_.verbose || !says_death(event.line)) return;
                session_.died = true;
                offset_ = after_;
                return end_session();
            default:
                if (!session_.is_open()) session_.take_break(event, offset_);
        }
    }

    // pytest's own headings have one order.
    void take_heading(const PytestEvent& event) {
        if (session_.is_open()) return;
        const int rank = rank_of(event.rest);
        if (stage_ == Stage::results && rank == kOther) return;
        if (rank != kOther && (rank < rank_ || (rank == rank_ && rank != kSummary))) return;
        session_.close_section(offset_);
        if (rank == kOther) return;
        rank_ = rank;
        stage_ = rank == kSummary ? Stage::summary : Stage::sections;
        // The last one is the session's.
        if (rank == kSummary) session_.summaries.clear();
    }

    void take_in_sections(const PytestEvent& event) {
        if (event.kind == PytestKind::heading) return take_heading(event);
        if (event.kind == PytestKind::captured) {
            captured_ = true;
        } else if (event.kind == PytestKind::section) {
            if (rank_ != kErrors && rank_ != kFailures && rank_ != kSummary) return;
            session_.open_section(event.rest, offset_, after_);
            stage_ = Stage::sections;
        } else if (!session_.take_break(event, offset_) && stage_ == Stage::summary) {
            session_.take_summary(event.line);
        }
    }

    // It ends with its pending closing, or broke off. The next one begins.
    void end_session() {
        auto pending = std::exchange(pending_, std::nullopt);
        PytestSession session =
            std::exchange(session_, PytestSession(log_.text, after_, log_.module));
        const bool in_results = std::exchange(stage_, Stage::results) == Stage::results;
        rank_ = 0;
        captured_ = false;
        if (session.is_empty() && !pending) return;
        session.end = offset_;
        session.fallback = fallback_;
        if (pending) {
            session.sure = !session.is_open() && session.agrees(pending->first);
            std::tie(session.closing, session.end) = std::move(*pending);
        }
        session.close_section(session.end);
        const size_t tail = std::min(session.end, session.tail);
        if (!session.closing && in_results)
            session.how_died = printed_end(log_.text.substr(tail, session.end - tail));
        see_(finish_pytest_session(std::move(session)));
    }

    const RunsText& log_;
    std::string fallback_;
    const SeeRun& see_;
    PytestSession session_;
    Stage stage_ = Stage::results;
    int rank_ = 0;           // of the last part that began after the results
    bool captured_ = false;  // what tests printed stands among the sections
    std::optional<std::pair<FrameworkSummary, size_t>> pending_;  // with where it begins
    size_t offset_ = 0;                                           // of the line
    size_t after_ = 0;
};

// How much a line tells that pytest wrote it; a session's first line more than any other
// framework's run within its tests.
int signs_of(const PytestEvent& event) {
    if (event.kind == PytestKind::start) return event.line.starts_with('=') ? 50 : 1;
    if (event.kind == PytestKind::closing) return event.framed ? 10 : 5;
    if (event.kind == PytestKind::heading)
        return event.rest == "FAILURES" || event.rest == "short test summary info" ? 10 : 0;
    if (event.kind == PytestKind::conftest) return 10;
    if (event.kind == PytestKind::node) return event.status.has_value();
    return event.line.starts_with("  File \"") &&
           event.line.find("/_pytest/") != std::string_view::npos;
}

}  // namespace

void each_pytest_session(const RunsText& log, const SeeRun& see) { PytestReader(log, see).read(); }

int pytest_text_likeness(std::string_view beginning, std::string_view end) {
    int signs = 0;
    for (const std::string_view text : {beginning, end})
        for (LogLines lines(text); lines.next() && signs < 1000;)
            signs += signs_of(pytest_event_of(lines.line()));
    return signs;
}

}  // namespace compat::parsers
