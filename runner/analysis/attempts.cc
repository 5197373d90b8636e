#include "runner/analysis/attempts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "parsers/outcomes.h"

namespace compat::analysis {

using parsers::CaseRecord;
using parsers::ModuleOutcome;
using parsers::ModuleRecord;
using parsers::State;

namespace {

struct Row {
    std::vector<CaseAttempt> attempts;
    CaseAttempt decisive;
};

const CaseRecord& row_of(const std::vector<Attempt>& attempts, const CaseAttempt& at) {
    return attempts[at.attempt].record->cases[at.row];
}

// The tests in the order in which they were first seen, each with all its rows.
std::vector<Row> gather(const std::vector<Attempt>& attempts) {
    size_t last_whole = 0;
    for (size_t i = 0; i < attempts.size(); ++i)
        if (attempts[i].kind == AttemptKind::whole) last_whole = i;
    std::vector<Row> rows;
    std::unordered_map<std::string_view, size_t> places;
    for (size_t i = 0; i < attempts.size(); ++i) {
        const auto& cases = attempts[i].record->cases;
        const bool some = repeats_some_tests(attempts[i].kind);
        for (size_t j = 0; j < cases.size(); ++j) {
            // A row "nothing ran" counts only in the last attempt.
            const bool outdated =
                i < last_whole || (cases[j].state == State::not_run && i + 1 < attempts.size());
            if (cases[j].pseudo && outdated) continue;
            if (some && cases[j].pseudo && cases[j].state != State::not_run &&
                !places.contains(cases[j].id))
                continue;
            const auto [place, added] = places.try_emplace(cases[j].id, rows.size());
            if (added) rows.push_back({{}, {i, j}});
            Row& row = rows[place->second];
            row.attempts.push_back({i, j});
            if (cases[j].state != State::not_run) row.decisive = {i, j};
            // Not reached yet: the newest reason counts.
            if (row_of(attempts, row.decisive).state == State::not_run) row.decisive = {i, j};
        }
    }
    return rows;
}

Verdict marked(const std::vector<Attempt>& attempts, Row row) {
    std::vector<ResultInAttempt> results;
    for (const CaseAttempt& at : row.attempts)
        results.push_back({row_of(attempts, at).state, attempts[at.attempt].record->forked,
                           at.attempt == row.decisive.attempt});
    const auto [flaky, fork_sensitive] = stability_of(results);
    return {std::move(row.attempts), row.decisive, flaky, fork_sensitive};
}

const CaseRecord* first_of(const ModuleRecord& record, State state) {
    const auto found = std::find_if(record.cases.begin(), record.cases.end(),
                                    [&](const CaseRecord& c) { return c.state == state; });
    return found == record.cases.end() ? nullptr : &*found;
}

void set_outcome(ModuleRecord& merged, const std::vector<Attempt>& attempts) {
    const Attempt* whole = nullptr;
    const Attempt* main_line = nullptr;  // the last one of all remaining tests
    for (const Attempt& attempt : attempts) {
        if (attempt.kind == AttemptKind::whole) whole = &attempt;
        if (attempt.kind == AttemptKind::whole || attempt.kind == AttemptKind::rest)
            main_line = &attempt;
    }
    const auto take = [&](const ModuleRecord& from) {
        merged.outcome = from.outcome;
        merged.reason = from.reason;
    };
    const auto died = [&](ModuleOutcome outcome, const CaseRecord& row) {
        merged.outcome = outcome;
        merged.reason = row.pseudo ? row.reason : fmt::format("{} in {}", row.reason, row.id);
    };
    using enum ModuleOutcome;
    const ModuleOutcome last = main_line->record->outcome;
    const bool cut = last == interrupted || last == spawn_failed || last == not_run;
    if (cut && (merged.cases.empty() || first_of(merged, State::not_run)))
        take(*main_line->record);
    else if (whole->record->outcome == load_error || whole->record->outcome == no_tests)
        take(*whole->record);
    else if (const CaseRecord* crash = first_of(merged, State::crashed))
        died(crashed, *crash);
    else if (const CaseRecord* hang = first_of(merged, State::timed_out))
        died(timed_out, *hang);
    else if (first_of(merged, State::not_run))
        take(*main_line->record);
    else
        merged.outcome = completed, merged.reason.clear();
}

void merge_device_records(ModuleRecord& merged, const std::vector<Attempt>& attempts,
                          const std::unordered_map<std::string_view, size_t>& deciding) {
    for (size_t i = 0; i < attempts.size(); ++i) {
        const auto decides = [&](const std::string& test) {
            const auto decider = deciding.find(test);
            return decider == deciding.end() || decider->second == i;
        };
        const ModuleRecord& record = *attempts[i].record;
        const auto take = [&](const auto& from, auto& to) {
            std::copy_if(from.begin(), from.end(), std::back_inserter(to),
                         [&](const auto& row) { return decides(row.test); });
        };
        take(record.device_events, merged.device_events);
        take(record.kernels, merged.kernels);
        take(record.collectives, merged.collectives);
        take(record.optimizer_steps, merged.optimizer_steps);
    }
}

// Whether the shim knows its devices: it does once its process has imported torch.
bool has_torch(const std::optional<parsers::ShimSession>& shim) {
    return shim && !shim->version.empty();
}

// From the first attempt that knows each: one that was stopped early knows little.
void merge_module_fields(ModuleRecord& merged, const std::vector<Attempt>& attempts) {
    merged.path = attempts.front().record->path;
    for (const Attempt& attempt : attempts) {
        const ModuleRecord& from = *attempt.record;
        for (const auto field : {&ModuleRecord::framework, &ModuleRecord::framework_version,
                                 &ModuleRecord::python_version})
            if ((merged.*field).empty()) merged.*field = from.*field;
        if (!merged.shim || (!has_torch(merged.shim) && has_torch(from.shim)))
            merged.shim = from.shim;
        merged.ready = merged.ready || from.ready;
        merged.diagnostics.insert(merged.diagnostics.end(), from.diagnostics.begin(),
                                  from.diagnostics.end());
    }
}

}  // namespace

Stability stability_of(std::span<const ResultInAttempt> results) {
    ResultInAttempt verdict;
    std::array<bool, 2> in_forks{};  // whether it was good in one, whether it broke in one
    for (const ResultInAttempt& result : results) {
        if (result.decides) verdict = result;
        if (result.state != State::not_run && result.forked)
            in_forks[needs_attention(result.state)] = true;
    }
    const bool forks_differ = in_forks[0] && in_forks[1];
    Stability stability;
    for (const auto& [state, forked, decides] : results) {
        if (state == State::not_run || decides) continue;
        if (forked && !forks_differ && !verdict.forked)
            stability.fork_sensitive |= needs_attention(state) != needs_attention(verdict.state);
        else
            stability.flaky |= verdict.state == State::passed && needs_attention(state);
    }
    return stability;
}

Verdicts verdicts_of_one(ModuleRecord record) {
    Verdicts all;
    all.record = std::move(record);
    all.tests.reserve(all.record.cases.size());
    for (size_t row = 0; row < all.record.cases.size(); ++row)
        all.tests.push_back({{{0, row}}, {0, row}});
    return all;
}

Verdicts verdicts_of(const std::vector<Attempt>& attempts) {
    if (attempts.size() == 1) return verdicts_of_one(*attempts.front().record);
    Verdicts all;
    std::vector<Row> rows = gather(attempts);
    ModuleRecord& merged = all.record;
    merge_module_fields(merged, attempts);
    std::unordered_map<std::string_view, size_t> deciding;
    merged.cases.reserve(rows.size());
    all.tests.reserve(rows.size());
    for (Row& row : rows) {
        const CaseRecord& decisive = row_of(attempts, row.decisive);
        deciding.emplace(decisive.id, row.decisive.attempt);
        merged.cases.push_back(decisive);
        all.tests.push_back(marked(attempts, std::move(row)));
    }
    merged.collected = parsers::tests_in(merged.cases);
    merge_device_records(merged, attempts, deciding);
    set_outcome(merged, attempts);
    return all;
}

}  // namespace compat::analysis
