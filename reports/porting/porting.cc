#include "reports/porting/porting.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "reports/porting/parts.h"
#include "runner/analysis/device_ids.h"
#include "runner/analysis/gaps.h"

namespace compat::reports {

using parsers::State;

namespace {

// Each column is the run of the same index; this one has the tests that plain CPU cannot run,
// because they ask for a device that it lacks, as skipped.
constexpr size_t kNeedsDevice = kColumns.size();

// The run with which a test of a column is compared.
size_t baseline_of(const analysis::Comparison& compared, size_t test, Column column) {
    const auto is = [&](Column of, StateKind kind) {
        const auto state = compared.state(test, index_of(of));
        return state && kind_of(*state) == kind;
    };
    if (!is(kBaseline, StateKind::broken) || !is(column, StateKind::broken))
        return index_of(kBaseline);
    if (row_of(column).device().takes_cuda_code() && is(column_with_cuda(), StateKind::good))
        return index_of(column_with_cuda());
    return compared.state(test, kNeedsDevice) ? kNeedsDevice : index_of(kBaseline);
}

}  // namespace

std::optional<Column> column_of(const RunView& run) {
    for (const ColumnRow& row : kColumns) {
        const bool matches = run.shim == row.shim && run.simulated.value_or("") == row.simulated &&
                             run.policy == row.policy && !is_accelerator(run.device) &&
                             !run.imported && run.gives_verdicts();
        if (matches && (!row.device().has_fallback || run.fallback == row.fallback))
            return row.column;
    }
    return std::nullopt;
}

std::optional<FurtherKind> further_kind_of(const RunInfo& run) {
    if (run.keep_going) return FurtherKind::past_refusals;
    if (run.seeds > 0 && !run.shim && !run.simulated && !is_accelerator(run.device))
        return FurtherKind::random;
    return std::nullopt;
}

namespace {

// An input of a run that must be equal in all runs, so that a difference comes from the device.
struct ComparedInput {
    std::string_view name;
    std::string (*value)(const RunView&);
    std::string (*shown)(const RunView&);
};
constexpr auto commit_of = [](const RunView& run) {
    return run.dirty ? run.commit + " (changed since)" : run.commit;
};
constexpr auto torch_of = [](const RunView& run) { return run.torch; };
constexpr auto hub_of = [](const RunView& run) { return run.hub; };
constexpr ComparedInput kComparedInputs[] = {
    {"commit", commit_of, commit_of},
    {"torch", torch_of, torch_of},
    {"hub", hub_of, hub_of},
    {"tests asked for", [](const RunView& run) { return run.selection; },
     [](const RunView& run) { return run.command; }},
};

}  // namespace

class PortingBuilder::Impl {
  public:
    Impl(std::string id, std::string suite) {
        view_.id = std::move(id);
        view_.suite = std::move(suite);
    }

    void begin(Column column, const RunView& run) {
        column_ = column;
        current().run = run;
    }

    void add(const ModuleView& module) {
        if (module.outcome == parsers::ModuleOutcome::load_error) add_unloaded(module);
        for (const CaseView& test : module.cases) add(test, module.path);
    }

    void end(const ReportModel& model, const std::vector<GapHit>& hits, std::string report_url) {
        PortingColumn& column = current();
        column.totals = model.totals;
        column.report_url = std::move(report_url);
        for (const AccountingMismatch& mismatch : model.accounting.mismatches)
            add_mismatch(fmt::format("{}: {}", mismatch.module, mismatch.message));
        for (const GapView& gap : model.gaps) gaps_.insert_or_assign(gap.key, gap);
        if (!model.run.complete && column.why_missing.empty())
            column.why_missing = "the run is not complete";
        if (row_of(column_).falls_back()) count_fallbacks(hits);
        add_refusals(hits);
    }

    void begin_further(const RunView& run, std::string report_url) {
        further_ = run.keep_going ? FurtherKind::past_refusals : FurtherKind::random;
        if (further_ == FurtherKind::random) {
            view_.random = {run, kBaseline, std::move(report_url)};
            return;
        }
        const std::string simulated = run.simulated.value_or("");
        const auto strict = simulated_column(simulated, false);
        const auto redirected = simulated_column(simulated, run.policy == "missing");
        column_ = redirected ? *redirected : strict.value_or(kBaseline);
        view_.kept_going.push_back({run, column_, std::move(report_url)});
    }

    void add_further(const ModuleView& module) {
        for (const CaseView& test : module.cases)
            if (further_ == FurtherKind::random)
                streams_.add(view_.random->run, test);
            else
                kept_going_.add(view_.kept_going.back(), common_id(test.id), test, module.refusals);
    }

