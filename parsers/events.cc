#include "parsers/events.h"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "parsers/framework_summary.h"
#include "parsers/jsonl.h"
#include "parsers/resolve_unfinished.h"
#include "runner/base/line_mac.h"

namespace compat::parsers {

namespace {
using nlohmann::json;

constexpr const char* kMac = "mac";

Phase phase_at(const json& object) {
    return phase_of(string_at(object, "phase")).value_or(Phase::call);
}

class EventReader {
  public:
    // `verified`: no line reaches it that the harness did not write.
    EventReader(ModuleRecord& record, Diagnoser& diagnose, bool verified)
        : record_(record), diagnose_(diagnose), verified_(verified) {}

    void note_forged(size_t offset) { forged_.add(offset); }
    [[nodiscard]] bool closing_in_log() const { return closing_in_log_; }

    // False where the rest must not be read.
    bool read(const json& line, size_t offset) {
        const std::string event = string_at(line, "event");
        const std::int64_t pid = integer_at(line, "pid", -1);
        if (!pid_) {
            pid_ = pid;
            if (event != "session") diagnose_.add(offset, "the first line is not a session");
        }
        if (pid != *pid_) {
            foreign_.add(offset);
            return true;
        }
        offset_ = offset;
        if (!is_next(line)) return true;
        using Handler = void (EventReader::*)(const json&);
        static const std::unordered_map<std::string, Handler> handlers{
            {"collected", &EventReader::collected}, {"ready", &EventReader::ready},
            {"fixture", &EventReader::fixture},     {"start", &EventReader::start},
            {"subtest", &EventReader::subtest},     {"end", &EventReader::end},
            {"finish", &EventReader::finish},
        };
        if (event == "session") return session(line);
        if (const auto it = handlers.find(event); it != handlers.end()) (this->*it->second)(line);
        return true;
    }

    // To be called once, after the last line. Whether the harness had begun.
    bool close(const ProcessEnd& end) {
        forged_.tell_dropped(diagnose_, kForged);
        foreign_.tell_dropped(diagnose_, "of other processes");
        // Past a Diagnoser, which keeps so many and counts the rest.
        if (after_finish_.seen > 0)
            record_.diagnostics.push_back(
                {"events", static_cast<std::int64_t>(after_finish_.first),
                 fmt::format("{}the harness wrote {} line(s) after its finish, dropped; the first "
                             "one here",
                             kContradiction, after_finish_.seen)});
        if (shortened_.seen > 0)
            diagnose_.add(shortened_.first,
                          fmt::format("the text of {} failure(s) was left out, {} bytes: "
                                      "limits.events_bytes is reached; the first one here",
                                      shortened_.seen, left_out_bytes_));
        record_.collected = announced_.value_or(static_cast<std::int64_t>(record_.cases.size()));
        resolve_unfinished(record_, progress_, course_, end);
        return session_;
    }

  private:
    // Whether the harness wrote this line: it numbers its own from the session's on, and writes
    // none after `finish`. A harness of before that numbered none.
    bool is_next(const json& line) {
        const std::int64_t seq = integer_at(line, "seq", -1);
        if (!session_ && seq == 0) {
            numbered_ = true;
            signed_ = line.contains(kMac);
        }
        if (!numbered_) return true;
        if (seq < next_ || course_.finished || (signed_ && !line.contains(kMac))) {
            const bool ours = verified_ && seq >= next_;
            (ours ? after_finish_ : forged_).add(offset_);
            return false;
        }
        if (seq > next_)
            diagnose_.add(offset_, fmt::format("{} line(s) missing before this one", seq - next_));
        next_ = seq + 1;
        return true;
    }

    bool session(const json& line) {
        if (!is_known_format(line, offset_, diagnose_)) return false;
        session_ = true;
        record_.framework = string_at(line, "framework");
        record_.framework_version = string_at(line, "framework_version");
        record_.python_version = string_at(line, "python");
        record_.forked = flag_at(line, "forked");
        epoch_ = number_at(line, "epoch");
        return true;
    }

    void collected(const json& line) {
        std::string id = string_at(line, "id");
        if (id.empty()) return diagnose_.add(offset_, "a collected test without an id");
        if (index_.contains(id)) return diagnose_.add(offset_, "collected twice: " + id);
        CaseRecord& c = record_.cases[insert(std::move(id))];
        c.name = string_at(line, "name");
        c.location = location_at(line);
        c.pseudo = flag_at(line, "pseudo");
    }

    void ready(const json&) { course_.ready = true; }

    void start(const json& line) {
        const std::optional<size_t> i = find(line, "a start");
        course_.fixture.clear();
        course_.last_end.reset();
        if (!i) return;
        CaseRecord& c = record_.cases[*i];
        if (progress_[*i] != Progress::announced) diagnose_.add(offset_, "started twice: " + c.id);
        progress_[*i] = Progress::started;
        c.started = true;
        constexpr double kLatest = 253402300800.0;  // the year 10000
        const double time = epoch_ + number_at(line, "time");
        if (epoch_ > 0 && time > 0 && time < kLatest) c.started_ms = std::llround(time * 1000);
    }

    void fixture(const json& line) {
        course_.fixture = string_at(line, "id");
        course_.last_end.reset();
    }

