// <attempt>.hub.jsonl, as the hub's hook in the child writes it (docs/reference/file-formats.md):
// which repositories and addresses each test used, which of these the hub made up, and which it
// could not give. Not for what that means for a failure (diagnosis/diagnose.h) or for a reader (runner/analysis/marks.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "parsers/record.h"
#include "parsers/text_source.h"

namespace compat::parsers {

// Generated and missing things. Recorded content is as good as the hub's own: nobody asks.
class HubUses {
  public:
    // Any bytes. Never fails; broken lines are diagnostics.
    [[nodiscard]] static HubUses parse(const LineSource& lines);

    // Gives each test what it used: its own, and what was used outside of tests if it ran.
    void add_to(std::vector<CaseRecord>& cases) const;
    [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

  private:
    struct Names {
        std::set<std::string> kept;    // the first in the alphabet, kMostHubNames at most
        std::set<std::uint64_t> seen;  // checksums of all

        void add(std::string name);
        [[nodiscard]] HubNames use() const;
    };
    using ByTest = std::map<std::string, Names>;  // "" outside of tests

    [[nodiscard]] static HubNames used(const ByTest& by_test, const CaseRecord& test);

    ByTest generated_, missing_;
    std::vector<Diagnostic> diagnostics_;
};

}  // namespace compat::parsers
