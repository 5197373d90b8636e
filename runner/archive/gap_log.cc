#include "runner/archive/gap_log.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "runner/analysis/attempts.h"
#include "runner/analysis/gaps.h"
#include "runner/analysis/marks.h"
#include "runner/analysis/ways/diagnostic_retries.h"
#include "runner/base/device_kind.h"
#include "runner/base/version.h"
#include "runner/store/gaps.h"

namespace compat::archive {

namespace {

// The ways in which blocked tests pass, by test.
std::map<std::string, std::string> recoveries(const parsers::ModuleRecord& record,
                                              const std::vector<store::JobResult>& diagnostics,
                                              const analysis::Way& way,
                                              analysis::Representatives& kinds) {
    std::map<std::string, std::string> found;
    for (const auto& test : record.cases) {
        if (test.pseudo || !analysis::needs_attention(test.state)) continue;
        const analysis::FailedTest failed = analysis::failed_test(test);
        kinds.add(failed);
        kinds.set_attempts(failed, analysis::attempts_of(diagnostics, test.id));
        const auto shown = kinds.result(failed, way);
        if (shown.kind == analysis::DiagnosticResult::Kind::passes)
            found[test.id] = brief_words_of(shown);
    }
    return found;
}

void collect_hits(store::StoredModule module, const analysis::Target& target,
                  const analysis::Way& way, analysis::Representatives& kinds,
                  analysis::LaterRun& seen) {
    if (module.attempts.empty()) return;
    const parsers::ModuleRecord record = analysis::take_verdicts(module.attempts).record;
    auto hits = analysis::gap_hits(record, target);
    const auto passes = recoveries(record, module.diagnostics, way, kinds);
    for (GapHit& hit : hits)
        if (const auto at = passes.find(hit.test); hit.blocks && at != passes.end())
            hit.diagnosis = at->second;
    seen.hits.insert(seen.hits.end(), std::make_move_iterator(hits.begin()),
                     std::make_move_iterator(hits.end()));
    const auto marks = analysis::marks_of(record);
    for (size_t i = 0; i < record.cases.size(); ++i) {
        const auto& test = record.cases[i];
        const bool reached = is_accelerator(target.device) ? marks[i].device : marks[i].redirected;
        if (test.state == parsers::State::passed && reached) seen.passed.insert(test.id);
    }
}

bool is_operator_gap(GapKind kind) {
    return kind == GapKind::op_unsupported || kind == GapKind::fallback;
}

// Gaps of which a pass in this run, of a test that failed of them on its device, says that they are
// no more.
Expected<std::set<GapKey>> closable_gaps(const store::GapLog& log, const store::RunInfo& run) {
    const auto known = TRY(log.gaps());
    std::set<GapKey> keys;
    for (const store::StoredGap& gap : known) {
        const GapKey& key = gap.facts.key;
        // With fallback on, an operator without a kernel passes, too.
        if (!(run.fallback && is_operator_gap(key.kind)) && !is_older(run.torch, gap.last_torch))
            keys.insert(key);
    }
    return keys;
}

Expected<store::GapsOfRun> gaps_of_run(const store::GapLog& log, const store::RunInfo& run,
                                       const analysis::LaterRun& seen) {
    const auto keys = TRY(closable_gaps(log, run));
    auto blocked = TRY(log.blocked_tests(run.id));
    std::erase_if(blocked, [&](const BlockedTest& row) { return !keys.contains(row.gap); });
    analysis::GapProgress progress = analysis::progress_of_gaps(blocked, seen);
    store::GapsOfRun gaps;
    std::set<GapKey> known;
    for (const GapHit& hit : seen.hits)
        if (known.insert(hit.key).second) gaps.met.push_back(analysis::facts_of(hit.key));
    gaps.hits = seen.hits;
    std::move(progress.passed.begin(), progress.passed.end(), std::back_inserter(gaps.hits));
    gaps.closed = std::move(progress.closed);
    return gaps;
}

}  // namespace

Expected<RunForGapLog> read_for_gap_log(const store::Store& store, const std::string& run) {
    const auto stored = TRY(store.load_run(run));
    const store::RunInfo& info = stored.info;
    const analysis::Target target{info.simulated.value_or(info.device), info.simulated.has_value()};
    const analysis::Way way = analysis::way_of(info);
    analysis::Representatives kinds;
    RunForGapLog read{info, {info.suite, {}, {}}};
    return store
        .each_module(run,
                     [&](store::StoredModule module) -> Expected<void> {
                         collect_hits(std::move(module), target, way, kinds, read.seen);
                         return {};
                     })
        .map([&] { return std::move(read); });
}

Expected<void> save_gap_log(const store::Store& store, const RunForGapLog& run) {
    // Its tests pass where the device refuses, or fail where they do not otherwise.
    if (!run.info.gives_verdicts()) return {};
    store::GapLog log(store);
    return log.put_run(run.info.id, [&] { return gaps_of_run(log, run.info, run.seen); });
}

Expected<void> log_gaps(const store::Store& store, const std::string& run) {
    return read_for_gap_log(store, run).and_then([&](const RunForGapLog& read) {
        return save_gap_log(store, read);
    });
}

}  // namespace compat::archive
