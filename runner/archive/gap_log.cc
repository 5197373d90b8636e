#include "runner/archive/gap_log.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "runner/analysis/attempts.h"
#include "runner/analysis/gaps.h"
#include "runner/analysis/marks.h"
#include "runner/base/version.h"
#include "runner/store/gaps.h"

namespace compat::archive {

namespace {

void collect_hits(store::StoredModule module, const analysis::Target& target,
                  analysis::LaterRun& seen) {
    if (module.attempts.empty()) return;
    const parsers::ModuleRecord record = analysis::take_verdicts(module.attempts).record;
    auto hits = analysis::gap_hits(record, target);
    seen.hits.insert(seen.hits.end(), std::make_move_iterator(hits.begin()),
                     std::make_move_iterator(hits.end()));
    const auto marks = analysis::marks_of(record);
    for (size_t i = 0; i < record.cases.size(); ++i) {
        const auto& test = record.cases[i];
        const bool reached = target.device == "cpu" ? marks[i].redirected : marks[i].device;
        if (test.state == parsers::State::passed && reached) seen.passed.insert(test.id);
    }
}

bool is_operator_gap(GapKind kind) {
    return kind == GapKind::op_unsupported || kind == GapKind::fallback;
}

// Gaps of which a pass in this run, of a test that failed of them on its device, says that they are
// no more.
Expected<std::set<GapKey>> closable_gaps(const store::GapLog& log, const store::RunInfo& run) {
    const auto known = log.gaps();
    if (!known) return tl::unexpected(known.error());
    std::set<GapKey> keys;
    for (const store::StoredGap& gap : *known) {
        const GapKey& key = gap.facts.key;
        // With fallback on, an operator without a kernel passes, too.
        if (!(run.fallback && is_operator_gap(key.kind)) && !is_older(run.torch, gap.last_torch))
            keys.insert(key);
    }
    return keys;
}

}  // namespace

Expected<GapLogUpdate> gap_log_update(const store::Store& store, const std::string& run) {
    const auto stored = store.load_run(run);
    if (!stored) return tl::unexpected(stored.error());
    const store::RunInfo& info = stored->info;
    const analysis::Target target{info.simulated.value_or(info.device), info.simulated.has_value()};
    analysis::LaterRun seen{info.suite, {}, {}};
    const auto read = store.each_module(run, [&](store::StoredModule module) -> Expected<void> {
        collect_hits(std::move(module), target, seen);
        return {};
    });
    if (!read) return tl::unexpected(read.error());
    const store::GapLog log(store);
    const auto keys = closable_gaps(log, info);
    if (!keys) return tl::unexpected(keys.error());
    auto blocked = log.blocked_tests(run);
    if (!blocked) return tl::unexpected(blocked.error());
    std::erase_if(*blocked, [&](const BlockedTest& row) { return !keys->contains(row.gap); });
    analysis::GapProgress progress = analysis::progress_of_gaps(*blocked, seen);
    GapLogUpdate update;
    std::set<GapKey> known;
    for (const GapHit& hit : seen.hits)
        if (known.insert(hit.key).second) update.met.push_back(analysis::facts_of(hit.key));
    update.hits = std::move(seen.hits);
    std::move(progress.passed.begin(), progress.passed.end(), std::back_inserter(update.hits));
    update.closed = std::move(progress.closed);
    return update;
}

Expected<void> save_gap_log(const store::Store& store, const std::string& run,
                            const GapLogUpdate& update) {
    store::GapLog log(store);
    return log.put_hits(run, update.met, update.hits).and_then([&] {
        return log.close(update.closed, run);
    });
}

Expected<void> log_gaps(const store::Store& store, const std::string& run) {
    return gap_log_update(store, run).and_then([&](const GapLogUpdate& update) {
        return save_gap_log(store, run, update);
    });
}

}  // namespace compat::archive
