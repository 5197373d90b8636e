#include "runner/archive/reparse.h"

#include <fmt/format.h>

#include <map>

#include "parsers/attempt.h"
#include "runner/analysis/accounting.h"
#include "runner/analysis/attempts.h"
#include "runner/analysis/comparison.h"
#include "runner/analysis/verdict.h"
#include "runner/archive/attempt_files.h"
#include "runner/archive/gap_log.h"
#include "runner/archive/imported/imported_files.h"
#include "runner/archive/results.h"
#include "runner/archive/run_record.h"
#include "runner/base/files.h"

namespace compat::archive {

using analysis::Difference;
using parsers::CaseRecord;
using parsers::ModuleRecord;
using parsers::State;

namespace {

std::int64_t other_causes(const ModuleRecord& before, const ModuleRecord& after) {
    std::map<std::string_view, const CaseRecord*> known;
    for (const CaseRecord& test : before.cases) known.emplace(test.id, &test);
    std::int64_t count = 0;
    for (const CaseRecord& test : after.cases) {
        const auto at = known.find(test.id);
        if (!test.failure || at == known.end() || !at->second->failure) continue;
        const auto& was = at->second->failure->diagnosis;
        count += !was || was->cause != test.failure->diagnosis->cause;
    }
    return count;
}

Expected<ReparseCounts> compare_attempts(const store::Store& store, const store::RunInfo& run,
                                         const fs::path& folder, const OnDifference& see) {
    ReparseCounts counts;
    const auto read =
        store.each_module(run.id, [&](const store::StoredModule& module) -> Expected<void> {
            std::vector<const store::JobResult*> jobs;
            for (const auto* list : {&module.attempts, &module.diagnostics})
                for (const auto& job : *list) jobs.push_back(&job);
            for (const auto* stored : jobs) {
                const store::JobResult& job = *stored;
                ++counts.attempts;
                const auto again = read_attempt_again(job, run, folder);
                if (!again) {
                    ++counts.unread;
                    continue;
                }
                counts.tests += static_cast<std::int64_t>(job.record.cases.size());
                for (const Difference& difference : analysis::differences(job.record, *again)) {
                    ++counts.differ;
                    see(difference, job.attempt);
                }
                counts.other_causes += other_causes(job.record, *again);
            }
            return {};
        });
    if (!read) return tl::unexpected(read.error());
    return counts;
}

Expected<void> check_copies(const std::vector<ImportedFile>& files, const fs::path& folder) {
    for (const ImportedFile& file : files) {
        if (!file.unread.empty()) continue;
        const auto opened = open_file({folder, file.log});
        if (!opened && opened.error().kind == ErrorKind::usage)
            return tl::unexpected(opened.error());
        if (!opened)
            return fail(
                ErrorKind::usage,
                fmt::format("the copy of {} that this run was read from is gone", file.name),
                "what is stored of the run stays as it is; where you still have the file, "
                "`runner import` makes a new run of it",
                file.file.string());
    }
    return {};
}

// Compares each test's last result: the store keeps no other of an imported run.
Expected<ReparseCounts> compare_imported(const store::Store& store, const std::string& run,
                                         const std::vector<ImportedFile>& files,
                                         const OnDifference& see) {
    const auto stored = TRY(store.verdicts(run));
    ReparseCounts counts;
    std::map<std::string, std::pair<State, std::int64_t>> now;  // a later result of a row decides
    TRY(read_imported(files, [&](const store::JobResult& job) -> Expected<void> {
        ++counts.attempts;
        for (const CaseRecord& test : job.record.cases) now[test.id] = {test.state, test.tests};
        return {};
    }));
    counts.tests = static_cast<std::int64_t>(stored.size());
    analysis::Comparison compared(2);
    for (const auto& [test, state, tests] : stored)
        compared.add(0, analysis::compared_id(test, tests), state);
    for (const auto& [test, last] : now)
        compared.add(1, analysis::compared_id(test, last.second), last.first);
    counts.differ = static_cast<std::int64_t>(compared.tests_that_differ().size());
    for (const size_t test : compared.tests_that_differ())
        see({compared.test(test).id, compared.state(test, 0), compared.state(test, 1)}, 1);
    return counts;
}

// A run's modules as today's parsers read them.
class ReparsedModules {
  public:
    ReparsedModules(const store::Store& store, const store::StoredRun& run, fs::path folder,
                    std::vector<ImportedFile> imported)
        : store_(store), run_(run), folder_(std::move(folder)), imported_(std::move(imported)) {}

