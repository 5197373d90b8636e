// Types shared by the comparison of columns (porting.cc) and the grouping of differences by cause
// (causes.cc). Private to them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reports/porting/facts.h"
#include "reports/porting/porting.h"

namespace compat::reports {

using analysis::kind_of;
using analysis::StateKind;

[[nodiscard]] constexpr std::size_t index_of(Column column) {
    return static_cast<std::size_t>(column);
}

// A difference without its causes.
struct UngroupedDifference {
    std::size_t test = 0;  // index in the comparison
    Column column = kBaseline;
    Change change = Change::lost;
    std::optional<parsers::State> cpu{}, here{};
    ResultDetails details{};
    std::string cpu_key_line{};  // empty if it is good on plain CPU
    bool flaky = false;          // in any column
    bool pseudo = false;         // of a row that is not a test
    std::optional<AttributionView> attribution{};
    bool incomplete_column = false;  // not all tests of the column ran
};

// The causes of all differences, each created with its first difference.
class Causes {
  public:
    explicit Causes(const std::map<GapKey, GapView>& gaps) : gaps_(gaps) {}

    // Indices of the difference's causes, at least one. It is counted under the first.
    [[nodiscard]] std::vector<std::size_t> causes_of(const UngroupedDifference& difference);
    [[nodiscard]] std::vector<CauseOfDifferences>& list() { return causes_; }
    // The cause of a difference that the failure would have had; empty: no difference has it.
    [[nodiscard]] std::optional<std::size_t> find(const FailureFacts& failure) const;

  private:
    [[nodiscard]] static std::string key_of_loss(const FailureFacts& failure);
    std::size_t cause_of_loss(const FailureFacts& failure);
    std::size_t cause_by_title(Group group, std::string_view judgement, std::string title,
                               bool trusted, std::string_view advice = {});
    void describe_gap(CauseOfDifferences& cause, const GapKey& key) const;
    template <class Fill>
    std::size_t find_or_add(const std::string& key, Fill fill);

    const std::map<GapKey, GapView>& gaps_;
    std::vector<CauseOfDifferences> causes_;
    std::unordered_map<std::string, std::size_t> index_;
};

// The runs that keep going, by column (of a bare Mac: mps_strict) and test.
class KeptGoing {
  public:
    struct OfTest {
        parsers::State state = parsers::State::not_run;
        std::vector<FailureFacts> refusals{}, failures{};
    };
    // `id`: the comparison's. `of_module`: what was refused while its module was loaded.
    void add(const FurtherRun& run, const std::string& id, const CaseView& test,
             const std::vector<RefusalView>& of_module);
    [[nodiscard]] const OfTest* find(Column column, const std::string& id) const;
    [[nodiscard]] const auto& tests() const { return tests_; }

  private:
    std::map<std::pair<Column, std::string>, OfTest> tests_;
};

// The lines of the suite at which causes showed.
class CausePlaces {
  public:
    // Where a test broke first, once for each test and cause.
    void add(const Difference& difference);
    // Where tests met known causes in the runs that keep going. After all differences.
    void add_behind(const Causes& causes, const KeptGoing& kept_going);
    // `causes`: Causes::list.
    void finish(std::vector<CauseOfDifferences>& causes);

  private:
    using OfCause = std::map<std::string, BreakingPlace>;  // by "file:line"
    std::map<std::size_t, OfCause> places_, behind_;
};

// The run with other random numbers, by test.
class RandomStreams {
  public:
    // A test in one attempt at its module.
    void add(const RunView& run, const CaseView& test);
    // Whether random numbers decide about the failures that they may explain: they break with some
    // streams and not with all. `on_cpu`: the test's failures there with the suite's own numbers;
    // what breaks so, too, breaks whatever the numbers.
    void judge(const std::string& test, const std::vector<FailureFacts>& on_cpu,
               std::vector<FailureFacts>& failures) const;

  private:
    std::map<std::string, std::vector<ResultDetails>> tests_;  // one for each stream that ran it
};

// The operators that fall back to the CPU on MPS.
class Fallbacks {
  public:
    // `test`: the comparison's id; empty: outside of tests. `url`: of the test.
    void add(const GapHit& hit, std::string advice, const std::string& test,
             const std::string& url);
    // Counts the tests that depend on fallback, once the view has its causes.
    void finish(PortingView& view);

  private:
    void compare(const PortedTest& test, Column with_fallback, PortingView& view);
    FallbackView& fallback_of(const std::string& symbol);

    std::map<std::string, FallbackView> fallbacks_;
    std::set<std::pair<std::string, std::string>> seen_;  // operator and test
};

// Failures by column and index of the test: of tests that break on plain CPU, or on a device in the
// baseline's state.
using BrokenTests = std::map<std::pair<Column, std::size_t>, std::vector<FailureFacts>>;
// Those that break by the same errors on plain CPU, with the columns where they do.
[[nodiscard]] std::map<std::size_t, PerColumn<bool>> upstream_tests(const BrokenTests& broken);

// Counts how many tests each cause unblocks, and what is behind it. `differences`: those of the
// view's tests, in their order.
void count_unblocked(PortingView& view, const std::vector<UngroupedDifference>& differences,
                     const KeptGoing& kept_going);

// Sorts the causes into the order of PortingView::causes.
void rank_causes(PortingView& view);

[[nodiscard]] bool is_operator(const CauseOfDifferences& cause);

}  // namespace compat::reports
