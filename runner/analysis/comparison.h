// The states of each test in several runs side by side: a baseline, by default run 0, and the runs
// compared with it. Holds states, not failures: callers keep details by the test's index. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "parsers/record.h"

namespace compat::analysis {

// Whether a state shows that the tested code works.
enum class StateKind { good, broken, idle };
[[nodiscard]] StateKind kind_of(parsers::State state);

// How a test's state in a run differs from its state in the baseline (docs/reference/terms.md).
enum class Change { lost, fails_now, no_longer, missing, gained, runs_now, added, otherwise };
inline constexpr std::array<std::string_view, 8> kChangeNames{
    "lost", "fails_now", "no_longer", "missing", "gained", "runs_now", "added", "otherwise"};
[[nodiscard]] constexpr std::string_view name_of(Change c) {
    return kChangeNames[static_cast<std::size_t>(c)];
}
// No state: the run does not have the test. No change: both are equal.
[[nodiscard]] std::optional<Change> change_between(std::optional<parsers::State> baseline,
                                                   std::optional<parsers::State> other);

// One run against a baseline. tests = unchanged + changes without `missing`.
struct RunCounts {
    std::int64_t tests = 0;
    std::int64_t baseline_tests = 0;
    std::int64_t unchanged = 0;
    std::int64_t duplicates = 0;  // not in `tests`
    std::array<std::int64_t, kChangeNames.size()> changes{};

    [[nodiscard]] std::int64_t count(Change change) const {
        return changes[static_cast<std::size_t>(change)];
    }
};

class Comparison {
  public:
    explicit Comparison(std::size_t runs = 0) : runs_(runs) {}
    Comparison(Comparison&&) = default;
    Comparison& operator=(Comparison&&) = default;

    // Returns the index of a further run.
    std::size_t add_run();

    struct Test {
        std::string id;
        std::string_view module;  // empty: not given
        bool pseudo = false;      // a row that is not a test
    };
    struct Added {
        std::size_t test;  // its index, in the order in which tests were first added
        bool duplicate;    // the run has the test already: its first state stays
    };
    Added add(std::size_t run, std::string_view id, parsers::State state,
              std::string_view module = {}, bool pseudo = false);

    [[nodiscard]] std::size_t runs() const { return runs_.size(); }
    [[nodiscard]] std::size_t tests() const { return tests_.size(); }
    [[nodiscard]] const Test& test(std::size_t index) const { return tests_[index]; }
    [[nodiscard]] std::optional<std::size_t> find(std::string_view id) const;
    [[nodiscard]] std::optional<parsers::State> state(std::size_t test, std::size_t run) const;
    [[nodiscard]] std::optional<Change> change(std::size_t test, std::size_t run,
                                               std::size_t baseline = 0) const {
        return change_between(state(test, baseline), state(test, run));
    }
    // Tests whose state is not equal in all runs, in the order of their indices.
    [[nodiscard]] std::vector<std::size_t> tests_that_differ() const;

    // `baseline_of(test)` is the run with which that test is compared.
    template <class BaselineOf>
    [[nodiscard]] RunCounts counts(std::size_t run, BaselineOf baseline_of) const {
        RunCounts counts;
        counts.duplicates = runs_[run].duplicates;
        for (std::size_t i = 0; i < tests(); ++i) count(i, run, baseline_of(i), counts);
        return counts;
    }
    [[nodiscard]] RunCounts counts(std::size_t run) const {
        return counts(run, [](std::size_t) { return std::size_t{0}; });
    }

  private:
    struct Run {
        std::vector<std::uint8_t> states;  // by test; kAbsent, or shorter: it has no such test
        std::int64_t duplicates = 0;
    };
    void count(std::size_t test, std::size_t run, std::size_t baseline, RunCounts& counts) const;

    std::vector<Run> runs_;
    std::deque<Test> tests_;  // a test never moves, so that index_ can refer to its id
    std::unordered_map<std::string_view, std::uint32_t> index_;
    std::unordered_set<std::string> modules_;
};

}  // namespace compat::analysis
