#include "runner/hub/server/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runner/base/clock.h"
#include "runner/base/files.h"
#include "runner/base/line_reader.h"
#include "runner/base/secrets.h"
#include "runner/hub/json_text.h"
#include "runner/hub/store/digest.h"

namespace compat::hub {

namespace {

using nlohmann::json;

constexpr std::uint64_t kLogBytes = 16 << 20;
constexpr std::uint64_t kRequestsPerLine = 100;  // a run that is killed loses fewer
constexpr std::size_t kMostNamed = 1'000, kMostSeen = 100'000, kWhyBytes = 500;

// Lines about nothing that was asked for.
constexpr std::string_view kCounts = "counts", kProblem = "problem";

struct HowRow {
    How how;
    std::string_view name;
    bool is_answered, is_missing, is_problem;
};
constexpr std::array<HowRow, 7> kHows{{
    {How::recorded, "recorded", true, false, false},
    {How::fetched, "fetched", true, false, false},
    {How::generated, "generated", true, false, false},
    {How::absent, "absent", false, false, false},
    {How::missing, "missing", false, true, false},
    {How::damaged, "damaged", false, false, true},
    {How::failed, "failed", false, false, true},
}};

const HowRow& row_of(How how) { return kHows.at(static_cast<std::size_t>(how)); }

void add_name(std::vector<std::string>& list, const std::string& name) {
    if (list.size() < kMostNamed && std::find(list.begin(), list.end(), name) == list.end())
        list.push_back(name);
}

void add_named(std::vector<Named>& list, std::string name, std::string why) {
    const auto is_it = [&](const Named& one) { return one.name == name; };
    if (list.size() < kMostNamed && std::none_of(list.begin(), list.end(), is_it))
        list.push_back({std::move(name), std::move(why)});
}

// A repository or an address, "model org/name".
std::string subject_of(std::string_view kind, const std::string& name) {
    return kind.empty() || kind == "url" ? name : fmt::format("{} {}", kind, name);
}

void add_to(Summary& summary, const HowRow& row, const std::string& subject,
            const std::string& file, const std::string& why) {
    const std::string name = file.empty() ? subject : fmt::format("{}: {}", subject, file);
    if (row.is_answered) add_name(summary.served, subject);
    if (row.how == How::generated) add_name(summary.generated, subject);
    if (row.is_missing) add_named(summary.missing, name, why);
    if (row.is_problem) add_named(summary.problems, name, why);
}

std::string text_member(const json& line, const char* key) {
    const auto at = line.find(key);
    return at != line.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::uint64_t number_member(const json& line, const char* key) {
    const auto at = line.find(key);
    return at != line.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

void read_line(const std::string& text, Summary& summary) {
    if (json_nests_deeper(text)) return;
    const json line = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!line.is_object()) return;
    summary.requests += number_member(line, "requests");
    summary.bytes_fetched += number_member(line, "bytes_fetched");
    const std::string how = text_member(line, "how");
    const auto row = std::find_if(kHows.begin(), kHows.end(),
                                  [&](const HowRow& one) { return one.name == how; });
    const std::string subject = subject_of(text_member(line, "kind"), text_member(line, "name"));
    if (row != kHows.end())
        add_to(summary, *row, subject, text_member(line, "file"), text_member(line, "why"));
    else if (how == kProblem)
        add_named(summary.problems, subject, text_member(line, "why"));
}

}  // namespace

std::string_view name_of(How how) { return row_of(how).name; }

void Journal::add(const Entry& entry) {
    json line{
        {"kind", entry.kind}, {"name", mask_own_secrets(entry.name)}, {"how", name_of(entry.how)}};
    if (!entry.revision.empty()) line["revision"] = entry.revision;
    if (!entry.file.empty()) line["file"] = entry.file;
    if (seen_.size() >= kMostSeen)
        return add_problem("hub.jsonl",
                           fmt::format("after {} names, no more are noted", kMostSeen));
    // A test may send names of 16 KiB without end.
    if (!seen_.insert(sha256_of(json_text(line))).second) return;
    const std::string why = mask_own_secrets(entry.why).substr(0, kWhyBytes);
    add_to(summary_, row_of(entry.how), subject_of(entry.kind, line["name"]), entry.file, why);
    if (!why.empty()) line["why"] = why;
    if (!entry.made_from.empty()) line["class"] = entry.made_from;
    write(std::move(line));
}

void Journal::add_problem(std::string name, std::string why) {
    why = mask_own_secrets(why).substr(0, kWhyBytes);
    const std::size_t before = summary_.problems.size();
    add_named(summary_.problems, name, why);
    if (summary_.problems.size() > before)
        write({{"how", kProblem}, {"name", std::move(name)}, {"why", std::move(why)}});
}

void Journal::count_request() {
    ++summary_.requests;
    if (++new_requests_ >= kRequestsPerLine) write({{"how", kCounts}});
}

void Journal::count_fetched(std::uint64_t bytes) {
    summary_.bytes_fetched += bytes;
    new_bytes_ += bytes;
}

void Journal::finish() {
    if (new_requests_ + new_bytes_ > 0) write({{"how", kCounts}});
}

void Journal::write(json line) {
    if (log_.empty() || bytes_ > kLogBytes) return;
    line["at"] = iso8601(SystemClock().wall());
    if (const auto count = std::exchange(new_requests_, 0)) line["requests"] = count;
    if (const auto count = std::exchange(new_bytes_, 0)) line["bytes_fetched"] = count;
    const std::string written = json_text(line);
    bytes_ += written.size() + 1;
    const auto appended = append_line(log_, written);
    if (!appended) add_named(summary_.problems, "hub.jsonl", to_line(appended.error()));
}

std::optional<Summary> read_journal(const FileBelow& log) {
    Summary summary;
    LineReader reader(log);
    const auto visit = [&](const Line& line) { read_line(std::string(line.text), summary); };
    while (true) {
        const auto more = reader.read(visit);
        if (!more) return std::nullopt;
        if (!*more) break;
    }
    reader.finish(visit);
    return summary;
}

}  // namespace compat::hub