    void note_missing(Column column, std::string why, std::string command) {
        view_.columns[index_of(column)].why_missing = std::move(why);
        view_.columns[index_of(column)].command = std::move(command);
    }

    PortingView finish() {
        for (const ColumnRow& row : kColumns) {
            if (row.column == kBaseline || !has_run(row.column)) continue;
            view_.columns[index_of(row.column)].changes = counts_of(row.column).changes;
            if (!has_run(kBaseline)) continue;
            view_.compared = true;
            add_missing(row.column);
        }
        std::stable_sort(differences_.begin(), differences_.end(),
                         [](const auto& a, const auto& b) {
                             return std::tie(a.test, a.column) < std::tie(b.test, b.column);
                         });
        compare_inputs();
        judge_by_streams();
        group_by_cause();
        count_unblocked(view_, differences_, kept_going_);
        rank_causes(view_);
        for (const ColumnRow& row : kColumns) check(row.column);
        add_upstream();
        fallbacks_.finish(view_);
        for (auto& [key, row] : unloaded_) view_.unloaded.push_back(std::move(row));
        view_.accounting.closed = view_.accounting.mismatches.empty();
        return std::move(view_);
    }

  private:
    struct TestLink {
        std::string url;
        bool flaky = false;  // in any column
        std::string id_on_cpu{};
        PerColumn<bool> generated{};  // where it used what the hub had generated
    };

    PortingColumn& current() { return view_.columns[index_of(column_)]; }
    [[nodiscard]] bool has_run(Column column) const { return view_.at(column).run.has_value(); }
    [[nodiscard]] std::optional<State> state(size_t test, Column column) const {
        return compared_.state(test, index_of(column));
    }
    [[nodiscard]] std::optional<Change> change(size_t test, Column column) const {
        return compared_.change(test, index_of(column), baseline_of(compared_, test, column));
    }
    [[nodiscard]] analysis::RunCounts counts_of(Column column) const {
        return compared_.counts(index_of(column),
                                [&](size_t test) { return baseline_of(compared_, test, column); });
    }

    // One test of a suite that is parametrised by its device has one id in all columns.
    [[nodiscard]] std::string common_id(const std::string& id) const {
        const ColumnRow& row = row_of(column_);
        std::string common = analysis::without_device(id, row.device().word);
        // Code that asks for CUDA and is sent elsewhere; or names the other device all the same.
        if (row.redirects() && common == id) common = analysis::without_device(id, "cuda");
        return common;
    }

    void add_mismatch(const std::string& message) {
        view_.accounting.mismatches.push_back({std::string(row_of(column_).brief), message});
    }

    void add(const CaseView& test, const std::string& module) {
        const auto put = [&](const std::string& id) {
            return compared_.add(index_of(column_), id, test.state, module, test.pseudo);
        };
        const std::string id = common_id(test.id);
        analysis::Comparison::Added added = put(id);
        if (added.duplicate && id != test.id) added = put(test.id);  // [cuda] and [cuda:0]
        const size_t at = added.test;
        if (added.duplicate)
            return add_mismatch(fmt::format("{} is there more than once", test.id));
        if (links_.size() <= at) links_.push_back({test.url});
        links_[at].flaky |= test.flaky;
        links_[at].generated[index_of(column_)] = test.generated.any();
        PortingColumn& column = current();
        const StateKind kind = kind_of(test.state);
        ResultDetails details = details_of(test, *column.run);
        if (!test.pseudo)
            column.used_accelerator +=
                test.used_accelerator || is_refused_by_device(details, *column.run);
        if (test.pseudo && kind == StateKind::broken)
            broken_modules_.try_emplace({column_, module}, details);
        if (column_ == kBaseline) {
            links_[at].id_on_cpu = test.id;
            if (kind != StateKind::good) cpu_key_lines_.emplace(at, details.key_line);
            if (kind == StateKind::broken) broken_[{column_, at}] = details.failures;
            if (kind == StateKind::broken && needs_a_device(details))
                compared_.add(kNeedsDevice, compared_.test(at).id, State::skipped, module,
                              test.pseudo);
        } else if (const auto changed = change(at, column_)) {
            UngroupedDifference& difference = differences_.emplace_back();
            difference.test = at;
            difference.column = column_;
            difference.change = *changed;
            difference.details = std::move(details);
        } else if (kind == StateKind::broken) {
            ++column.broken_alike;
            broken_[{column_, at}] = std::move(details.failures);
        }
    }

