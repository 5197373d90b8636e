#include "runner/hub/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "runner/base/clock.h"
#include "runner/base/files.h"
#include "runner/base/secrets.h"
#include "runner/hub/digest.h"
#include "runner/hub/json_text.h"

namespace compat::hub {

namespace {

using nlohmann::json;

constexpr std::uint64_t kLogBytes = 16 << 20;
constexpr std::size_t kMostNamed = 1'000, kMostSeen = 100'000, kWhyBytes = 500;

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

}  // namespace

std::string_view name_of(How how) { return row_of(how).name; }

void Journal::add(const Entry& entry) {
    json line{{"kind", entry.kind}, {"name", entry.name}, {"how", name_of(entry.how)}};
    if (!entry.revision.empty()) line["revision"] = entry.revision;
    if (!entry.file.empty()) line["file"] = entry.file;
    if (seen_.size() >= kMostSeen)
        return add_problem("hub.jsonl",
                           fmt::format("after {} names, no more are noted", kMostSeen));
    // A test may send names of 16 KiB without end.
    if (!seen_.insert(sha256_of(json_text(line))).second) return;
    const std::string why = mask_own_secrets(entry.why).substr(0, kWhyBytes);
    const HowRow& row = row_of(entry.how);
    const std::string repository =
        entry.kind == "url" ? entry.name : fmt::format("{} {}", entry.kind, entry.name);
    const std::string name =
        entry.file.empty() ? repository : fmt::format("{}: {}", repository, entry.file);
    if (row.is_answered) add_name(summary_.served, repository);
    if (entry.how == How::generated) add_name(summary_.generated, repository);
    if (row.is_missing) add_named(summary_.missing, name, why);
    if (row.is_problem) add_problem(name, why);
    if (log_.empty() || bytes_ > kLogBytes) return;
    line["at"] = iso8601(SystemClock().wall());
    if (!why.empty()) line["why"] = why;
    if (!entry.made_from.empty()) line["class"] = entry.made_from;
    const std::string written = json_text(line);
    bytes_ += written.size() + 1;
    const auto appended = append_line(log_, written);
    if (!appended) add_problem("hub.jsonl", to_line(appended.error()));
}

void Journal::add_problem(std::string name, std::string why) {
    add_named(summary_.problems, std::move(name), std::move(why));
}

}  // namespace compat::hub
