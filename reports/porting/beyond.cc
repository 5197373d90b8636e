// Results of further runs of broken tests: the next failure once the first is fixed, and whether
// random numbers decide it.
#include <algorithm>
#include <map>
#include <optional>

#include "reports/porting/parts.h"
#include "runner/analysis/gaps.h"

namespace compat::reports {

namespace {

using Obstacles = std::vector<FailureFacts>;

bool is_among(const FailureFacts& obstacle, const Obstacles& list) {
    return std::any_of(list.begin(), list.end(), [&](const FailureFacts& other) {
        return is_same_obstacle(obstacle, other);
    });
}

void add_obstacle(Obstacles& list, const FailureFacts& obstacle) {
    if (!is_among(obstacle, list)) list.push_back(obstacle);
}

// With fallback, an operator that the device lacks runs on the CPU.
bool is_met_in(Column column, const FailureFacts& refusal) {
    return !row_of(column).falls_back() || !refusal.gap ||
           refusal.gap->kind != GapKind::op_unsupported;
}

// Empty: nothing says it.
std::optional<Obstacles> after(const UngroupedDifference& difference,
                               const KeptGoing::OfTest& kept) {
    const Obstacles& first = difference.details.failures;
    Obstacles obstacles;
    for (const FailureFacts& refusal : kept.refusals)
        if (is_met_in(difference.column, refusal) && !is_among(refusal, first))
            add_obstacle(obstacles, refusal);
    const StateKind kind = kind_of(kept.state);
    if (kind == StateKind::idle) return std::nullopt;
    if (kind == StateKind::good) return obstacles;
    for (const FailureFacts& failure : kept.failures) {
        if (is_among(failure, first))
            return std::nullopt;  // no refusal: it ends the test there, too
        add_obstacle(obstacles, failure);
    }
    return obstacles;
}

// Whether plain CPU breaks so with the suite's own numbers, or lacks a device to get so far.
bool is_settled(const FailureFacts& failure, const Obstacles& on_cpu) {
    return std::any_of(on_cpu.begin(), on_cpu.end(), [&](const FailureFacts& other) {
        return other.rule == kNoDeviceRule || is_same_obstacle(failure, other) ||
               breaks_in_one_way(failure, other);
    });
}

class Counter {
  public:
    Counter(PortingView& view, const std::vector<UngroupedDifference>& differences,
            const KeptGoing& kept_going)
        : view_(view), differences_(differences), kept_going_(kept_going) {}

    void count() {
        for (const PortedTest& test : view_.tests) {
            first_ = next_;
            next_ += test.differences.size();
            if (!test.pseudo) count(test);
        }
    }

  private:
    // The outcome for one cause, over the columns of one test.
    struct Outcome {
        bool unblocked = false, perhaps = false;
        bool shared = false;  // it broke by other causes, too
        Obstacles behind{};
    };

    void count(const PortedTest& test) {
        const auto cpu = test.states[index_of(kBaseline)];
        const bool breaks_on_cpu = cpu && kind_of(*cpu) == StateKind::broken;
        std::map<size_t, Outcome> outcomes;
        for (size_t i = 0; i < test.differences.size(); ++i) {
            const Difference& difference = test.differences[i];
            CauseOfDifferences& cause = view_.causes[difference.cause];
            if (cause.group != Group::loss) continue;
            if (breaks_on_cpu && difference.change != Change::lost) continue;
            if (difference.causes.size() > 1) {
                for (const size_t each : difference.causes) outcomes[each].shared = true;
                continue;
            }
            Outcome& outcome = outcomes[difference.cause];
            const auto beyond = beyond_of(test, differences_[first_ + i]);
            const size_t column = index_of(difference.column);
            if (!beyond) {
                ++cause.perhaps_unblocked[column];
                outcome.perhaps = true;
            } else if (beyond->empty()) {
                ++cause.unblocked[column];
                outcome.unblocked = true;
            } else {
                for (const FailureFacts& obstacle : *beyond) add_obstacle(outcome.behind, obstacle);
            }
        }
        for (const auto& [at, outcome] : outcomes) add(outcome, view_.causes[at]);
    }

    [[nodiscard]] std::optional<Obstacles> beyond_of(const PortedTest& test,
                                                     const UngroupedDifference& difference) const {
        const Column column = difference.column;
        const auto redirected = simulated_column(row_of(column).simulated, true);
        if (redirected && needs_a_device(difference.details))
            return where_cuda_is_redirected(test, *redirected);
        const auto* kept = kept_going_.find(column, test.id);
        if (!kept && row_of(column).redirects() && breaks_on_the_bare_device_too(test, difference))
            kept = kept_going_.find(strict_of(column), test.id);
        return kept ? after(difference, *kept) : std::nullopt;
    }