    void add_unloaded(const ModuleView& module) {
        UnloadedModule unloaded{module.path, module.url, module.reason, {}};
        for (const CaseView& test : module.cases)
            if (const FailureView* failure = failure_of(test); failure && test.pseudo) {
                unloaded.key_line = failure->key_line;
                if (!test.url.empty()) unloaded.url = test.url;
                break;
            }
        UnloadedModule& row =
            unloaded_.try_emplace({module.path, unloaded.key_line}, unloaded).first->second;
        row.columns[index_of(column_)] = true;
    }

    // A test that broke by another failure caught the refusal and went on.
    void add_refusals(const std::vector<GapHit>& hits) {
        std::unordered_map<std::string, std::set<std::string>> refused;  // by test
        for (const GapHit& hit : hits)
            if (hit.key.kind != GapKind::fallback && hit.key.device == current().run->simulated)
                refused[common_id(hit.test)].insert(hit.key.symbol);
        for (UngroupedDifference& difference : differences_) {
            const auto at = refused.find(compared_.test(difference.test).id);
            if (difference.column != column_ || at == refused.end()) continue;
            for (FailureFacts& failure : difference.details.failures) {
                if (failure.gap) continue;
                failure.evidence.after_refusal = true;
                failure.refused = at->second;
            }
        }
    }

    // A test is missing because its module broke, if that is known.
    void add_missing(Column column) {
        const PortingColumn& at = view_.at(column);
        for (size_t test = 0; test < compared_.tests(); ++test) {
            if (change(test, column) != Change::missing) continue;
            UngroupedDifference& difference = differences_.emplace_back();
            difference.test = test;
            difference.column = column;
            difference.change = Change::missing;
        }
        const FailuresOfTests failures = all_failures();
        for (UngroupedDifference& difference : differences_) {
            if (difference.column != column) continue;
            difference.cpu = state(difference.test, kBaseline);
            difference.here = state(difference.test, column);
            difference.flaky = links_[difference.test].flaky;
            difference.pseudo = compared_.test(difference.test).pseudo;
            difference.incomplete_column = !at.why_missing.empty();
            if (const auto line = cpu_key_lines_.find(difference.test);
                line != cpu_key_lines_.end())
                difference.cpu_key_line = line->second;
            difference.attribution = attribution_of(difference, failures);
            if (difference.attribution && difference.attribution->rule == analysis::kRedirectedOnly)
                blame_redirection(difference.details);
            acquit_generated(difference);
            if (difference.here && *difference.here != State::not_run) continue;
            const std::string module(compared_.test(difference.test).module);
            if (const auto broken = broken_modules_.find({column, module});
                broken != broken_modules_.end())
                difference.details = broken->second;
            else if (difference.details.key_line.empty())
                difference.details.key_line = at.why_missing;
        }
    }

    using FailuresOfTests = std::map<std::pair<Column, size_t>, const std::vector<FailureFacts>*>;

    [[nodiscard]] FailuresOfTests all_failures() const {
        FailuresOfTests all;
        for (const auto& [key, failures] : broken_) all.emplace(key, &failures);
        for (const UngroupedDifference& difference : differences_)
            all.emplace(std::pair(difference.column, difference.test),
                        &difference.details.failures);
        return all;
    }

    // The test in the other columns, beside its failure here. A bare Mac stands once beside CUDA
    // code that is sent to MPS: without fallback, as that.
    [[nodiscard]] std::vector<analysis::OtherWay> other_ways(const UngroupedDifference& here,
                                                             const FailuresOfTests& all) const {
        std::vector<analysis::OtherWay> others;
        for (const ColumnRow& row : kColumns) {
            const auto there = state(here.test, row.column);
            if (row.column == here.column || !has_run(row.column) || !there ||
                (row_of(here.column).redirects() &&
                 row.simulated == row_of(here.column).simulated &&
                 row.column != strict_of(row.column) && has_run(strict_of(row.column))))
                continue;
            auto shown = analysis::Shown::idle;
            if (kind_of(*there) == StateKind::good) shown = analysis::Shown::passes;
            if (kind_of(*there) == StateKind::broken) {
                const auto failures = all.find({row.column, here.test});
                shown =
                    failures != all.end() && breaks_alike(here.details.failures, *failures->second)
                        ? analysis::Shown::fails_alike
                        : analysis::Shown::fails_otherwise;
            }
            const RunView& run = *view_.at(row.column).run;
            others.push_back({analysis::way_of(run),
                              shown,
                              run.id,
                              {},
                              links_[here.test].generated[index_of(row.column)]});
        }
        return others;
    }

