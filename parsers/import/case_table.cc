#include "parsers/import/case_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "parsers/import/foreign.h"

namespace compat::parsers {

size_t CaseTable::add(CaseRecord c) {
    const auto has_id = [&](std::uint32_t at) { return at < size() && cases_[at].id == c.id; };
    std::uint32_t hash = NameIndex::hash_of(c.id);
    if (const std::uint32_t* const first = by_id_.find(hash, has_id)) {
        const size_t repeated = *first;
        const std::string plain = c.id;
        do {
            c.id = fmt::format("{}#{}", plain, ++repeats_[repeated]);
            hash = NameIndex::hash_of(c.id);
        } while (by_id_.find(hash, has_id));
    }
    const size_t i = size();
    by_id_.add(hash, static_cast<std::uint32_t>(i));
    cases_.push_back(std::move(c));
    repeats_.push_back(1);
    name(i);
    return i;
}

void CaseTable::name(size_t i) {
    const CaseRecord& c = cases_[i];
    std::uint32_t* const known = by_name_.find(hash_of(c), [&](std::uint32_t at) {
        return at < i && cases_[at].name == c.name && cases_[at].phase == c.phase;
    });
    if (!known) {
        by_name_.add(hash_of(c), static_cast<std::uint32_t>(i));
        return;
    }
    std::vector<size_t>& all = namesakes_[c.name];
    if (all.empty()) all.push_back(*known);
    all.push_back(i);
    *known = static_cast<std::uint32_t>(i);
}

std::optional<size_t> CaseTable::find(std::string_view name, Phase phase) {
    const std::uint32_t* const at =
        by_name_.find(NameIndex::hash_of(name), [&](std::uint32_t place) {
            return place < size() && cases_[place].name == name && cases_[place].phase == phase;
        });
    return at ? std::optional<size_t>(*at) : std::nullopt;
}

const std::vector<size_t>* CaseTable::namesakes(size_t i) const {
    const auto it = namesakes_.find(cases_[i].name);
    return it == namesakes_.end() ? nullptr : &it->second;
}

std::vector<CaseRecord> CaseTable::cut(size_t from) {
    for (size_t i = size(); i-- > from;) {
        const auto it = namesakes_.find(cases_[i].name);
        if (it == namesakes_.end()) continue;
        std::uint32_t* const last =
            by_name_.find(hash_of(cases_[i]), [&](std::uint32_t at) { return at == i; });
        std::vector<size_t>& all = it->second;
        all.pop_back();
        if (last) *last = static_cast<std::uint32_t>(all.back());
        if (all.size() == 1) namesakes_.erase(it);
    }
    std::vector<CaseRecord> removed(
        std::make_move_iterator(cases_.begin() + static_cast<std::ptrdiff_t>(from)),
        std::make_move_iterator(cases_.end()));
    cases_.resize(from);
    repeats_.resize(from);
    return removed;
}

std::string common_module(const std::vector<CaseRecord>& cases) {
    if (cases.empty()) return {};
    const std::string_view path = module_of(cases.front());
    const bool same = std::all_of(cases.begin(), cases.end(),
                                  [&](const CaseRecord& c) { return module_of(c) == path; });
    return same ? std::string(path) : std::string();
}

}  // namespace compat::parsers