    // A failure whose text the harness left out says how much.
    std::optional<Failure> failure_from(const json& object) {
        if (!object.is_object()) return std::nullopt;
        if (const std::int64_t bytes = integer_at(object, "left_out"); bytes > 0) {
            shortened_.add(offset_);
            left_out_bytes_ += static_cast<std::uint64_t>(bytes);
        }
        Failure failure{.type = string_at(object, "type"),
                        .message = string_at(object, "message"),
                        .traceback = string_at(object, "traceback"),
                        .phase = phase_at(object),
                        .counted = state_of(string_at(object, "counted"))};
        for (const json& frame : child_at(object, "frames")) {
            if (!frame.is_object()) continue;
            Location place = location_at(frame);
            failure.frames.push_back(
                {std::move(place.file), place.line, string_at(frame, "function")});
        }
        return failure;
    }

    void subtest(const json& line) {
        const std::optional<size_t> i = find(line, "a sub-test");
        if (!i) return;
        record_.cases[*i].subcases.push_back({.label = string_at(line, "label"),
                                              .state = state_at(line, "state"),
                                              .reason = string_at(line, "reason"),
                                              .failure = failure_from(child_at(line, "failure"))});
    }

    void end(const json& line) {
        const std::optional<size_t> i = find(line, "an end");
        if (!i) return;
        CaseRecord& c = record_.cases[*i];
        if (progress_[*i] == Progress::ended) diagnose_.add(offset_, "ended twice: " + c.id);
        progress_[*i] = Progress::ended;
        course_.last_end = i;
        c.state = state_at(line, "state");
        c.phase = phase_at(line);
        c.reason = string_at(line, "reason");
        c.duration_s = number_at(line, "duration_s");
        c.failure = failure_from(child_at(line, "failure"));
        c.call_state = state_of(string_at(line, "call"));
        c.also.clear();
        for (const json& more : child_at(line, "also"))
            if (auto failure = failure_from(more)) c.also.push_back(std::move(*failure));
    }

    void finish(const json& line) {
        course_ = {.ready = true, .finished = true, .fixture = {}, .last_end = {}};
        closing_in_log_ = !line.contains("closing_in_log") || flag_at(line, "closing_in_log");
        if (line.contains("collected")) announced_ = integer_at(line, "collected");
        if (auto found = find_summary(string_at(line, "closing"), record_.framework))
            record_.closing = std::move(found->summary);
    }

    // A state by its name. An unknown one must not pass for a good one.
    State state_at(const json& line, const char* key) {
        const std::string name = string_at(line, key);
        if (const std::optional<State> state = state_of(name)) return *state;
        diagnose_.add(offset_, fmt::format("unknown state '{}', taken as errored", name));
        return State::errored;
    }

    // The case a line is about. One that was never announced is added, so that no result is lost;
    // the harness's own count then disagrees, which is how it is noticed.
    std::optional<size_t> find(const json& line, std::string_view what) {
        std::string id = string_at(line, "id");
        if (id.empty()) {
            diagnose_.add(offset_, fmt::format("{} without an id", what));
            return std::nullopt;
        }
        if (const auto it = index_.find(id); it != index_.end()) return it->second;
        diagnose_.add(offset_, fmt::format("{} of a test that was not collected: {}", what, id));
        return insert(std::move(id));
    }

    size_t insert(std::string id) {
        const size_t i = record_.cases.size();
        record_.cases.emplace_back().id = id;
        index_.emplace(std::move(id), i);
        progress_.push_back(Progress::announced);
        return i;
    }

    ModuleRecord& record_;
    Diagnoser& diagnose_;
    std::unordered_map<std::string, size_t> index_;
    std::vector<Progress> progress_;
    Course course_;
    bool session_ = false;
    double epoch_ = 0;  // of the harness's clock, in seconds since 1970; 0: it did not say
    std::optional<std::int64_t> pid_;
    std::optional<std::int64_t> announced_;
    bool verified_;
    bool numbered_ = false;
    bool signed_ = false;  // the session's line has a MAC
    bool closing_in_log_ = true;
    std::int64_t next_ = 0;  // number of the harness's next line
    LineCount foreign_, forged_;
    LineCount after_finish_;  // by the harness
    LineCount shortened_;     // failures without their text
    std::uint64_t left_out_bytes_ = 0;
    size_t offset_ = 0;
};

// Its lines that have the key's MAC. One that is cut off at the end is no object, and kept for its
// diagnostic.
template <class Dropped>
LineSource with_mac(const LineSource& events, std::string_view key, Dropped dropped) {
    return LineSource::Read([&events, key, dropped](const LineVisitor& visit) {
        return events.read([&](const Line& line) {
            const std::string_view text = trimmed(line.text);
            const bool is_cut_off = !line.complete && !text.ends_with('}');
            if (text.empty() || is_cut_off ||
                has_mac(line.written.empty() ? line.text : line.written, key))
                return visit(line);
            dropped(static_cast<size_t>(line.offset));
        });
    });
}

}  // namespace

EventsResult parse_events(const LineSource& events, const ProcessEnd& end, std::string_view module,
                          std::string_view key) {
    EventsResult result;
    ModuleRecord& record = result.record;
    record.path = valid_utf8(module);
    Diagnoser diagnose("events", record.diagnostics);
    EventReader reader(record, diagnose, !key.empty());
    const auto note_forged = [&](size_t offset) { reader.note_forged(offset); };
    for_each_json_line(key.empty() ? events : with_mac(events, key, note_forged), diagnose,
                       [&](const json& line, size_t offset) { return reader.read(line, offset); });
    result.usable = reader.close(end);
    result.closing_in_log = reader.closing_in_log();
    return result;
}

}  // namespace compat::parsers