    [[nodiscard]] std::optional<AttributionView> attribution_of(
        const UngroupedDifference& difference, const FailuresOfTests& all) const {
        if (difference.details.failures.empty() || difference.flaky) return std::nullopt;
        const FailureFacts& failure = difference.details.failures.front();
        const auto found =
            analysis::attribute({analysis::way_of(*view_.at(difference.column).run),
                                 failure.evidence.cause, failure.rule, failure.without_generated,
                                 links_[difference.test].generated[index_of(difference.column)]},
                                other_ways(difference, all));
        return found ? std::optional(view_of(*found)) : std::nullopt;
    }

    void add_upstream() {
        for (const auto& [test, columns] : upstream_tests(broken_)) {
            if (links_[test].generated[index_of(kBaseline)]) continue;  // not for certain
            UpstreamTest& row = view_.upstream.emplace_back();
            row.id = compared_.test(test).id;
            row.url = links_[test].url;
            row.key_line = broken_.at({kBaseline, test}).front().key_line;
            row.columns = columns;
            for (size_t i = 0; i < columns.size(); ++i) view_.columns[i].upstream += columns[i];
        }
    }

    void judge_by_streams() {
        for (UngroupedDifference& difference : differences_) {
            const auto on_cpu = broken_.find({kBaseline, difference.test});
            streams_.judge(links_[difference.test].id_on_cpu,
                           on_cpu == broken_.end() ? std::vector<FailureFacts>{} : on_cpu->second,
                           difference.details.failures);
        }
    }

    static void blame_redirection(ResultDetails& details) {
        for (FailureFacts& failure : details.failures) failure.evidence.redirected_alone = true;
        if (details.redirected_at.empty()) return;
        details.place = details.redirected_at;
        details.place_url = details.redirected_url;
    }

    // Another column passes with generated weights or data: the comparison does not need real ones.
    static void acquit_generated(UngroupedDifference& difference) {
        for (FailureFacts& failure : difference.details.failures) {
            if (!difference.attribution || !failure.without_generated) continue;
            const auto cause = parsers::cause_of(difference.attribution->cause);
            if (cause == parsers::Cause::hub) continue;
            failure.evidence.cause = *failure.without_generated;
            failure.cause = name_of(*failure.without_generated);
        }
    }

    void compare_inputs() {
        for (const ComparedInput& input : kComparedInputs) {
            std::set<std::string> values;
            InputDifference shown{std::string(input.name), {}};
            for (const ColumnRow& row : kColumns) {
                if (!has_run(row.column)) continue;
                const RunView& run = *view_.at(row.column).run;
                values.insert(input.value(run));
                shown.values[index_of(row.column)] = input.shown(run);
            }
            if (values.size() > 1) view_.input_differences.push_back(std::move(shown));
        }
    }

    PortedTest ported_test(size_t at) const {
        const analysis::Comparison::Test& known = compared_.test(at);
        PortedTest test;
        test.id = known.id;
        test.url = links_[at].url;
        test.id_on_cpu = links_[at].id_on_cpu;
        test.module = known.module;
        test.pseudo = known.pseudo;
        test.flaky = links_[at].flaky;
        test.generated = std::ranges::count(links_[at].generated, true) > 0;
        for (const ColumnRow& row : kColumns)
            test.states[index_of(row.column)] = state(at, row.column);
        return test;
    }

    void group_by_cause() {
        Causes causes(gaps_);
        CausePlaces places;
        for (size_t i = 0; i < differences_.size();) {
            const size_t at = differences_[i].test;
            PortedTest& test = view_.tests.emplace_back(ported_test(at));
            std::set<size_t> counted;
            for (; i < differences_.size() && differences_[i].test == at; ++i) {
                UngroupedDifference& from = differences_[i];
                Difference& difference = test.differences.emplace_back();
                difference.column = from.column;
                difference.change = from.change;
                difference.causes = causes.causes_of(from);
                difference.cause = difference.causes.front();
                difference.key_line = std::move(from.details.key_line);
                difference.place = std::move(from.details.place);
                difference.place_url = std::move(from.details.place_url);
                difference.reproduce = std::move(from.details.reproduce);
                difference.id = std::move(from.details.id);
                difference.attribution = std::move(from.attribution);
                difference.perhaps_random =
                    std::any_of(from.details.failures.begin(), from.details.failures.end(),
                                [](const FailureFacts& f) { return f.perhaps_random; });
                if (!from.details.failures.empty()) {
                    difference.streams = from.details.failures.front().streams;
                    difference.failed_streams = from.details.failures.front().failed_streams;
                }
                CauseOfDifferences& cause = causes.list()[difference.cause];
                ++cause.counts[index_of(from.column)];
                ++view_.columns[index_of(from.column)].groups[static_cast<size_t>(cause.group)];
                if (!cause.attribution) cause.attribution = difference.attribution;
                if (!counted.insert(difference.cause).second) continue;
                ++cause.tests;
                if (cause.group == Group::loss) places.add(difference);
                if (cause.examples.size() < kExamples)
                    cause.examples.push_back(view_.tests.size() - 1);
            }
        }
        places.add_behind(causes, kept_going_);
        view_.causes = std::move(causes.list());
        places.finish(view_.causes);
    }

