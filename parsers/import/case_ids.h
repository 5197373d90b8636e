// Ids that no two cases of one part have, whatever a file names its tests. Not for a reader that
// knows more of a repeated name than that it is one (unittest, pytest, JUnit XML).
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace compat::parsers {

class CaseIds {
  public:
    // The id itself, or with the first of "#2", "#3" and so on that no case has yet.
    [[nodiscard]] std::string unique(const std::string& id);

  private:
    std::unordered_set<std::string> taken_;
    std::unordered_map<std::string, int> repeats_;
};

}  // namespace compat::parsers
