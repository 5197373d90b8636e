// Whether two readings of one attempt agree on every test: its events and its log's text, or older
// parsers and today's. Pure. Not for two runs (comparison.h).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/record.h"

namespace compat::analysis {

// Why a log's text cannot agree with the events on a test.
enum class TextLimit {
    under_fixture,   // its fixture broke or skipped: the text names only the fixture
    never_named,     // it did not start: only the collection knows it
    not_verbose,     // the text counts tests by state and names only those that broke
    process_died,    // the process died before it wrote the rest
    output_is_lost,  // closed or redirected by the suite, or cut from a log that grew too long
    ambiguous_name,  // the text's line cannot express the name
};
inline constexpr std::array<std::string_view, 6> kTextLimitNames{
    "under_fixture", "never_named",    "not_verbose",
    "process_died",  "output_is_lost", "ambiguous_name"};
[[nodiscard]] constexpr std::string_view name_of(TextLimit limit) {
    return kTextLimitNames[static_cast<size_t>(limit)];
}

// A test on which the readings disagree. No state: the reading does not have the test.
struct Difference {
    std::string test;
    std::optional<parsers::State> before;
    std::optional<parsers::State> after;
    std::optional<TextLimit> reason;

    friend bool operator==(const Difference&, const Difference&) = default;
};

// Tests of `before` in their order, then those that only `after` has. Sets no reason.
[[nodiscard]] std::vector<Difference> differences(const parsers::ModuleRecord& before,
                                                  const parsers::ModuleRecord& after);

// The same order, with reasons: `text` was read from the log alone. `cut`: a part of the log was
// dropped when it was written.
[[nodiscard]] std::vector<Difference> differences_of_text(const parsers::ModuleRecord& events,
                                                          const parsers::ModuleRecord& text,
                                                          bool cut);

}  // namespace compat::analysis
