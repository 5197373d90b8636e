#include "parsers/unnamed.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "parsers/text.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kPrefix = "<unnamed ";

void number(CaseRecord& row, std::string_view path, std::int64_t number) {
    row.name = fmt::format("{}{}>", kPrefix, number);
    row.id = fmt::format("{}::{}", path, row.name);
}

}  // namespace

void Unnamed::keep_taken() {
    if (taken_) return;
    taken_.emplace();
    for (const CaseRecord& row : record_.cases)
        if (row.id.find("::<unnamed ") != std::string::npos) taken_->insert(row.id);
}

std::int64_t Unnamed::take_room(std::int64_t count) {
    const std::int64_t fitting = std::clamp<std::int64_t>(count, 0, room_.left);
    room_.left -= fitting;
    added_ += fitting;
    left_out_ += std::clamp<std::int64_t>(count, 0, kGreatestCount) - fitting;
    return fitting;
}

void Unnamed::add(std::string_view path, std::int64_t count, const CaseRecord& like) {
    if (count <= 0) return;
    keep_taken();
    std::int64_t& last = room_.last_number[std::string(path)];
    for (std::int64_t left = take_room(count); left > 0; --left) {
        CaseRecord& row = record_.cases.emplace_back(like);
        do number(row, path, ++last);
        while (taken_->contains(row.id));
    }
}

std::int64_t number_unnamed_after(ModuleRecord& record, std::int64_t before) {
    std::int64_t last = 0;
    for (CaseRecord& row : record.cases) {
        const std::string_view name = row.name;
        if (!name.starts_with(kPrefix) || !row.id.ends_with("::" + row.name)) continue;
        const auto n = number_of(name.substr(kPrefix.size(), name.size() - kPrefix.size() - 1));
        if (!n || *n > kGreatestCount) continue;
        const std::string path = row.id.substr(0, row.id.size() - name.size() - 2);
        number(row, path, before + *n);
        last = std::max(last, before + *n);
    }
    return last;
}

void Unnamed::tell(size_t offset) const {
    if (added_ == 0 && left_out_ == 0) return;
    std::string words =
        fmt::format("{} {} counted and not named", added_, added_ == 1 ? "test is" : "tests are");
    if (left_out_ > 0) words += fmt::format("; {} more are too many to have rows", left_out_);
    record_.diagnostics.push_back({"log", static_cast<std::int64_t>(offset), std::move(words)});
}

}  // namespace compat::parsers
