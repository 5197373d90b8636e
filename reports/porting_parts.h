// What the comparison of columns (porting.cc) and their causes (porting_causes.cc) hand each other.
// Not for anybody else.
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

// What a state is worth to whoever asks whether code works.
enum class Worth { good, bad, idle };

[[nodiscard]] constexpr Worth worth_of(parsers::State state) {
    using enum parsers::State;
    if (needs_attention(state)) return Worth::bad;
    return state == skipped || state == not_run ? Worth::idle : Worth::good;
}

[[nodiscard]] constexpr std::size_t index_of(Column column) {
    return static_cast<std::size_t>(column);
}

// One thing that tests broke by.
struct Why {
    analysis::Evidence evidence;
    std::optional<GapKey> gap;
    std::string cause, error_class, rule, signature, key_line;
    std::string place;                // "file:line" of the suite's where it broke; empty: nowhere
    std::set<std::string> refused{};  // what the device refused within the test, where it broke by
                                      // something else
};

// What a column says of why a test is as it is.
struct Told {
    std::vector<Why> whys{};  // of failures; empty: it did not break
    std::string line{};       // key line or reason
    std::string place{}, place_url{}, reproduce{};
};

// A difference before it is under its cause.
struct Found {
    std::size_t row = 0;
    Column column = Column::cuda;
    Change change = Change::lost;
    std::optional<parsers::State> cpu{}, here{};
    Told told{};
    std::string cpu_line{};  // why it is as it is on plain CPU, where it is not good there
    bool flaky = false;      // the test, in any column
    bool cut_short = false;  // the column is not complete
};

// The causes of a comparison, each made when the first difference comes under it.
class Causes {
  public:
    explicit Causes(const std::map<GapKey, GapView>& gaps) : gaps_(gaps) {}

    // Indices of the causes of a difference, at least one; the first is the one it is counted
    // under.
    [[nodiscard]] std::vector<std::size_t> of(const Found& found);
    [[nodiscard]] std::vector<CauseOfDifferences>& list() { return causes_; }

  private:
    std::size_t of_loss(const Why& why);
    std::size_t plain(Group group, std::string_view judgement, std::string title, bool ours,
                      std::string_view advice = {});
    void describe_gap(CauseOfDifferences& cause, const GapKey& key) const;
    template <class Fill>
    std::size_t entry(const std::string& key, Fill fill);

    const std::map<GapKey, GapView>& gaps_;
    std::vector<CauseOfDifferences> causes_;
    std::unordered_map<std::string, std::size_t> index_;
};

// Operators that each test came by where the CPU computed them.
using FallbacksOfTests = std::map<std::string, std::set<std::string>>;

// A test is unblocked by what alone it broke by. Of an operator that MPS lacks, more is known: with
// fallback the test goes on, and shows which others it comes by and by what it breaks then.
void count_unblocked(PortingView& view, const FallbacksOfTests& fallbacks);

// Puts the causes into the order of PortingView::causes.
void rank_causes(PortingView& view);

[[nodiscard]] bool is_operator(const CauseOfDifferences& cause);

}  // namespace compat::reports
