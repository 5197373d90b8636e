// Whether two readings of one attempt say the same of every test: of its events and of its log's
// text alone, or of older parsers and of today's. Pure. Not for two runs: those are compared by
// what their tests did.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/record.h"

namespace compat::analysis {

// Why a log's text cannot say of a test what its events do.
enum class Untold {
    under_fixture,     // its class or module fixture broke or skipped: the text names that alone
    never_named,       // it did not start: only who collected it knows of it
    not_verbose,       // the text counts tests by their states and names those alone that broke
    process_died,      // what it had not written when it died, and in what it died
    output_is_lost,    // closed or redirected by the suite, or cut from a log that grew too long
    unspeakable_name,  // its name is none that a line of the text can be told to hold
};
inline constexpr std::array<std::string_view, 6> kUntoldNames{"under_fixture",  "never_named",
                                                              "not_verbose",    "process_died",
                                                              "output_is_lost", "unspeakable_name"};
[[nodiscard]] constexpr std::string_view name_of(Untold u) {
    return kUntoldNames[static_cast<size_t>(u)];
}

// A test that the two do not agree on. Without a state: it is not in that reading.
struct Difference {
    std::string test;
    std::optional<parsers::State> before;
    std::optional<parsers::State> after;
    std::optional<Untold> why;  // empty: there is no reason for it

    friend bool operator==(const Difference&, const Difference&) = default;
};

// In the order of the tests in `before`, then of those that are in `after` alone. None has a
// reason.
[[nodiscard]] std::vector<Difference> differences(const parsers::ModuleRecord& before,
                                                  const parsers::ModuleRecord& after);

// The same where `text` was read from the log alone, each with its reason where there is one.
// `cut`: a part of the log was dropped when it was written.
[[nodiscard]] std::vector<Difference> differences_of_text(const parsers::ModuleRecord& events,
                                                          const parsers::ModuleRecord& text,
                                                          bool cut);

}  // namespace compat::analysis
