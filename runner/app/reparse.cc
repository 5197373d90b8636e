// `reparse`: the files of a run read again, by today's parsers or by the logs' text alone, against
// what is stored of it.
#include <fmt/format.h>

#include <array>
#include <map>

#include "parsers/attempt.h"
#include "runner/analysis/accounting.h"
#include "runner/analysis/agreement.h"
#include "runner/analysis/attempts.h"
#include "runner/app/attempt_files.h"
#include "runner/app/commands.h"
#include "runner/app/conduct.h"
#include "runner/app/display.h"
#include "runner/app/gap_log.h"
#include "runner/app/imported.h"
#include "runner/app/output.h"
#include "runner/app/rebuild.h"
#include "runner/app/reporting.h"
#include "runner/app/run_record.h"
#include "runner/app/verdict.h"
#include "runner/base/files.h"

namespace compat::app {

namespace fs = std::filesystem;
using analysis::Difference;
using parsers::CaseRecord;
using parsers::ModuleRecord;
using parsers::State;

namespace {

struct Counts {
    std::int64_t attempts = 0, tests = 0;
    std::int64_t unread = 0;  // attempts that keep what is stored of them
    std::int64_t differ = 0;  // tests, for no reason that is known
    std::array<std::int64_t, analysis::kUntoldNames.size()> untold{};
    std::int64_t other_causes = 0;
};

std::string_view word(const std::optional<State>& state) {
    return state ? name_of(*state) : std::string_view("absent");
}

void tell(const Difference& difference, int attempt, Counts& counts) {
    if (difference.why) {
        ++counts.untold[static_cast<size_t>(*difference.why)];
        return;
    }
    ++counts.differ;
    print("{}{}: {} stored, {} read\n", printable(difference.test),
          attempt > 1 ? fmt::format(" (attempt {})", attempt) : "", word(difference.before),
          word(difference.after));
}

// Nothing where the attempt's files cannot be read again.
std::optional<ModuleRecord> read_again(const store::JobResult& job, const fs::path& folder,
                                       bool text) {
    if (!job.ended) return std::nullopt;
    const std::string events = text ? "" : job.events;
    if (job.log.empty() || !has_files(folder, {job.log, events, job.devices})) return std::nullopt;
    ModuleRecord record = parsers::read_attempt(files_of(folder, job.log, events, job.devices),
                                                job.record.framework, job.record.path, *job.ended);
    record.forked = job.record.forked;
    return record;
}

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

Counts compare_attempts(const store::Store& store, const std::string& run, const fs::path& folder,
                        bool text, Expected<void>& read) {
    Counts counts;
    read = store.each_module(run, [&](const store::StoredModule& module) -> Expected<void> {
        for (const auto& job : module.attempts) {
            ++counts.attempts;
            const auto again = read_again(job, folder, text);
            if (!again) {
                ++counts.unread;
                continue;
            }
            counts.tests += static_cast<std::int64_t>(job.record.cases.size());
            const auto differ =
                text ? analysis::differences_of_text(job.record, *again, job.dropped_log_bytes > 0)
                     : analysis::differences(job.record, *again);
            for (const Difference& difference : differ) tell(difference, job.attempt, counts);
            if (!text) counts.other_causes += other_causes(job.record, *again);
        }
        return {};
    });
    return counts;
}

Expected<void> copies_are_there(const std::vector<ImportedFile>& files) {
    std::error_code error;
    for (const ImportedFile& file : files)
        if (file.unread.empty() && !fs::exists(file.file, error))
            return fail(
                ErrorKind::usage,
                fmt::format("the copy of {} that this run was read from is gone", file.name),
                "what is stored of the run stays as it is; where you still have the file, "
                "`runner import` makes a new run of it",
                file.file.string());
    return {};
}

// Of an imported run each test's last word, as the store keeps it.
Expected<Counts> compare_imported(const store::Store& store, const std::string& run,
                                  const std::vector<ImportedFile>& files) {
    const auto stored = store.verdicts(run);
    if (!stored) return tl::unexpected(stored.error());
    Counts counts;
    std::map<std::string, State> now;
    const auto sums = read_imported(files, [&](const store::JobResult& job) -> Expected<void> {
        ++counts.attempts;
        for (const CaseRecord& test : job.record.cases) now[test.id] = test.state;
        return {};
    });
    if (!sums) return tl::unexpected(sums.error());
    counts.tests = static_cast<std::int64_t>(stored->size());
    for (const auto& [test, state] : *stored) {
        const auto at = now.find(test);
        if (at == now.end() || at->second != state)
            tell({test, state, at == now.end() ? std::nullopt : std::optional(at->second), {}}, 1,
                 counts);
        if (at != now.end()) now.erase(at);
    }
    for (const auto& [test, state] : now) tell({test, std::nullopt, state, {}}, 1, counts);
    return counts;
}

void print_counts(const Counts& counts) {
    for (size_t i = 0; i < counts.untold.size(); ++i)
        if (counts.untold[i] > 0)
            print("{} that the text cannot tell: {}\n", counted(counts.untold[i], "test"),
                  analysis::kUntoldNames[i]);
    if (counts.other_causes > 0)
        print("{} of another cause than is stored\n", counted(counts.other_causes, "failure"));
    if (counts.unread > 0)
        print("{} not read again: files that are gone, or stored by an older runner\n",
              counted(counts.unread, "attempt"));
    print("{} in {}: {} differ\n", counted(counts.tests, "test"),
          counted(counts.attempts, "attempt"), counts.differ);
}

// Reads a run's modules and hands them on as they are by today's parsers.
class Applying {
  public:
    Applying(const store::Store& store, const store::StoredRun& run, fs::path folder,
             std::vector<ImportedFile> imported)
        : store_(store), run_(run), folder_(std::move(folder)), imported_(std::move(imported)) {}

