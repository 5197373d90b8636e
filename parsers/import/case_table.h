// The cases of one run as its text names them: found again by name, and each with an id of its own
// at the end. Not for what is said of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "parsers/record.h"

namespace compat::parsers {

// Where the cases with a name are in a list that grows.
class CaseNames {
  public:
    // The last one; those that were added since the last call are found, too.
    [[nodiscard]] std::optional<size_t> last(const std::vector<CaseRecord>& cases,
                                             std::string_view name);
    // The case before one that it gave, with the same name.
    [[nodiscard]] std::optional<size_t> before(size_t i) const {
        return before_[i] == kNone ? std::nullopt : std::optional<size_t>(before_[i]);
    }

  private:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    std::unordered_multimap<size_t, std::uint32_t> by_name_;  // by its hash, the last one of each
    std::vector<std::uint32_t> before_;  // of each known case, the one before with its name
};

// Gives the second case with an id "#2", and so on.
void number_repeated_ids(std::vector<CaseRecord>& cases);

// The one module of all the cases; empty where there are several, or none.
[[nodiscard]] std::string common_module(const std::vector<CaseRecord>& cases);

// Gives a module without a test, or with nothing but a file that could not be loaded, its outcome.
void set_outcome_by_cases(ModuleRecord& record);

}  // namespace compat::parsers
