#include "parsers/import/case_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "parsers/import/foreign.h"

namespace compat::parsers {

std::optional<size_t> CaseNames::last(const std::vector<CaseRecord>& cases, std::string_view name) {
    const auto find = [&](std::uint32_t hash, std::string_view wanted) {
        return by_name_.find(hash, [&](std::uint32_t at) { return cases[at].name == wanted; });
    };
    while (before_.size() < cases.size()) {
        const auto i = static_cast<std::uint32_t>(before_.size());
        const std::uint32_t hash = NameIndex::hash_of(cases[i].name);
        std::uint32_t* const known = find(hash, cases[i].name);
        before_.push_back(known ? std::exchange(*known, i) : kNone);
        if (!known) by_name_.add(hash, i);
    }
    const std::uint32_t* const known = find(NameIndex::hash_of(name), name);
    return known ? std::optional<size_t>(*known) : std::nullopt;
}

std::vector<size_t> CaseNames::all(const std::vector<CaseRecord>& cases, std::string_view name) {
    std::vector<size_t> found;
    if (const auto at = last(cases, name))
        for (auto i = static_cast<std::uint32_t>(*at); i != kNone; i = before_[i])
            found.push_back(i);
    std::reverse(found.begin(), found.end());
    return found;
}

void number_repeated_ids(std::vector<CaseRecord>& cases) {
    NameIndex by_id;
    std::unordered_map<std::string, int> repeats;
    for (size_t i = 0; i < cases.size(); ++i) {
        const auto is_known = [&](const std::string& id) {
            return by_id.find(NameIndex::hash_of(id),
                              [&](std::uint32_t at) { return cases[at].id == id; });
        };
        std::string id = cases[i].id;
        while (is_known(id)) {
            int& n = repeats.try_emplace(cases[i].id, 1).first->second;
            id = fmt::format("{}#{}", cases[i].id, ++n);
        }
        cases[i].id = std::move(id);
        by_id.add(NameIndex::hash_of(cases[i].id), static_cast<std::uint32_t>(i));
    }
}

std::string common_module(const std::vector<CaseRecord>& cases) {
    if (cases.empty()) return {};
    const std::string_view path = module_of(cases.front());
    const bool same = std::all_of(cases.begin(), cases.end(),
                                  [&](const CaseRecord& c) { return module_of(c) == path; });
    return same ? std::string(path) : std::string();
}

}  // namespace compat::parsers
