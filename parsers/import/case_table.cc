#include "parsers/import/case_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "parsers/import/importers.h"

namespace compat::parsers {

namespace {

// Names stand in the list itself: an index by their hashes copies none.
size_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

}  // namespace

std::optional<size_t> CaseNames::last(const std::vector<CaseRecord>& cases, std::string_view name) {
    const auto find = [&](std::string_view wanted) -> std::uint32_t* {
        const auto [begin, end] = by_name_.equal_range(hash_of(wanted));
        const auto found = std::find_if(
            begin, end, [&](const auto& known) { return cases[known.second].name == wanted; });
        return found == end ? nullptr : &found->second;
    };
    if (before_.empty()) by_name_.reserve(cases.size());
    while (before_.size() < cases.size()) {
        const auto i = static_cast<std::uint32_t>(before_.size());
        std::uint32_t* const known = find(cases[i].name);
        before_.push_back(known ? std::exchange(*known, i) : kNone);
        if (!known) by_name_.emplace(hash_of(cases[i].name), i);
    }
    const std::uint32_t* const known = find(name);
    return known ? std::optional<size_t>(*known) : std::nullopt;
}

void number_repeated_ids(std::vector<CaseRecord>& cases) {
    std::vector<size_t> hashes;
    for (const CaseRecord& c : cases) hashes.push_back(hash_of(c.id));
    std::sort(hashes.begin(), hashes.end());
    if (std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end()) return;
    std::unordered_set<std::string> taken;
    std::unordered_map<std::string, int> repeats;
    for (CaseRecord& c : cases) {
        std::string id = c.id;
        while (!taken.insert(id).second) {
            int& n = repeats.try_emplace(c.id, 1).first->second;
            id = fmt::format("{}#{}", c.id, ++n);
        }
        c.id = std::move(id);
    }
}

std::string common_module(const std::vector<CaseRecord>& cases) {
    if (cases.empty()) return {};
    const std::string_view path = module_of(cases.front());
    const bool same = std::all_of(cases.begin(), cases.end(),
                                  [&](const CaseRecord& c) { return module_of(c) == path; });
    return same ? std::string(path) : std::string();
}

void set_outcome_by_cases(ModuleRecord& record) {
    if (record.cases.empty()) {
        record.outcome = ModuleOutcome::no_tests;
        record.reason = "no tests in it";
    } else if (const CaseRecord& first = record.cases[0];
               record.cases.size() == 1 && first.phase == Phase::load && first.failure) {
        record.outcome = ModuleOutcome::load_error;
        record.reason = first.failure->first_line();
    }
}

}  // namespace compat::parsers