    Expected<void> read(const store::SeeModule& see) {
        if (imported_.empty())
            return store_.each_module(run_.info.id, [&](store::StoredModule module) {
                return attempt_again(module), see(std::move(module));
            });
        const auto sums = read_imported(imported_, [&](store::JobResult job) {
            store::StoredModule module;
            module.path = job.record.path;
            job.started = run_.info.started;
            module.attempts.push_back(std::move(job));
            return see(std::move(module));
        });
        if (!sums) return tl::unexpected(sums.error());
        facts_.collected = static_cast<long>(sums->collected);
        facts_.unexpected = !sums->unexpected.empty();
        mismatches_ = sums->mismatches;
        return {};
    }

    // What the run would have ended with. A code of another kind than its results' stays.
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
    void attempt_again(store::StoredModule& module) {
        for (auto& job : module.attempts) {
            if (auto again = read_again(job, folder_, false)) {
                keep_reasons(job.record, *again);
                job.record = std::move(*again);
            }
            for (const auto& mismatch : analysis::account(job.record).mismatches)
                mismatches_.push_back({module.path, mismatch.text()});
        }
        if (!module.attempts.empty())
            add(facts_, analysis::verdicts_of_jobs(module.attempts).record);
    }

    const store::Store& store_;
    const store::StoredRun& run_;
    fs::path folder_;
    std::vector<ImportedFile> imported_;
    RunFacts facts_;
    std::vector<store::StoredMismatch> mismatches_;
};

Expected<void> apply_to(const fs::path& results, const store::StoredRun& run,
                        const std::vector<ImportedFile>& imported) {
    const auto lock = RunLock::take(results / run.info.folder);
    if (!lock) return tl::unexpected(lock.error());
    const auto from = store::Store::open(results / "runner.db", store::Store::Mode::read_only);
    if (!from) return tl::unexpected(from.error());
    auto store = open_results(results);
    if (!store) return tl::unexpected(store.error());
    const fs::path folder = results / run.info.folder;
    Applying applying(*from, run, folder, imported);
    Expected<void> recorded;
    return store
        ->replace_modules(
            run.info.id, [&](const store::SeeModule& see) { return applying.read(see); },
            [&] {
                const store::RunEnd end = applying.end();
                if (has_record(folder)) recorded = record_end(folder, end);
                return end;
            })
        .and_then([&] { return recorded; })
        .and_then([&] { return log_gaps(*store, run.info.id); })
        .and_then([&] {
            return write_reports(*store, results, run.info.id, {}).map([](const Reported&) {});
        });
}

}  // namespace

Expected<ExitCode> reparse(const ReparseCommand& command, const Invocation& invocation) {
    if (command.all) return rebuild(invocation);
    const auto results = existing_results(invocation);
    if (!results) return tl::unexpected(results.error());
    const auto store = open_results(*results);
    if (!store) return tl::unexpected(store.error());
    const auto id = store->find_run(command.run);
    if (!id) return tl::unexpected(id.error());
    const auto run = store->load_run(*id);
    if (!run) return tl::unexpected(run.error());
    if (command.apply && !run->end)
        return fail(ErrorKind::usage, "this run has no end: its results are not complete",
                    "`runner resume` goes on with it", *id);
    const fs::path folder = *results / run->info.folder;
    const auto imported = described_files(run->info.fingerprint, folder);
    if (!imported) return tl::unexpected(imported.error());
    if (command.text && !imported->empty())
        return fail(ErrorKind::usage, "an imported run has no events to compare its text with", {},
                    *id);

    if (auto there = copies_are_there(*imported); !there) return tl::unexpected(there.error());

    Expected<void> read;
    const auto counts =
        imported->empty()
            ? Expected<Counts>(compare_attempts(*store, *id, folder, command.text, read))
            : compare_imported(*store, *id, *imported);
    if (!counts) return tl::unexpected(counts.error());
    if (!read) return tl::unexpected(read.error());
    print_counts(*counts);
    if (command.apply) {
        if (auto applied = apply_to(*results, *run, *imported); !applied)
            return tl::unexpected(applied.error());
        print("stored; its reports are written anew\n");
    }
    return counts->differ > 0 ? ExitCode::unexpected_results : ExitCode::ok;
}

}  // namespace compat::app
