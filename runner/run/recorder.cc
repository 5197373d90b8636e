#include "runner/run/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <sstream>
#include <string_view>

#include "runner/analysis/accounting.h"
#include "runner/analysis/forked_failures.h"
#include "runner/analysis/marks.h"
#include "runner/archive/run_record.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/run/attempt_result.h"
#include "runner/run/collect.h"

namespace compat::run {

namespace fs = std::filesystem;
using parsers::ModuleOutcome;
using parsers::ModuleRecord;

namespace {

plan::Fate fate_of(parsers::State state, const ModuleRecord& record) {
    using enum parsers::State;
    if (state == crashed || state == timed_out) return plan::Fate::died;
    if (state == not_run) return plan::Fate::unreached;
    return analysis::is_unexpected(state, record.framework) ? plan::Fate::bad : plan::Fate::good;
}

bool failed_in_fork(const parsers::CaseRecord& test, const ModuleRecord& record) {
    return record.forked && !test.pseudo && fate_of(test.state, record) == plan::Fate::bad;
}

}  // namespace

Recorder::Recorder(store::Store& store, std::string run, fs::path run_folder, Settings settings,
                   std::vector<archive::PlannedModule> modules)
    : store_(store),
      run_(std::move(run)),
      folder_(std::move(run_folder)),
      settings_(std::move(settings)),
      modules_(std::move(modules)) {}

ModuleRecord Recorder::read(size_t module, int number, const ProcessEnd& end) const {
    return read_attempt(folder_, {settings_.framework, settings_.isolation}, modules_[module].path,
                        number, end);
}

void Recorder::save(size_t module, store::JobResult result) {
    set_file_names(folder_, modules_[module].path, result);
    auto& jobs = open_[module];
    jobs.push_back(std::move(result));
    add_result(module);
    store::JobResult& job = jobs.back();
    // What will never run says why that is the end of it.
    const plan::NotRunReasons left =
        plan::not_run_reasons(history(module, Deferring::nothing), limits_now());
    for (auto& test : job.record.cases)
        if (test.state == parsers::State::not_run)
            if (const std::string why = left.reason_for(test.id); !why.empty())
                test.reason += "; " + why;
    if (auto recorded = archive::record_attempt(folder_, job); !recorded && !fatal_error_)
        fatal_error_ = recorded.error();
    if (!unsaved_.empty() || !try_to_save(job)) unsaved_.push_back(job);
}

void Recorder::account(size_t module, const ModuleRecord& record) {
    for (const auto& mismatch : analysis::account(record).mismatches) {
        mismatches_.push_back({modules_[module].path, mismatch.text()});
        facts_.unaccounted = true;
    }
}

plan::AttemptLimits Recorder::limits_now() const {
    plan::AttemptLimits limits = settings_.limits;
    if (limits.maxfail == 0) return limits;
    // What is taken up was decided with fewer failures known: in the same order, and to go on.
    limits.maxfail =
        failed_before_start_
            ? std::max<std::int64_t>(1, limits.maxfail - (failed_ - *failed_before_start_))
            : std::numeric_limits<std::int64_t>::max();
    return limits;
}

// Where the run stops at a number of failures, nothing is saved.
bool Recorder::confirms_once() const {
    return !settings_.confirm_all && settings_.limits.maxfail == 0 && settings_.limits.seeds == 0;
}

// Whether a fresh process has had the same failures of the test, in an earlier run.
bool Recorder::is_proven(const parsers::CaseRecord& test) const {
    if (!settings_.gives_verdicts) return true;
    const auto known = settings_.evidence.failures.find(test.id);
    if (settings_.confirm_all || known == settings_.evidence.failures.end()) return false;
    const auto signatures = analysis::signatures_of(test);
    return !signatures.empty() && !signatures.contains("") &&
           std::includes(known->second.begin(), known->second.end(), signatures.begin(),
                         signatures.end());
}

// Whether other modules may confirm all that failed in a module's forked processes. A fresh process
// that the module needs anyway runs them all.
bool Recorder::others_may_confirm(size_t module) const {
    const auto& jobs = open_.at(module);
    return std::none_of(jobs.begin(), jobs.end(), [&](const store::JobResult& job) {
        return std::any_of(job.record.cases.begin(), job.record.cases.end(), [&](const auto& test) {
            return failed_in_fork(test, job.record) && !is_proven(test) &&
                   analysis::needs_own_confirmation(test, job.record.path);
        });
    });
}

bool Recorder::was_only_forked(size_t module) const {
    const auto jobs = open_.find(module);
    return jobs != open_.end() &&
           std::all_of(jobs->second.begin(), jobs->second.end(),
                       [](const store::JobResult& job) { return job.record.forked; });
}

// The signatures of the tests that failed in forks.
std::map<std::string_view, std::set<std::string>> Recorder::forked_failures(size_t module) const {
    std::map<std::string_view, std::set<std::string>> failures;
    for (const auto& job : open_.at(module))
        for (const auto& test : job.record.cases)
            if (failed_in_fork(test, job.record))
                failures[test.id].merge(analysis::signatures_of(test));
    return failures;
}

plan::Attempt Recorder::to_planner_attempt(const store::JobResult& job, bool defer) const {
    const ModuleRecord& record = job.record;
    plan::Attempt attempt;
    attempt.kind = job.kind;
    attempt.forked = record.forked;
    attempt.stopped = record.outcome == ModuleOutcome::interrupted ||
                      record.outcome == ModuleOutcome::spawn_failed;
    attempt.known = record.ready && record.outcome != ModuleOutcome::load_error;
    attempt.asked = job.only;
    for (const auto& test : record.cases)
        attempt.rows.push_back({test.id, fate_of(test.state, record), test.pseudo,
                                failed_in_fork(test, record) && (defer || is_proven(test))});
    return attempt;
}

std::vector<plan::Attempt> Recorder::history(size_t module, Deferring deferring) const {
    std::vector<plan::Attempt> attempts;
    const auto jobs = open_.find(module);
    if (jobs == open_.end()) return attempts;
    const bool defer = deferring == Deferring::confirmable_by_others && confirms_once() &&
                       others_may_confirm(module);
    std::transform(jobs->second.begin(), jobs->second.end(), std::back_inserter(attempts),
                   [&](const store::JobResult& job) { return to_planner_attempt(job, defer); });
    return attempts;
}

// What the module's last attempt says of failures in forked processes: of its own, or, if its first
// process was fresh, of equal ones.
void Recorder::add_result(size_t module) {
    const auto& jobs = open_.at(module);
    const ModuleRecord& first = jobs.front().record;
    const ModuleRecord& fresh = jobs.back().record;
    if (fresh.forked) return;
    for (const auto& test : fresh.cases)
        if (!test.pseudo && fate_of(test.state, fresh) == plan::Fate::bad)
            settings_.evidence.failures[test.id].merge(analysis::signatures_of(test));
    if (!confirms_once()) return;
    if (!first.forked) {
        if (jobs.size() > 1) return;
        for (const auto& test : fresh.cases) {
            const auto signatures = analysis::signatures_of(test);
            confirmations_.add_result(signatures, signatures);
            known_before_choice_.add_result(signatures, signatures);
        }
        return;
    }
    const auto failed = forked_failures(module);
    for (const auto& test : fresh.cases)
        if (const auto before = failed.find(test.id);
            before != failed.end() && test.state != parsers::State::not_run)
            confirmations_.add_result(before->second, analysis::signatures_of(test));
}

Assignment Recorder::assign(size_t module, plan::AttemptRequest request, bool may_fork) {
    Assignment assignment;
    assignment.module = module;
    assignment.number = next_number(module);
    assignment.kind = request.kind;
    assignment.only =
        request.kind == AttemptKind::whole ? modules_[module].only : std::move(request.only);
    assignment.may_fork = may_fork || assignment.number == 1;
    ++under_way_;
    forks_under_way_ += assignment.may_fork;
    if (!assignment.may_fork) repeated_.insert(module);
    return assignment;
}

Step Recorder::decide(size_t module) {
    const plan::AttemptLimits limits = limits_now();
    auto next = plan::next_attempt(history(module, Deferring::confirmable_by_others), limits);
    if (next) {
        const bool repeats_forks = next->kind == AttemptKind::again && was_only_forked(module);
        const bool may_fork = repeats_forks && confirms_once() && others_may_confirm(module);
        const bool confirms = settings_.limits.maxfail == 0 && !may_fork &&
                              (repeats_forks || confirms_rest(module, *next));
        // A later one may come before or after the choice.
        if (confirms && repeats_forks) claim(module, next->only);
        Assignment assignment = assign(module, std::move(*next), may_fork);
        assignment.confirms = confirms;
        return {std::move(assignment), {}};
    }
    if (!plan::next_attempt(history(module, Deferring::nothing), limits))
        return {{}, close(module)};
    waiting_.insert(module);
    return {};
}

// Whether it repeats only what failed in the module's fork, after other attempts.
bool Recorder::confirms_rest(size_t module, const plan::AttemptRequest& request) const {
    const auto jobs = open_.find(module);
    return request.kind == AttemptKind::again && settings_.limits.retries == 0 &&
           jobs != open_.end() && jobs->second.front().record.forked;
}

void Recorder::claim(size_t module, const std::vector<std::string>& ids) {
    auto failures = forked_failures(module);
    for (const std::string& id : ids) claimed_.merge(failures[id]);
}

plan::UnconfirmedModule Recorder::unconfirmed(size_t module) const {
    plan::UnconfirmedModule made{modules_[module].path, {}};
    const auto request = plan::next_attempt(history(module, Deferring::nothing), limits_now());
    auto failures = forked_failures(module);
    for (const std::string& id : request->only)
        made.failures.push_back({id, std::move(failures[id])});
    return made;
}

std::vector<Step> Recorder::assign_confirmations() {
    if (forks_under_way_ > 0 || fatal_error_) return {};
    if (!std::exchange(has_chosen_, true)) {
        std::vector<size_t> once;  // others wait or not depending on when their repeats ended
        std::set_difference(waiting_.begin(), waiting_.end(), repeated_.begin(), repeated_.end(),
                            std::back_inserter(once));
        auto steps = choose_confirmations(once, known_before_choice_, claimed_);
        if (!steps.empty()) return steps;
    }
    if (under_way_ > 0) return {};
    const std::vector<size_t> waiting(waiting_.begin(), waiting_.end());
    auto steps = choose_confirmations(waiting, confirmations_, {});
    if (!steps.empty()) return steps;
    for (const size_t module : waiting) steps.push_back({{}, close(module)});
    waiting_.clear();
    return steps;
}

std::vector<Step> Recorder::choose_confirmations(const std::vector<size_t>& waiting,
                                                 const plan::Confirmations& known,
                                                 const std::set<std::string>& claimed) {
    std::vector<plan::UnconfirmedModule> modules;
    for (const size_t module : waiting) modules.push_back(unconfirmed(module));
    auto chosen = known.choose(modules, claimed);
    std::vector<Step> steps;
    for (size_t i = 0; i < waiting.size(); ++i) {
        if (chosen[i].empty()) continue;
        waiting_.erase(waiting[i]);
        Assignment assignment =
            assign(waiting[i], {AttemptKind::again, std::move(chosen[i])}, false);
        assignment.confirms = true;
        steps.push_back({std::move(assignment), {}});
    }
    return steps;
}

std::vector<Step> Recorder::begin() {
    failed_before_start_ = failed_;
    known_before_choice_ = confirmations_;
    return assign_confirmations();
}

int Recorder::next_number(size_t module) const {
    const auto jobs = open_.find(module);
    const auto diagnostics = diagnostics_.find(module);
    return static_cast<int>(1 + (jobs == open_.end() ? 0 : jobs->second.size()) +
                            (diagnostics == diagnostics_.end() ? 0 : diagnostics->second));
}

Step Recorder::resume_module(size_t module, std::vector<store::JobResult> found,
                             size_t diagnostics) {
    if (diagnostics > 0) diagnostics_[module] = diagnostics;
    for (auto& job : found) {
        account(module, job.record);
        open_[module].push_back(std::move(job));
        add_result(module);
    }
    const int number = next_number(module);
    const std::string& path = modules_[module].path;
    auto left = attempt_left(folder_, {settings_.framework, settings_.isolation}, path, number,
                             ProcessEnd::stopped("the runner ended before it"));
    std::error_code error;
    // A file of ids alone would be taken for that of the attempt to come.
    if (!left)
        for (const std::string_view name : kAttemptKindNames)
            fs::remove(folder_ / archive::attempt_names(path, number, *attempt_kind_of(name)).only,
                       error);
    if (!left) return decide(module);
    // What follows the others is begun again (diagnose.h).
    if (left->kind == AttemptKind::diagnostic) {
        archive::remove_attempt(folder_, path, number, left->kind);
        return decide(module);
    }
    account(module, left->record);
    save(module, std::move(*left));
    return decide(module);
}

std::vector<Step> Recorder::job_finished(const Assignment& assignment,
                                         const exec::JobFinished& finished) {
    const size_t module = assignment.module;
    store::JobResult result =
        attempt_result(folder_, {settings_.framework, settings_.isolation, assignment.key},
                       modules_[module].path, assignment.number, assignment.kind, finished);
    if (assignment.kind != AttemptKind::whole) result.only = assignment.only;

    account(module, result.record);
    if (finished.infrastructure_error && !fatal_error_)
        fatal_error_ = finished.infrastructure_error;
    save(module, std::move(result));
    --under_way_;
    forks_under_way_ -= assignment.may_fork;
    const bool ours = finished.end.kind == ProcessEnd::Kind::stopped ||
                      finished.end.kind == ProcessEnd::Kind::spawn_failed;
    std::vector<Step> steps;
    if (ours || fatal_error_) {
        has_tests_to_resume_ = true;
        could_not_start_ |= finished.end.kind == ProcessEnd::Kind::spawn_failed;
        steps.push_back({{}, close(module)});
    } else {
        steps.push_back(decide(module));
    }
    auto others = assign_confirmations();
    std::move(others.begin(), others.end(), std::back_inserter(steps));
    return steps;
}

display::ModuleDone Recorder::close(size_t module) {
    display::ModuleDone done;
    done.path = modules_[module].path;
    const auto jobs = open_.find(module);
    if (jobs == open_.end()) {
        done.verdicts.record.path = done.path;
        done.verdicts.record.outcome = ModuleOutcome::not_run;
    } else {
        done.verdicts = analysis::take_verdicts(jobs->second);
        done.attempts = static_cast<int>(jobs->second.size());
        for (const auto& job : jobs->second) {
            done.duration_s += job.duration_s;
            done.leaked.insert(done.leaked.end(), job.leaked.begin(), job.leaked.end());
        }
        open_.erase(jobs);
    }
    const ModuleRecord& record = done.verdicts.record;
    // Under `maxfail` tests are left that the planner would have run.
    if (settings_.limits.maxfail > 0)
        has_tests_to_resume_ =
            has_tests_to_resume_ || record.outcome == ModuleOutcome::interrupted ||
            std::any_of(record.cases.begin(), record.cases.end(),
                        [](const auto& test) { return test.state == parsers::State::not_run; });
    add(facts_, record, settings_.expectations);
    for (const auto& test : record.cases) {
        const auto judged = settings_.expectations.judge(test, record.framework);
        if (judged.entry && judged.fit == analysis::Fit::unexpected_pass)
            unexpected_passes_.push_back(test.id);
    }
    const auto unmatched = ids_without_tests(modules_[module].only, record);
    unmatched_.insert(unmatched_.end(), unmatched.begin(), unmatched.end());
    facts_.usage = facts_.usage || !unmatched_.empty();
    // A test that fails with one of the streams.
    const bool fails_flaky = settings_.flaky_fails || settings_.limits.seeds > 0;
    for (const auto& verdict : done.verdicts.tests)
        facts_.unexpected = facts_.unexpected || (fails_flaky && verdict.flaky);
    if (!settings_.fail_on.empty())
        for (const auto& marks : analysis::marks_of(record))
            for (const auto name : marks.names())
                if (std::find(settings_.fail_on.begin(), settings_.fail_on.end(), name) !=
                    settings_.fail_on.end())
                    ++failed_on_[std::string(name)];
    facts_.unexpected = facts_.unexpected || !failed_on_.empty();
    failed_ += std::count_if(record.cases.begin(), record.cases.end(), [&](const auto& test) {
        return test.state != parsers::State::not_run &&
               analysis::is_unexpected(test.state, record.framework);
    });
    facts_.infrastructure = facts_.infrastructure || fatal_error_.has_value();
    return done;
}

std::vector<display::ModuleDone> Recorder::close_unfinished_modules() {
    std::vector<display::ModuleDone> all;
    has_tests_to_resume_ = has_tests_to_resume_ || !open_.empty();
    waiting_.clear();
    while (!open_.empty()) all.push_back(close(open_.begin()->first));
    return all;
}

void Recorder::note_start_failure(Error error) {
    if (!fatal_error_) fatal_error_ = std::move(error);
    facts_.infrastructure = true;
}

bool Recorder::reached_maxfail() const {
    return settings_.limits.maxfail > 0 &&
           failed_ - failed_before_start_.value_or(0) >= settings_.limits.maxfail;
}

std::string Recorder::stop() const {
    // A store or disk that takes no more: hours of work would be lost.
    if (fatal_error_) return to_line(*fatal_error_);
    if (reached_maxfail()) return fmt::format("stopped by --maxfail {}", settings_.limits.maxfail);
    return {};
}

bool Recorder::try_to_save(const store::JobResult& job) {
    const auto saved = store_.save_job(run_, job);
    is_busy_ = !saved && saved.error().kind == ErrorKind::busy;
    if (!saved && !is_busy_ && !fatal_error_) fatal_error_ = saved.error();
    return saved.has_value();
}

Expected<void> Recorder::save_pending() {
    is_busy_ = false;
    // What the store refuses does not keep it from taking the rest.
    std::erase_if(unsaved_, [&](const auto& job) { return !is_busy_ && try_to_save(job); });
    if (!is_busy_) return {};
    return fail(ErrorKind::busy, fmt::format("{} attempts are not stored yet", unsaved_.size()));
}

}  // namespace compat::run
