#include "runner/run/recording/fork_confirmations.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "runner/analysis/expectations/judge.h"
#include "runner/analysis/forked_failures.h"

namespace compat::run {

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

// The signatures of the tests that failed in forks.
std::map<std::string_view, std::set<std::string>> forked_failures(const Attempts& attempts) {
    std::map<std::string_view, std::set<std::string>> failures;
    for (const auto& job : attempts)
        for (const auto& test : job.record.cases)
            if (failed_in_fork(test, job.record))
                failures[test.id].merge(analysis::signatures_of(test));
    return failures;
}

}  // namespace

bool only_forked(const Attempts& attempts) {
    return std::all_of(attempts.begin(), attempts.end(),
                       [](const store::JobResult& job) { return job.record.forked; });
}

// Whether a fresh process has had the same failures of the test, in an earlier run.
bool ForkConfirmations::is_proven(const parsers::CaseRecord& test) const {
    if (!rules_.gives_verdicts) return true;
    const auto known = rules_.evidence.failures.find(test.id);
    if (rules_.confirm_all || known == rules_.evidence.failures.end()) return false;
    const auto signatures = analysis::stored_signatures_of(test);
    return !signatures.empty() && !signatures.contains("") &&
           std::includes(known->second.begin(), known->second.end(), signatures.begin(),
                         signatures.end());
}

bool ForkConfirmations::others_may_confirm(const Attempts& attempts) const {
    return share_ &&
           std::none_of(attempts.begin(), attempts.end(), [&](const store::JobResult& job) {
               const auto& cases = job.record.cases;
               return std::any_of(cases.begin(), cases.end(), [&](const auto& test) {
                   return failed_in_fork(test, job.record) && !is_proven(test) &&
                          analysis::needs_own_confirmation(test, job.record.path);
               });
           });
}

std::vector<plan::Attempt> ForkConfirmations::history(const Attempts& attempts, bool defer) const {
    defer = defer && others_may_confirm(attempts);
    std::vector<plan::Attempt> history;
    for (const store::JobResult& job : attempts) {
        const ModuleRecord& record = job.record;
        plan::Attempt attempt{.kind = job.kind,
                              .forked = record.forked,
                              .stopped = record.outcome == ModuleOutcome::interrupted ||
                                         record.outcome == ModuleOutcome::spawn_failed,
                              .known = record.ready && record.outcome != ModuleOutcome::load_error,
                              .asked = job.only,
                              .rows = {}};
        for (const auto& test : record.cases)
            attempt.rows.push_back(
                {.id = test.id,
                 .fate = fate_of(test.state, record),
                 .pseudo = test.pseudo,
                 .deferred = failed_in_fork(test, record) && (defer || is_proven(test))});
        history.push_back(std::move(attempt));
    }
    return history;
}

void ForkConfirmations::add_result(const Attempts& attempts) {
    const ModuleRecord& first = attempts.front().record;
    const ModuleRecord& fresh = attempts.back().record;
    if (fresh.forked) return;
    for (const auto& test : fresh.cases)
        if (!test.pseudo && fate_of(test.state, fresh) == plan::Fate::bad)
            rules_.evidence.failures[test.id].merge(analysis::stored_signatures_of(test));
    if (!share_ || (!first.forked && attempts.size() > 1)) return;
    const auto failed = forked_failures(attempts);
    for (const auto& test : fresh.cases) {
        const auto signatures = analysis::signatures_of(test);
        if (!first.forked) {
            confirmations_.add_result(signatures, signatures);
            known_at_start_.add_result(signatures, signatures);
        } else if (const auto before = failed.find(test.id);
                   before != failed.end() && test.state != parsers::State::not_run) {
            confirmations_.add_result(before->second, signatures);
        }
    }
}

void ForkConfirmations::claim(const Attempts& attempts, const std::vector<std::string>& ids) {
    auto failures = forked_failures(attempts);
    for (const std::string& id : ids) claimed_.merge(failures[id]);
}

std::vector<std::vector<std::string>> ForkConfirmations::choose(
    const std::vector<plan::UnconfirmedModule>& modules, Choice choice) const {
    return choice == Choice::first ? known_at_start_.choose(modules, claimed_)
                                   : confirmations_.choose(modules);
}

plan::UnconfirmedModule unconfirmed(std::string path, const Attempts& attempts,
                                    const std::vector<std::string>& ids) {
    plan::UnconfirmedModule module{std::move(path), {}};
    auto failures = forked_failures(attempts);
    for (const std::string& id : ids) module.failures.push_back({id, std::move(failures[id])});
    return module;
}

}  // namespace compat::run