    Expected<void> read(const store::ModuleVisitor& see) {
        if (imported_.empty())
            return store_.each_module(run_.info.id, [&](store::StoredModule module) {
                return reparse_attempts(module), see(std::move(module));
            });
        const auto sums = TRY(read_imported_modules(imported_, run_.info.started, see));
        facts_.collected = static_cast<long>(sums.collected);
        facts_.unexpected = !sums.unexpected.empty();
        mismatches_ = sums.mismatches;
        return {};
    }

    // An exit code that does not come from test results is kept.
    [[nodiscard]] store::RunEnd end() {
        store::RunEnd end = *run_.end;
        facts_.unaccounted = !mismatches_.empty();
        end.accounting_closed = mismatches_.empty();
        end.mismatches = mismatches_;
        const auto code = static_cast<ExitCode>(end.exit_code);
        if (code == ExitCode::ok || code == ExitCode::unexpected_results ||
            code == ExitCode::unaccounted)
            end.exit_code = static_cast<int>(exit_code(facts_));
        return end;
    }

  private:
    void reparse_attempts(store::StoredModule& module) {
        for (auto& job : module.attempts) {
            if (auto again = read_attempt_again(job, run_.info, folder_))
                job.record = std::move(*again);
            for (const auto& mismatch : analysis::account(job.record).mismatches)
                mismatches_.push_back({module.path, mismatch.text()});
        }
        for (auto& job : module.diagnostics)
            if (auto again = read_attempt_again(job, run_.info, folder_))
                job.record = std::move(*again);
        if (!module.attempts.empty())
            add(facts_, analysis::verdicts_of_jobs(module.attempts).record, expectations_);
    }

    const store::Store& store_;
    const store::StoredRun& run_;
    fs::path folder_;
    std::vector<ImportedFile> imported_;
    analysis::Expectations expectations_ = analysis::expectations_of(run_.info);
    analysis::RunFacts facts_;
    std::vector<store::StoredMismatch> mismatches_;
};

}  // namespace

Expected<ReparseCounts> reparse(const store::Store& store, const fs::path& results,
                                const store::StoredRun& run, const OnDifference& see) {
    const fs::path folder = results / run.info.folder;
    const auto imported = TRY(described_files(run.info.fingerprint, folder));
    TRY(check_copies(imported, folder));
    if (imported.empty()) return compare_attempts(store, run.info, folder, see);
    return compare_imported(store, run.info.id, imported, see);
}

Expected<void> apply_reparse(const fs::path& results, const store::StoredRun& run) {
    const auto lock = TRY(RunLock::acquire(results / run.info.folder));
    const auto from = TRY(store::Store::open(results / "runner.db", store::Store::Mode::read_only));
    auto store = open_results(results);
    if (!store) return tl::unexpected(store.error());
    const fs::path folder = results / run.info.folder;
    auto imported = TRY(described_files(run.info.fingerprint, folder));
    ReparsedModules applying(from, run, folder, std::move(imported));
    return store
        ->replace_modules(
            run.info.id, [&](const store::ModuleVisitor& see) { return applying.read(see); },
            [&] { return applying.end(); })
        .and_then([&] {
            return has_record(folder) ? record_end(folder, applying.end()) : Expected<void>{};
        })
        .and_then([&] { return log_gaps(*store, run.info.id); });
}

}  // namespace compat::archive
