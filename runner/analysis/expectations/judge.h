// Compares a run's results with its expectations: which entry governs a test, whether the result is
// as expected, and which entries are of no more use. Pure. Not for the file of the entries
// (suites/expectations.h) nor for changing them (update.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "parsers/record.h"
#include "runner/analysis/expectations/conditions.h"
#include "runner/analysis/expectations/pattern.h"
#include "runner/base/expectation.h"

namespace compat::analysis {

// A result beside what is expected. Without an entry, what makes a run fail is unexpected
// (is_unexpected). With one, a state that it names is expected. A skip, or a failure that the
// framework expects (xfailed), contradicts no entry: it is no result.
enum class Fit { as_expected, unexpected_failure, unexpected_pass };
inline constexpr std::array<std::string_view, 3> kFitNames{"as_expected", "unexpected_failure",
                                                           "unexpected_pass"};
[[nodiscard]] constexpr std::string_view name_of(Fit fit) {
    return kFitNames[static_cast<size_t>(fit)];
}

struct Judged {
    Fit fit = Fit::as_expected;
    const Expectation* entry = nullptr;  // that governs the result; null: none
};

// Whether the state makes a run fail where nothing is expected of the test.
[[nodiscard]] bool is_unexpected(parsers::State state, std::string_view framework);

// The entries of a run. Those whose conditions do not hold, and those past their last day, govern
// nothing. If several match an id, the most specific pattern governs (pattern.h), then the entry
// with more conditions, then the later one.
class Expectations {
  public:
    Expectations() = default;
    Expectations(std::vector<Expectation> entries, Circumstances run);

    [[nodiscard]] const std::vector<Expectation>& entries() const { return entries_; }
    [[nodiscard]] const Circumstances& run() const { return run_; }
    [[nodiscard]] bool applies(size_t entry) const { return applies_[entry]; }
    [[nodiscard]] bool expired(size_t entry) const { return expired_[entry]; }

    // The entry that governs an id; null: none.
    [[nodiscard]] const Expectation* governing(std::string_view id) const;
    // An entry past its last day that expected this result; null: none.
    [[nodiscard]] const Expectation* expired_for(std::string_view id, parsers::State state) const;

    // A test that broke only in sub-tests is as expected if each broken one is. A sub-test with an
    // entry of its own that passed unexpectedly makes its test an unexpected pass.
    [[nodiscard]] Judged judge(const parsers::CaseRecord& test, std::string_view framework) const;
    // Whether a module crashed, timed out or could not be loaded only where that is expected.
    [[nodiscard]] bool explains_outcome(const parsers::ModuleRecord& module) const;

    // By its id and state alone.
    [[nodiscard]] Judged judge_state(std::string_view id, parsers::State state,
                                     std::string_view framework) const;

  private:
    [[nodiscard]] Judged judge_subtests(const parsers::CaseRecord& test, Judged own) const;

    std::vector<Expectation> entries_;
    Circumstances run_;
    std::vector<bool> applies_, expired_;            // by entry
    std::unordered_map<std::string, size_t> exact_;  // the one that governs, by id
    std::vector<size_t> patterns_;                   // with wildcards, the most specific first
};

// `info`: a store::RunInfo.
template <class Info>
[[nodiscard]] Expectations expectations_of(const Info& info) {
    auto entries = from_stored(info.expectations);
    if (entries.empty()) return {};
    return {std::move(entries), circumstances_of(info)};
}

// An entry that a person should look at.
struct EntryNote {
    enum class Kind {
        expired,    // past its last day: it no longer applies
        unmatched,  // no test has such an id
        stale       // all tests that it governs pass
    };
    Kind kind = Kind::expired;
    size_t entry = 0;
};
inline constexpr std::array<std::string_view, 3> kEntryNoteNames{"expired", "unmatched", "stale"};
[[nodiscard]] constexpr std::string_view name_of(EntryNote::Kind kind) {
    return kEntryNoteNames[static_cast<size_t>(kind)];
}

using CountsByState = std::array<std::int64_t, parsers::kStateNames.size()>;

// Sums over the modules of a run.
class ExpectationTally {
  public:
    explicit ExpectationTally(const Expectations& expectations);
    // With a test's verdict in each row.
    void add(const parsers::ModuleRecord& record);

    // Tests that would make the run fail and are as expected.
    [[nodiscard]] const CountsByState& expected() const { return expected_; }
    [[nodiscard]] const CountsByState& unexpected(Fit fit) const {
        return fit == Fit::unexpected_pass ? passes_ : failures_;
    }
    // Unexpected passes of tests with an entry.
    [[nodiscard]] const CountsByState& passes_with_entry() const { return passes_with_entry_; }
    // In the order of the entries. Only of those whose conditions hold.
    [[nodiscard]] std::vector<EntryNote> notes() const;
    // Whether the run shows all tests that the entry could match.
    [[nodiscard]] bool covers(size_t entry) const;

  private:
    struct Use {
        bool matched = false;
        bool unknown = false;  // a module whose tests are not known may have some
        std::int64_t governed = 0, passes = 0;
    };
    void match(const std::string& id);

    const Expectations* expectations_;
    std::vector<Use> uses_;                                       // by entry
    std::vector<ModulePattern> for_modules_;                      // by entry
    std::vector<size_t> unmatched_;                               // so far, of those with wildcards
    std::unordered_multimap<std::string, size_t> unmatched_ids_;  // of the others
    CountsByState expected_{}, passes_{}, passes_with_entry_{}, failures_{};
};

}  // namespace compat::analysis
