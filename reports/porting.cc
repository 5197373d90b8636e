#include "reports/porting.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <tuple>

#include "reports/porting_parts.h"
#include "runner/analysis/gaps.h"

namespace compat::reports {

using parsers::State;

namespace {

// By the worth on plain CPU, then by that in the column.
constexpr Change kChanges[3][3] = {
    {Change::otherwise, Change::lost, Change::no_longer},
    {Change::gained, Change::otherwise, Change::no_longer},
    {Change::runs_now, Change::fails_now, Change::otherwise},
};

constexpr Change change_of(State cpu, State here) {
    return kChanges[static_cast<size_t>(worth_of(cpu))][static_cast<size_t>(worth_of(here))];
}

// A column of MPS's says what becomes of code that runs on CUDA, also where that code cannot run on
// plain CPU at all.
std::optional<State> compared_with(const PerColumn<std::optional<State>>& states, Column column) {
    const auto cpu = states[index_of(Column::cpu)], cuda = states[index_of(Column::cuda)];
    const auto here = states[index_of(column)];
    const bool for_cuda = row_of(column).simulated == "mps" && cpu && cuda && here &&
                          worth_of(*cpu) == Worth::bad && worth_of(*cuda) == Worth::good &&
                          worth_of(*here) == Worth::bad;
    return for_cuda ? cuda : cpu;
}

struct Row {
    std::string id;
    std::string url;
    size_t module = 0;
    bool pseudo = false;
    bool flaky = false;
    PerColumn<std::optional<State>> states{};
};

// Each thing once, as a test may break by it in several places.
void add_why(std::vector<Why>& whys, Why why) {
    const auto same = [&](const Why& known) {
        return known.gap == why.gap && known.rule == why.rule &&
               (why.gap || (known.signature == why.signature && known.place == why.place));
    };
    if (std::none_of(whys.begin(), whys.end(), same)) whys.push_back(std::move(why));
}

// The suite's line that is nearest to what broke.
const FrameView* innermost_in_suite(const FailureView& failure) {
    const auto frame = std::find_if(failure.frames.rbegin(), failure.frames.rend(),
                                    [](const FrameView& f) { return f.in_suite; });
    return frame == failure.frames.rend() ? nullptr : &*frame;
}

std::string place_words(const FrameView& frame) {
    return fmt::format("{}:{}", frame.file, frame.line);
}

void add_whys(std::vector<Why>& whys, const FailureView& view, const RunView& run) {
    const std::string device = run.simulated.value_or(run.device);
    Why why;
    why.evidence = {parsers::cause_of(view.cause).value_or(parsers::Cause::unknown), view.rule,
                    std::nullopt, device};
    why.cause = view.cause;
    why.error_class = view.error_class;
    why.rule = view.rule;
    why.signature = view.signature;
    why.key_line = view.key_line;
    if (const auto* frame = innermost_in_suite(view)) why.place = place_words(*frame);
    parsers::Failure failure;
    failure.type = view.type;
    failure.message = view.message;
    const auto refused = analysis::gaps_in(failure, {device, run.simulated.has_value()});
    for (const GapHit& hit : refused) {
        why.gap = hit.key;
        why.evidence.gap = hit.key.kind;
        why.evidence.device = hit.key.device;
        add_why(whys, why);
    }
    if (refused.empty()) add_why(whys, std::move(why));
}

// Of a test that broke without a failure to tell of it.
Why why_of_state(const CaseView& test) {
    Why why;
    if (test.state == State::crashed) why.evidence.cause = parsers::Cause::crash;
    if (test.state == State::timed_out) why.evidence.cause = parsers::Cause::timeout;
    why.cause = name_of(why.evidence.cause);
    why.signature = why.key_line = test.reason;
    return why;
}

Told told_by(const CaseView& test, const RunView& run) {
    Told told;
    told.line = test.reason;
    if (worth_of(test.state) != Worth::bad) return told;
    if (test.reproduce) told.reproduce = test.reproduce->runner;
    const auto look = [&](const FailureView& failure, const auto& self) -> void {
        if (told.whys.empty()) {
            told.line = failure.key_line;
            if (const auto* frame = innermost_in_suite(failure)) {
                told.place = place_words(*frame);
                told.place_url = frame->url;
            }
        }
        add_whys(told.whys, failure, run);
        for (const FailureView& also : failure.also) self(also, self);
    };
    if (test.failure) look(*test.failure, look);
    for (const SubtestView& sub : test.subtests)
        if (sub.failure && needs_attention(sub.state)) look(*sub.failure, look);
    if (told.whys.empty()) told.whys.push_back(why_of_state(test));
    return told;
}

bool is_refused_by(const Told& told, const RunView& run) {
    return std::any_of(told.whys.begin(), told.whys.end(), [&](const Why& why) {
        return why.gap && run.simulated && why.gap->device == *run.simulated;
    });
}

}  // namespace

std::optional<Column> column_of(const RunView& run) {
    for (const ColumnRow& row : kColumns) {
        const bool same = run.shim == row.shim && run.simulated.value_or("") == row.simulated &&
                          run.device == "cpu" && !run.imported;
        // Of fallback, only a Mac knows.
        if (same && (row.simulated != "mps" || run.fallback == row.fallback)) return row.column;
    }
    return std::nullopt;
}

namespace {

// What runs must have in common for a difference to be the device's.
struct InCommon {
    std::string_view what;
    std::string (*same)(const RunView&);
    std::string (*shown)(const RunView&);
};
constexpr auto commit_of = [](const RunView& run) {
    return run.dirty ? run.commit + " (changed since)" : run.commit;
};
constexpr auto torch_of = [](const RunView& run) { return run.torch; };
constexpr InCommon kInCommon[] = {
    {"commit", commit_of, commit_of},
    {"torch", torch_of, torch_of},
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
        here().run = run;
    }

