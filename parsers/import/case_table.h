// The cases of one run as its text names them: found again by name, and each with an id of its own
// at the end. Not for what is said of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/name_index.h"
#include "parsers/record.h"

namespace compat::parsers {

// Where the cases with a name are in a list that grows, and is cut at its end now and then.
class CaseNames {
  public:
    // The last one; those that were added since the last call are found, too.
    [[nodiscard]] std::optional<size_t> last(const std::vector<CaseRecord>& cases,
                                             std::string_view name);
    // All, in their order.
    [[nodiscard]] std::vector<size_t> all(const std::vector<CaseRecord>& cases,
                                          std::string_view name);
    // Before the list is cut.
    void clear() {
        by_name_.clear();
        before_.clear();
    }

  private:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    NameIndex by_name_;                  // the last one of each
    std::vector<std::uint32_t> before_;  // of each known case, the one before with its name
};

// Gives the second case with an id "#2", and so on.
void number_repeated_ids(std::vector<CaseRecord>& cases);

// The one module of all the cases; empty where there are several, or none.
[[nodiscard]] std::string common_module(const std::vector<CaseRecord>& cases);

}  // namespace compat::parsers
