#include "runner/run/recording/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "runner/analysis/accounting.h"
#include "runner/analysis/marks.h"
#include "runner/archive/run_record.h"
#include "runner/run/collect.h"

namespace compat::run {

using parsers::ModuleOutcome;

namespace {

// Where the run stops at a number of failures, nothing is saved by sharing.
bool shares_confirmations(bool confirm_all, const plan::AttemptLimits& limits) {
    return !confirm_all && limits.maxfail == 0 && limits.seeds == 0;
}

// A file of ids alone would be taken for that of the attempt to come.
void remove_id_files(const fs::path& folder, const std::string& module, int number) {
    std::error_code error;
    for (const std::string_view name : kAttemptKindNames)
        fs::remove(folder / archive::attempt_names(module, number, *attempt_kind_of(name)).only,
                   error);
}

// `only`: the ids that were requested of the module.
void add_module(RunTally& tally, const analysis::Verdicts& verdicts,
                const std::vector<std::string>& only, const TallyRules& rules) {
    const parsers::ModuleRecord& record = verdicts.record;
    analysis::add(tally.facts, record, rules.expectations);
    for (const auto& test : record.cases) {
        const auto judged = rules.expectations.judge(test, record.framework);
        if (judged.entry && judged.fit == analysis::Fit::unexpected_pass)
            tally.unexpected_passes.push_back(test.id);
        tally.failed += test.state != parsers::State::not_run &&
                        analysis::is_unexpected(test.state, record.framework);
    }
    const auto unmatched = ids_without_tests(only, record);
    tally.unmatched.insert(tally.unmatched.end(), unmatched.begin(), unmatched.end());
    const std::vector<std::string>& fail_on = rules.fail_on;
    if (!fail_on.empty())
        for (const auto& marks : analysis::marks_of(record))
            for (const auto name : marks.names())
                if (std::find(fail_on.begin(), fail_on.end(), name) != fail_on.end())
                    ++tally.failed_on[std::string(name)];
    const bool failed_flaky =
        rules.flaky_fails && std::any_of(verdicts.tests.begin(), verdicts.tests.end(),
                                         [](const auto& verdict) { return verdict.flaky; });
    tally.facts.usage |= !tally.unmatched.empty();
    tally.facts.unexpected |= failed_flaky || !tally.failed_on.empty();
}

void add_mismatches(RunTally& tally, const std::string& module,
                    const parsers::ModuleRecord& record) {
    for (const auto& mismatch : analysis::account(record).mismatches)
        tally.mismatches.push_back({module, mismatch.text()});
    tally.facts.unaccounted |= !tally.mismatches.empty();
}

}  // namespace

void AttemptWriter::add_error(Error error) {
    if (!fatal_error_) fatal_error_ = std::move(error);
}

void AttemptWriter::save(const store::JobResult& job) {
    if (auto recorded = archive::record_attempt(folder_, job); !recorded)
        add_error(recorded.error());
    if (!pending_.empty() || !try_to_store(job)) pending_.push_back(job);
}

bool AttemptWriter::try_to_store(const store::JobResult& job) {
    const auto saved = store_.save_job(run_, job);
    is_busy_ = !saved && saved.error().kind == ErrorKind::busy;
    if (!saved && !is_busy_) add_error(saved.error());
    return saved.has_value();
}

Expected<void> AttemptWriter::save_pending() {
    is_busy_ = false;
    // A result that the store refuses does not keep it from taking the rest.
    std::erase_if(pending_, [&](const auto& job) { return !is_busy_ && try_to_store(job); });
    if (!is_busy_) return {};
    return fail(ErrorKind::busy, fmt::format("{} attempts are not stored yet", pending_.size()));
}

Recorder::Recorder(store::Store& store, std::string run, fs::path run_folder, Settings settings,
                   std::vector<archive::PlannedModule> modules)
    : writer_(store, std::move(run), std::move(run_folder)),
      origin_(std::move(settings.origin)),
      limits_(settings.limits),
      tally_rules_(std::move(settings.tally)),
      confirmations_(settings.confirmation,
                     shares_confirmations(settings.confirmation.confirm_all, limits_)) {
    modules_.reserve(modules.size());
    for (auto& module : modules) modules_.push_back({.planned = std::move(module)});
}

void Recorder::save(Module& module, store::JobResult result) {
    const std::string& path = module.planned.path;
    add_mismatches(tally_, path, result.record);
    set_file_names(writer_.folder(), path, result);
    module.attempts.push_back(std::move(result));
    confirmations_.add_result(module.attempts);
    store::JobResult& job = module.attempts.back();
    // A test that will never run says why that is the end of it.
    const plan::NotRunReasons left =
        plan::not_run_reasons(confirmations_.history(module.attempts, false), limits_now());
    for (auto& test : job.record.cases)
        if (test.state == parsers::State::not_run)
            if (const std::string why = left.reason_for(test.id); !why.empty())
                test.reason += "; " + why;
    writer_.save(job);
}

plan::AttemptLimits Recorder::limits_now() const {
    plan::AttemptLimits limits = limits_;
    if (limits.maxfail == 0) return limits;
    // Resumed modules were decided with fewer failures known: in the same order, and to go on.
    limits.maxfail =
        failed_before_start_
            ? std::max<std::int64_t>(1, limits.maxfail - (tally_.failed - *failed_before_start_))
            : std::numeric_limits<std::int64_t>::max();
    return limits;
}

std::optional<plan::AttemptRequest> Recorder::next_attempt(const Module& module, bool defer) const {
    return plan::next_attempt(confirmations_.history(module.attempts, defer), limits_now());
}

Assignment Recorder::assign(size_t module, plan::AttemptRequest request, bool may_fork) {
    Module& assigned = modules_[module];
    const int number = assigned.next_number();
    Assignment assignment{.module = module,
                          .number = number,
                          .kind = request.kind,
                          .only = request.kind == AttemptKind::whole ? assigned.planned.only
                                                                     : std::move(request.only),
                          .may_fork = may_fork || number == 1};
    ++under_way_;
    forks_under_way_ += assignment.may_fork;
    assigned.repeated |= !assignment.may_fork;
    return assignment;
}

Step Recorder::decide(size_t module) {
    Module& decided = modules_[module];
    const Attempts& attempts = decided.attempts;
    auto next = next_attempt(decided, /*defer=*/true);
    if (!next) {
        decided.waits = next_attempt(decided, /*defer=*/false).has_value();
        return decided.waits ? Step{} : Step{{}, close(module)};
    }
    const bool repeats_forks = next->kind == AttemptKind::again && only_forked(attempts);
    const bool may_fork = repeats_forks && confirmations_.others_may_confirm(attempts);
    // It repeats only what failed in the module's fork, after other attempts.
    const bool confirms_rest =
        next->kind == AttemptKind::again && limits_.retries == 0 && attempts.front().record.forked;
    const bool confirms = limits_.maxfail == 0 && !may_fork && (repeats_forks || confirms_rest);
    // A later one may come before or after the choice.
    if (confirms && repeats_forks) confirmations_.claim(attempts, next->only);
    Assignment assignment = assign(module, std::move(*next), may_fork);
    assignment.confirms = confirms;
    return {std::move(assignment), {}};
}

std::vector<Step> Recorder::assign_confirmations() {
    if (forks_under_way_ > 0 || fatal_error()) return {};
    const bool is_first = !std::exchange(has_chosen_, true);
    if (!is_first && under_way_ > 0) return {};
    std::vector<size_t> waiting, once;  // others wait or not depending on when their repeats ended
    for (size_t i = 0; i < modules_.size(); ++i) {
        if (!modules_[i].waits) continue;
        waiting.push_back(i);
        if (!modules_[i].repeated) once.push_back(i);
    }
    std::vector<Step> steps;
    if (is_first) steps = choose_confirmations(once, ForkConfirmations::Choice::first);
    if (!steps.empty() || under_way_ > 0) return steps;
    steps = choose_confirmations(waiting, ForkConfirmations::Choice::later);
    if (!steps.empty()) return steps;
    for (const size_t module : waiting) steps.push_back({{}, close(module)});
    return steps;
}

std::vector<Step> Recorder::choose_confirmations(const std::vector<size_t>& waiting,
                                                 ForkConfirmations::Choice choice) {
    std::vector<plan::UnconfirmedModule> modules;
    for (const size_t i : waiting) {
        const Module& module = modules_[i];
        modules.push_back(unconfirmed(module.planned.path, module.attempts,
                                      next_attempt(module, /*defer=*/false)->only));
    }
    auto chosen = confirmations_.choose(modules, choice);
    std::vector<Step> steps;
    for (size_t i = 0; i < waiting.size(); ++i) {
        if (chosen[i].empty()) continue;
        modules_[waiting[i]].waits = false;
        Assignment assignment =
            assign(waiting[i], {AttemptKind::again, std::move(chosen[i])}, /*may_fork=*/false);
        assignment.confirms = true;
        steps.push_back({std::move(assignment), {}});
    }
    return steps;
}

std::vector<Step> Recorder::begin() {
    failed_before_start_ = tally_.failed;
    confirmations_.begin();
    return assign_confirmations();
}

Step Recorder::resume_module(size_t module, Attempts found, size_t diagnostics) {
    Module& resumed = modules_[module];
    const std::string& path = resumed.planned.path;
    resumed.diagnostics = diagnostics;
    for (auto& job : found) {
        add_mismatches(tally_, path, job.record);
        resumed.attempts.push_back(std::move(job));
        confirmations_.add_result(resumed.attempts);
    }
    const int number = resumed.next_number();
    auto left = attempt_left(writer_.folder(), origin_, path, number,
                             ProcessEnd::stopped("the runner ended before it"));
    if (!left)
        remove_id_files(writer_.folder(), path, number);
    else if (left->kind == AttemptKind::diagnostic)
        // An attempt that follows the others is begun again (diagnose.h).
        archive::remove_attempt(writer_.folder(), path, number, left->kind);
    else
        save(resumed, std::move(*left));
    return decide(module);
}

std::vector<Step> Recorder::job_finished(const Assignment& assignment,
                                         const exec::JobFinished& finished) {
    const size_t module = assignment.module;
    AttemptOrigin origin = origin_;
    origin.key = assignment.key;
    store::JobResult result =
        attempt_result(writer_.folder(), origin, modules_[module].planned.path, assignment.number,
                       assignment.kind, finished);
    if (assignment.kind != AttemptKind::whole) result.only = assignment.only;
    if (finished.infrastructure_error) writer_.add_error(*finished.infrastructure_error);
    save(modules_[module], std::move(result));
    --under_way_;
    forks_under_way_ -= assignment.may_fork;
    const bool not_started = finished.end.kind == ProcessEnd::Kind::spawn_failed;
    std::vector<Step> steps;
    if (not_started || finished.end.kind == ProcessEnd::Kind::stopped || fatal_error()) {
        tally_.has_tests_to_resume = true;
        tally_.could_not_start |= not_started;
        steps.push_back({{}, close(module)});
    } else {
        steps.push_back(decide(module));
    }
    auto others = assign_confirmations();
    std::move(others.begin(), others.end(), std::back_inserter(steps));
    return steps;
}

display::ModuleDone Recorder::close(size_t module) {
    Module& closed = modules_[module];
    closed.waits = false;
    display::ModuleDone done;
    done.path = closed.planned.path;
    parsers::ModuleRecord& record = done.verdicts.record;
    if (Attempts attempts = std::exchange(closed.attempts, {}); attempts.empty()) {
        record.path = done.path;
        record.outcome = ModuleOutcome::not_run;
    } else {
        done.verdicts = analysis::take_verdicts(attempts);
        done.attempts = static_cast<int>(attempts.size());
        for (const auto& job : attempts) {
            done.duration_s += job.duration_s;
            done.leaked.insert(done.leaked.end(), job.leaked.begin(), job.leaked.end());
        }
    }
    // Under `maxfail` tests are left that the planner would have run.
    tally_.has_tests_to_resume |=
        limits_.maxfail > 0 &&
        (record.outcome == ModuleOutcome::interrupted ||
         std::any_of(record.cases.begin(), record.cases.end(),
                     [](const auto& test) { return test.state == parsers::State::not_run; }));
    add_module(tally_, done.verdicts, closed.planned.only, tally_rules_);
    tally_.facts.infrastructure |= fatal_error().has_value();
    return done;
}

std::vector<display::ModuleDone> Recorder::close_unfinished_modules() {
    std::vector<display::ModuleDone> all;
    for (size_t i = 0; i < modules_.size(); ++i)
        if (!modules_[i].attempts.empty()) all.push_back(close(i));
    tally_.has_tests_to_resume |= !all.empty();
    return all;
}

void Recorder::note_start_failure(Error error) {
    writer_.add_error(std::move(error));
    tally_.facts.infrastructure = true;
}

bool Recorder::reached_maxfail() const {
    return limits_.maxfail > 0 &&
           tally_.failed - failed_before_start_.value_or(0) >= limits_.maxfail;
}

std::string Recorder::stop() const {
    // A store or disk that takes no more: hours of work would be lost.
    if (fatal_error()) return to_line(*fatal_error());
    if (reached_maxfail()) return fmt::format("stopped by --maxfail {}", limits_.maxfail);
    return {};
}

}  // namespace compat::run