    void add(const ModuleView& module) {
        const size_t at = modules_.emplace(module.path, modules_.size()).first->second;
        if (module_names_.size() <= at) module_names_.push_back(module.path);
        for (const CaseView& test : module.cases) add(test, at);
    }

    void end(const ReportModel& model, const std::vector<GapHit>& hits, std::string report_url) {
        PortingColumn& column = here();
        column.totals = model.totals;
        column.report_url = std::move(report_url);
        for (const MismatchView& mismatch : model.accounting.mismatches)
            complain(fmt::format("{}: {}", mismatch.module, mismatch.message));
        for (const GapView& gap : model.gaps) gaps_.insert_or_assign(gap.key, gap);
        if (!model.run.complete && column.why_missing.empty())
            column.why_missing = "the run is not complete";
        if (column_ == Column::mps) see_fallbacks(hits);
        see_refusals(hits);
    }

    void note_missing(Column column, std::string why) {
        view_.columns[index_of(column)].why_missing = std::move(why);
    }

    PortingView finish() {
        for (const ColumnRow& row : kColumns)
            if (row.column != Column::cpu && is_there(row.column) && is_there(Column::cpu)) {
                view_.compared = true;
                find_missing(row.column);
            }
        std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
            return std::tie(a.row, a.column) < std::tie(b.row, b.column);
        });
        see_what_is_unlike();
        put_under_causes();
        count_unblocked(view_, fallbacks_of_tests_);
        rank_causes(view_);
        for (const ColumnRow& row : kColumns) check(row.column);
        see_what_fallback_decides();
        view_.accounting.closed = view_.accounting.mismatches.empty();
        return std::move(view_);
    }

  private:
    PortingColumn& here() { return view_.columns[index_of(column_)]; }
    [[nodiscard]] bool is_there(Column column) const { return view_.at(column).run.has_value(); }

    void complain(const std::string& message) {
        view_.accounting.mismatches.push_back({std::string(row_of(column_).words), message});
    }

    void add(const CaseView& test, size_t module) {
        auto place = index_.find(test.id);
        if (place == index_.end()) {
            Row& row = rows_.emplace_back();
            row.id = test.id;
            row.url = test.url;
            row.module = module;
            row.pseudo = test.pseudo;
            place = index_.emplace(row.id, rows_.size() - 1).first;
        }
        Row& row = rows_[place->second];
        auto& state = row.states[index_of(column_)];
        if (state) return complain(fmt::format("{} is there more than once", test.id));
        state = test.state;
        row.flaky |= test.flaky;
        PortingColumn& column = here();
        const bool bad = worth_of(test.state) == Worth::bad;
        Told told = told_by(test, *column.run);
        if (!test.pseudo) column.exercised += test.exercised || is_refused_by(told, *column.run);
        if (test.pseudo && bad) broken_modules_.try_emplace({column_, module}, told);
        if (column_ == Column::cpu) {
            if (worth_of(test.state) != Worth::good) on_cpu_.emplace(place->second, told.line);
            return;
        }
        const auto before = compared_with(row.states, column_);
        if (before == test.state) {
            column.broken_alike += bad;
            return;
        }
        Found found{place->second, column_,
                    before ? change_of(*before, test.state) : Change::added};
        found.told = std::move(told);
        found_.push_back(std::move(found));
        ++column.changes[static_cast<size_t>(found_.back().change)];
    }

    // What the device refused within a test that broke by something else: the code caught that.
    void see_refusals(const std::vector<GapHit>& hits) {
        std::unordered_map<std::string_view, std::set<std::string>> refused;  // by test
        for (const GapHit& hit : hits)
            if (hit.key.kind != GapKind::fallback && hit.key.device == here().run->simulated)
                refused[hit.test].insert(hit.key.symbol);
        for (Found& found : found_) {
            const auto at = refused.find(rows_[found.row].id);
            if (found.column != column_ || at == refused.end()) continue;
            for (Why& why : found.told.whys) {
                if (why.gap) continue;
                why.evidence.after_refusal = true;
                why.refused = at->second;
            }
        }
    }

    // What is not in a column because its module broke there, broke by that.
    void find_missing(Column column) {
        PortingColumn& at = view_.columns[index_of(column)];
        for (size_t i = 0; i < rows_.size(); ++i) {
            const Row& row = rows_[i];
            if (!row.states[index_of(Column::cpu)] || row.states[index_of(column)]) continue;
            ++at.changes[static_cast<size_t>(Change::missing)];
            found_.push_back({i, column, Change::missing});
        }
        for (Found& found : found_) {
            const Row& row = rows_[found.row];
            if (found.column != column) continue;
            found.cpu = row.states[index_of(Column::cpu)];
            found.here = row.states[index_of(column)];
            found.flaky = row.flaky;
            found.cut_short = !at.why_missing.empty();
            if (const auto told = on_cpu_.find(found.row); told != on_cpu_.end())
                found.cpu_line = told->second;
            if (found.here && *found.here != State::not_run) continue;
            if (const auto broken = broken_modules_.find({column, row.module});
                broken != broken_modules_.end())
                found.told = broken->second;
            else if (found.told.line.empty())
                found.told.line = at.why_missing;
        }
    }

    void see_what_is_unlike() {
        for (const InCommon& fact : kInCommon) {
            std::set<std::string> values;
            Unlike unlike{std::string(fact.what), {}};
            for (const ColumnRow& row : kColumns) {
                if (!is_there(row.column)) continue;
                const RunView& run = *view_.at(row.column).run;
                values.insert(fact.same(run));
                unlike.values[index_of(row.column)] = fact.shown(run);
            }
            if (values.size() > 1) view_.unlike.push_back(std::move(unlike));
        }
    }

    void put_under_causes() {
        Causes causes(gaps_);
        std::map<size_t, std::map<std::string, BreakingPlace>> places;  // by cause
        for (size_t i = 0; i < found_.size();) {
            const Row& row = rows_[found_[i].row];
            const size_t first = i;
            PortedTest& test = view_.tests.emplace_back();
            test.id = row.id;
            test.url = row.url;
            test.module = module_names_[row.module];
            test.pseudo = row.pseudo;
            test.flaky = row.flaky;
            test.states = row.states;
            std::set<size_t> counted;
            for (; i < found_.size() && found_[i].row == found_[first].row; ++i) {
                Found& found = found_[i];
                Difference& difference = test.differences.emplace_back();
                difference.column = found.column;
                difference.change = found.change;
                difference.causes = causes.of(found);
                difference.cause = difference.causes.front();
                difference.key_line = std::move(found.told.line);
                difference.place = std::move(found.told.place);
                difference.place_url = std::move(found.told.place_url);
                difference.reproduce = std::move(found.told.reproduce);
                CauseOfDifferences& cause = causes.list()[difference.cause];
                ++cause.counts[index_of(found.column)];
                ++view_.columns[index_of(found.column)].groups[static_cast<size_t>(cause.group)];
                if (!counted.insert(difference.cause).second) continue;
                ++cause.tests;
                if (cause.group == Group::loss && !difference.place.empty()) {
                    BreakingPlace& place = places[difference.cause][difference.place];
                    place.place = difference.place;
                    place.url = difference.place_url;
                    ++place.tests;
                }
                if (cause.examples.size() < kExamples)
                    cause.examples.push_back(view_.tests.size() - 1);
            }
        }
        view_.causes = std::move(causes.list());
        for (auto& [cause, of_cause] : places) {
            auto& list = view_.causes[cause].places;
            for (auto& [name, place] : of_cause) list.push_back(std::move(place));
            std::stable_sort(list.begin(), list.end(),
                             [](const auto& a, const auto& b) { return a.tests > b.tests; });
            if (list.size() > kExamples) list.resize(kExamples);
        }
    }

    // That no test is lost between the columns, counted another way than the differences were.
    void check(Column column) {
        if (!is_there(column)) return;
        column_ = column;
        PortingColumn& at = here();
        std::int64_t rows = 0, on_cpu = 0, alike = 0, under_causes = 0;
        for (const Row& row : rows_) {
            const auto cpu = row.states[index_of(Column::cpu)];
            const auto state = row.states[index_of(column)];
            rows += state.has_value();
            on_cpu += cpu.has_value();
            alike += cpu.has_value() && compared_with(row.states, column) == state;
        }
        for (const CauseOfDifferences& cause : view_.causes)
            under_causes += cause.counts[index_of(column)];
        const auto expect = [&](std::string_view what, std::int64_t ours, std::int64_t theirs) {
            if (ours != theirs) complain(fmt::format("{}: {} against {}", what, ours, theirs));
        };
        expect("tests compared and tests that the run collected", rows, at.totals.collected);
        if (column == Column::cpu || !is_there(Column::cpu)) return;
        for (const auto changed : at.changes) at.differ += changed;
        expect("plain CPU's tests, and those alike, changed or missing here", on_cpu,
               alike + at.differ - at.count(Change::added));
        expect("this column's tests, and those alike, changed or added", rows,
               alike + at.differ - at.count(Change::missing));
        expect("differences, and those under causes", at.differ, under_causes);
    }

    void see_fallbacks(const std::vector<GapHit>& hits) {
        for (const GapHit& hit : hits) {
            if (hit.key.kind != GapKind::fallback || hit.count == 0) continue;
            FallbackView& fallback = fallback_of(hit.key.symbol);
            fallback.count += hit.count;
            const auto logged = gaps_.find(hit.key);
            fallback.advice =
                logged == gaps_.end() ? analysis::facts_of(hit.key).action : logged->second.action;
            if (hit.test.empty() || !fallbacks_of_tests_[hit.test].insert(hit.key.symbol).second)
                continue;
            ++fallback.tests;
            if (!fallback.example.empty()) continue;
            fallback.example = hit.test;
            if (const auto row = index_.find(hit.test); row != index_.end())
                fallback.url = rows_[row->second].url;
        }
    }

    FallbackView& fallback_of(const std::string& symbol) {
        FallbackView& fallback = fallbacks_[symbol];
        fallback.symbol = symbol;
        return fallback;
    }

    void see_what_fallback_decides() {
        for (const PortedTest& test : view_.tests) {
            const auto on = test.states[index_of(Column::mps)];
            const auto off = test.states[index_of(Column::mps_strict)];
            if (!on || !off || *on == *off) continue;
            ++view_.decided_by_fallback;
            const Difference& without = test.differences.back();
            // Without, it breaks as on plain CPU.
            if (worth_of(*on) != Worth::good || without.column != Column::mps_strict) continue;
            for (const size_t cause : without.causes) {
                if (!is_operator(view_.causes[cause])) continue;
                FallbackView& fallback = fallback_of(view_.causes[cause].gap->symbol);
                if (fallback.depend++ > 0) continue;
                fallback.example = test.id;
                fallback.url = test.url;
                if (fallback.advice.empty()) fallback.advice = view_.causes[cause].advice;
            }
        }
        for (auto& [symbol, fallback] : fallbacks_) view_.fallbacks.push_back(std::move(fallback));
        std::stable_sort(view_.fallbacks.begin(), view_.fallbacks.end(),
                         [](const FallbackView& a, const FallbackView& b) {
                             return std::tie(a.depend, a.tests) > std::tie(b.depend, b.tests);
                         });
    }

    PortingView view_;
    Column column_ = Column::cpu;
    std::deque<Row> rows_;  // ids do not move
    std::unordered_map<std::string_view, size_t> index_;
    std::map<std::string, size_t> modules_;
    std::vector<std::string> module_names_;
    std::unordered_map<size_t, std::string> on_cpu_;  // why, of rows that are not good there
    std::map<std::pair<Column, size_t>, Told> broken_modules_;
    std::vector<Found> found_;
    std::map<GapKey, GapView> gaps_;
    std::map<std::string, FallbackView> fallbacks_;
    FallbacksOfTests fallbacks_of_tests_;
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
void PortingBuilder::note_missing(Column column, std::string why) {
    impl_->note_missing(column, std::move(why));
}
PortingView PortingBuilder::finish() { return impl_->finish(); }

}  // namespace compat::reports
