#include "runner/exec/progress.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "runner/base/isolation/source_copy.h"
#include "runner/base/line_mac.h"
#include "runner/base/names.h"

namespace compat::exec {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t kNoMore = std::numeric_limits<std::int64_t>::max();

// Bounds for text that a child controls.
constexpr size_t kLongestId = 64 << 10, kLongestMessage = 64 << 10;
constexpr size_t kMostOpen = 256;

struct Event {
    std::string name, id, state, type, message;
    bool has_id = false;
    std::optional<std::int64_t> pid, seq;
};

// Stores values during the parse, so that the head of a truncated line counts. Ignores everything
// nested deeper than `failure`.
std::optional<Event> event_of(std::string_view line, bool cut) {
    if (json_nests_deeper(line)) return std::nullopt;
    Event event;
    std::string key, inner;
    bool is_object = false;
    const auto take = [&](int depth, Json::parse_event_t what, Json& parsed) {
        using Kind = Json::parse_event_t;
        if (what == Kind::object_start && depth == 0) is_object = true;
        if (what == Kind::key) (depth == 1 ? key : inner) = parsed.get<std::string>();
        if (what == Kind::value && depth == 1) {
            if (parsed.is_number_integer() && (key == "pid" || key == "seq"))
                (key == "pid" ? event.pid : event.seq) = parsed.get<std::int64_t>();
            if (!parsed.is_string()) return false;
            auto& text = parsed.get_ref<std::string&>();
            if (key == "event") event.name = std::move(text);
            if (key == "state") event.state = std::move(text);
            if (key == "id") {
                event.id = first_bytes(text, kLongestId);
                event.has_id = true;
            }
        }
        if (what == Kind::value && depth == 2 && key == "failure" && parsed.is_string()) {
            const std::string_view text = parsed.get_ref<const std::string&>();
            if (inner == "type") event.type = first_bytes(text, kLongestMessage);
            if (inner == "message") event.message = first_bytes(text, kLongestMessage);
        }
        // Builds no value and enters no other object.
        return depth == 0 || (what == Kind::object_start && depth == 1 && key == "failure");
    };
    const Json whole = Json::parse(line, take, /*allow_exceptions=*/false);
    if (!is_object || (whole.is_discarded() && !cut)) return std::nullopt;
    return event;
}

}  // namespace

bool ProgressReader::is_next(std::int64_t seq) {
    if (next_ == 0 && seq < 0) return true;
    if (seq < next_ || seq == kNoMore) return false;
    next_ = seq + 1;
    return true;
}

void ProgressReader::feed(std::string_view line, bool cut) {
    if (!key_.empty() && (cut || !has_mac(line, key_))) return;
    auto event = event_of(line, cut);
    if (!event || event->name.empty() || !event->pid) return;
    if (pid_ == 0) pid_ = *event->pid;
    if (*event->pid != pid_ || !is_next(event->seq.value_or(-1))) return;

    if (event->name == "session") {
        progress_.session = true;
    } else if (event->name == "collected") {
        ++progress_.collected;
    } else if (event->name == "ready") {
        progress_.ready = true;
    } else if (event->name == "finish") {
        next_ = kNoMore;
    } else if (event->has_id && event->name == "start") {
        ++progress_.starts;
        open_.push_back(std::move(event->id));
        if (open_.size() > kMostOpen) open_.pop_front();
    } else if (event->has_id && event->name == "end") {
        ++progress_.ended;  // also without a start
        const auto open = std::find(open_.rbegin(), open_.rend(), event->id);
        if (open != open_.rend()) open_.erase(std::next(open).base());
        if (event->state != "passed")
            ends_.push_back({std::move(event->id), std::move(event->state), std::move(event->type),
                             with_source_paths(event->message)});
    }
    progress_.current = open_.empty() ? std::string() : open_.back();
}

bool ProgressReader::poll() {
    const Progress before = progress_;
    const auto more =
        lines_.read([this](const Line& line) { feed(line.text, line.cut_bytes > 0); });
    progress_.behind = more.value_or(false);
    return progress_ != before;
}

}  // namespace compat::exec
