// Types shared by the comparison of columns (porting.cc) and the grouping of differences by cause
// (porting_causes.cc). Private to them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reports/porting.h"
#include "runner/analysis/judgement.h"

namespace compat::reports {

using analysis::kind_of;
using analysis::StateKind;

[[nodiscard]] constexpr std::size_t index_of(Column column) {
    return static_cast<std::size_t>(column);
}

// The facts of one failure that decide its cause.
struct FailureFacts {
    analysis::Evidence evidence;
    std::optional<GapKey> gap;
    std::string cause, error_class, rule, signature, key_line;
    std::string place;                // "file:line" of the suite's innermost frame; may be empty
    std::set<std::string> refused{};  // symbols that the device refused earlier in the test
};

// The details of a test's result in one column.
struct ResultDetails {
    std::vector<FailureFacts> failures{};  // empty: it did not break
    std::string key_line{};                // or the reason
    std::string place{}, place_url{}, reproduce{};
    std::string redirected_at{}, redirected_url{};  // CaseView's
};

// A difference without its causes.
struct UngroupedDifference {
    std::size_t test = 0;  // index in the comparison
    Column column = Column::cuda;
    Change change = Change::lost;
    std::optional<parsers::State> cpu{}, here{};
    ResultDetails details{};
    std::string cpu_key_line{};      // empty if it is good on plain CPU
    bool flaky = false;              // in any column
    bool incomplete_column = false;  // not all tests of the column ran
};

// The causes of all differences, each created with its first difference.
class Causes {
  public:
    explicit Causes(const std::map<GapKey, GapView>& gaps) : gaps_(gaps) {}

    // Indices of the difference's causes, at least one. It is counted under the first.
    [[nodiscard]] std::vector<std::size_t> causes_of(const UngroupedDifference& difference);
    [[nodiscard]] std::vector<CauseOfDifferences>& list() { return causes_; }

  private:
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

// Operators that fell back to the CPU, by test.
using FallbacksOfTests = std::map<std::string, std::set<std::string>>;

// A test is unblocked by its only cause. If that is an operator that MPS lacks, the run with
// fallback shows what else the test would meet.
void count_unblocked(PortingView& view, const FallbacksOfTests& fallbacks);

// Sorts the causes into the order of PortingView::causes.
void rank_causes(PortingView& view);

[[nodiscard]] bool is_operator(const CauseOfDifferences& cause);

}  // namespace compat::reports