    // Every test of every column must be in the comparison, and every change under one cause.
    void check(Column column) {
        if (!has_run(column)) return;
        column_ = column;
        PortingColumn& at = current();
        const analysis::RunCounts counts = counts_of(column);
        std::int64_t under_causes = 0;
        for (const CauseOfDifferences& cause : view_.causes)
            under_causes += cause.counts[index_of(column)];
        const auto expect = [&](std::string_view what, std::int64_t ours, std::int64_t theirs) {
            if (ours != theirs) add_mismatch(fmt::format("{}: {} against {}", what, ours, theirs));
        };
        const auto sum = [](const StateCounts& states) {
            return std::accumulate(states.begin(), states.end(), std::int64_t{0});
        };
        // Tests without names are compared as one row.
        expect("tests compared and tests that the run collected", counts.tests,
               at.totals.collected - (sum(at.totals.states) - sum(at.totals.rows)));
        if (column == kBaseline || !has_run(kBaseline)) return;
        for (const auto changed : at.changes) at.differ += changed;
        expect("plain CPU's tests, and those alike, changed or missing here",
               compared_.counts(index_of(kBaseline)).tests,
               counts.unchanged + at.differ - at.count(Change::added));
        expect("this column's tests, and those alike, changed or added", counts.tests,
               counts.unchanged + at.differ - at.count(Change::missing));
        expect("differences, and those under causes", at.differ, under_causes);
    }

    void count_fallbacks(const std::vector<GapHit>& hits) {
        for (const GapHit& hit : hits) {
            if (hit.key.kind != GapKind::fallback || hit.count == 0) continue;
            const auto logged = gaps_.find(hit.key);
            const std::string id = common_id(hit.test);
            const auto test = compared_.find(id);
            fallbacks_.add(
                hit,
                logged == gaps_.end() ? analysis::facts_of(hit.key).action : logged->second.action,
                id, test ? links_[*test].url : "");
        }
    }

    PortingView view_;
    Column column_ = kBaseline;
    FurtherKind further_ = FurtherKind::past_refusals;
    analysis::Comparison compared_{kNeedsDevice + 1};
    std::vector<TestLink> links_;                            // by test
    std::unordered_map<size_t, std::string> cpu_key_lines_;  // of tests that are not good there
    std::map<std::pair<Column, std::string>, ResultDetails> broken_modules_;
    // Tests that break on plain CPU, or on a device in the baseline's state.
    BrokenTests broken_;
    std::map<std::pair<std::string, std::string>, UnloadedModule> unloaded_;  // by error, too
    std::vector<UngroupedDifference> differences_;
    std::map<GapKey, GapView> gaps_;
    Fallbacks fallbacks_;
    KeptGoing kept_going_;
    RandomStreams streams_;
};

PortingBuilder::PortingBuilder(std::string id, std::string suite)
    : impl_(std::make_unique<Impl>(std::move(id), std::move(suite))) {}
PortingBuilder::PortingBuilder(PortingBuilder&&) noexcept = default;
PortingBuilder::~PortingBuilder() = default;

void PortingBuilder::begin(Column column, const RunView& run) { impl_->begin(column, run); }
void PortingBuilder::add(const ModuleView& module) { impl_->add(module); }
void PortingBuilder::end(const ReportModel& model, const std::vector<GapHit>& hits,
                         std::string report_url) {
    impl_->end(model, hits, std::move(report_url));
}
void PortingBuilder::begin_further(const RunView& run, std::string report_url) {
    impl_->begin_further(run, std::move(report_url));
}
void PortingBuilder::add_further(const ModuleView& module) { impl_->add_further(module); }
void PortingBuilder::note_missing(Column column, std::string why, std::string command) {
    impl_->note_missing(column, std::move(why), std::move(command));
}
PortingView PortingBuilder::finish() { return impl_->finish(); }

}  // namespace compat::reports
