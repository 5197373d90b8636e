// The cases of one run as its text names them: each gets an id of its own, and is found again by
// its name. Not for what is said of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "parsers/name_index.h"
#include "parsers/record.h"

namespace compat::parsers {

class CaseTable {
  public:
    // Gives the case an id that no other has ("#2"), and its place.
    size_t add(CaseRecord c);
    // The last one with the name; of a fixture and a test that have one name, that of the phase.
    [[nodiscard]] std::optional<size_t> find(std::string_view name, Phase phase = Phase::call);
    // All with the name of case `i`, where there are several.
    [[nodiscard]] const std::vector<size_t>* namesakes(size_t i) const;
    // Without the cases from a place on.
    std::vector<CaseRecord> cut(size_t from);

    [[nodiscard]] size_t size() const { return cases_.size(); }
    [[nodiscard]] CaseRecord& operator[](size_t i) { return cases_[i]; }
    [[nodiscard]] const CaseRecord& operator[](size_t i) const { return cases_[i]; }
    [[nodiscard]] std::vector<CaseRecord>& all() { return cases_; }
    [[nodiscard]] const std::vector<CaseRecord>& all() const { return cases_; }

  private:
    [[nodiscard]] static std::uint32_t hash_of(const CaseRecord& c) {
        return NameIndex::hash_of(c.name);
    }
    void name(size_t i);

    std::vector<CaseRecord> cases_;
    std::vector<int> repeats_;  // how many have its id, numbers apart
    NameIndex by_id_;           // places that were cut stay in both
    NameIndex by_name_;
    std::unordered_map<std::string, std::vector<size_t>> namesakes_;
};

// The one module of all the cases; empty where there are several, or none.
[[nodiscard]] std::string common_module(const std::vector<CaseRecord>& cases);

}  // namespace compat::parsers
