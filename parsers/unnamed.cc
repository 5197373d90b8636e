#include "parsers/unnamed.h"

#include <fmt/format.h>

#include <algorithm>

namespace compat::parsers {

void Unnamed::keep_taken() {
    if (!last_number_.empty()) return;
    for (const CaseRecord& row : record_.cases)
        if (row.id.find("::<unnamed ") != std::string::npos) taken_.insert(row.id);
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
    std::int64_t& number = last_number_[std::string(path)];
    for (std::int64_t left = take_room(count); left > 0; --left) {
        CaseRecord& row = record_.cases.emplace_back(like);
        do {
            row.name = fmt::format("<unnamed {}>", ++number);
            row.id = fmt::format("{}::{}", path, row.name);
        } while (taken_.contains(row.id));
    }
}

void Unnamed::tell(size_t offset) const {
    if (added_ == 0 && left_out_ == 0) return;
    std::string words =
        fmt::format("{} {} counted and not named", added_, added_ == 1 ? "test is" : "tests are");
    if (left_out_ > 0) words += fmt::format("; {} more are too many to have rows", left_out_);
    record_.diagnostics.push_back({"log", static_cast<std::int64_t>(offset), std::move(words)});
}

}  // namespace compat::parsers