    [[nodiscard]] bool breaks_on_the_bare_device_too(const PortedTest& test,
                                                     const UngroupedDifference& difference) const {
        for (size_t i = 0; i < test.differences.size(); ++i)
            if (test.differences[i].column == strict_of(difference.column))
                return std::equal(
                    difference.details.failures.begin(), difference.details.failures.end(),
                    differences_[first_ + i].details.failures.begin(),
                    differences_[first_ + i].details.failures.end(), is_same_obstacle);
        return false;
    }

    [[nodiscard]] std::optional<Obstacles> where_cuda_is_redirected(const PortedTest& test,
                                                                    Column redirected) const {
        const auto state = test.states[index_of(redirected)];
        if (state && kind_of(*state) == StateKind::good) return Obstacles{};
        for (size_t i = 0; i < test.differences.size(); ++i)
            if (test.differences[i].column == redirected &&
                !differences_[first_ + i].details.failures.empty())
                return differences_[first_ + i].details.failures;
        return std::nullopt;
    }

    static void add(const Outcome& outcome, CauseOfDifferences& cause) {
        cause.unblocked_tests += outcome.unblocked;
        cause.perhaps_unblocked_tests += !outcome.unblocked && outcome.perhaps;
        if (outcome.unblocked || outcome.perhaps) return;
        cause.blocked_tests += outcome.shared || !outcome.behind.empty();
        for (const FailureFacts& obstacle : outcome.behind) {
            const std::string title =
                obstacle.gap ? analysis::facts_of(*obstacle.gap).description : obstacle.key_line;
            const auto known = std::find_if(cause.behind.begin(), cause.behind.end(),
                                            [&](const auto& at) { return at.title == title; });
            if (known == cause.behind.end())
                cause.behind.push_back({title, 1});
            else
                ++known->tests;
        }
    }

    PortingView& view_;
    const std::vector<UngroupedDifference>& differences_;
    const KeptGoing& kept_going_;
    size_t first_ = 0, next_ = 0;  // of a test's differences
};

}  // namespace

void KeptGoing::add(const FurtherRun& run, const std::string& id, const CaseView& test,
                    const std::vector<RefusalView>& of_module) {
    OfTest kept{test.state, {}, details_of(test, run.run).failures};
    for (const auto* const list : {&of_module, &test.refusals})
        for (const RefusalView& refusal : *list)
            kept.refusals.push_back(facts_of_refusal(refusal, run.run));
    tests_.insert_or_assign({run.column, id}, std::move(kept));
}

const KeptGoing::OfTest* KeptGoing::find(Column column, const std::string& id) const {
    const auto at = tests_.find({row_of(column).falls_back() ? strict_of(column) : column, id});
    return at == tests_.end() ? nullptr : &at->second;
}

void RandomStreams::add(const RunView& run, const CaseView& test) {
    const StateKind kind = kind_of(test.state);
    if (kind != StateKind::idle) tests_[test.id].push_back(details_of(test, run));
}

void RandomStreams::judge(const std::string& test, const std::vector<FailureFacts>& on_cpu,
                          std::vector<FailureFacts>& failures) const {
    for (FailureFacts& failure : failures)
        failure.perhaps_random = may_be_random(failure) && !is_settled(failure, on_cpu);
    const auto at = tests_.find(test);
    if (at == tests_.end()) return;
    for (FailureFacts& failure : failures) {
        if (!failure.perhaps_random) continue;
        failure.streams = static_cast<int>(at->second.size());
        failure.failed_streams = static_cast<int>(
            std::count_if(at->second.begin(), at->second.end(), [&](const ResultDetails& stream) {
                return std::any_of(
                    stream.failures.begin(), stream.failures.end(),
                    [&](const FailureFacts& other) { return breaks_in_one_way(failure, other); });
            }));
        failure.evidence.random =
            0 < failure.failed_streams && failure.failed_streams < failure.streams;
    }
}

void count_unblocked(PortingView& view, const std::vector<UngroupedDifference>& differences,
                     const KeptGoing& kept_going) {
    Counter(view, differences, kept_going).count();
    for (CauseOfDifferences& cause : view.causes) {
        std::stable_sort(cause.behind.begin(), cause.behind.end(),
                         [](const auto& a, const auto& b) { return a.tests > b.tests; });
        if (cause.behind.size() > kExamples) cause.behind.resize(kExamples);
    }
}

}  // namespace compat::reports
