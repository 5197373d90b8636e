#include "runner/run/run_suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "runner/analysis/comparison.h"
#include "runner/archive/results.h"
#include "runner/archive/run_record.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/display/display.h"
#include "runner/display/output.h"
#include "runner/exec/signals.h"
#include "runner/run/database_wait.h"
#include "runner/run/execute_run.h"
#include "runner/run/new_run.h"
#include "runner/site/series.h"

namespace compat::run {

using config::Setting;
using display::print;

namespace {

void print_dry_run(const plan::Plan& plan) {
    for (const auto& note : plan.notes) print("note: {}\n", printable(note));
    for (const auto& job : plan.jobs) {
        print("{}\n", printable(job.module));
        for (const auto& id : job.only) print("    only {}\n", printable(id));
    }
    print("{} planned; dry run, no test was started\n",
          counted(static_cast<long>(plan.jobs.size()), "module"));
}

Expected<RunResult> dry_run(NewRun& fresh, const RunRequest& request, const prepare::Say& say) {
    return make_ready(fresh.ready, Need::modules, say)
        .and_then([&] { return plan_new_run(fresh, request, {}); })
        .map([](const plan::Plan& plan) { return print_dry_run(plan), RunResult{}; });
}

archive::RunFolder folder_of_new_run(const RunRequest& request, const std::string& series,
                                     const fs::path& results) {
    const WallTime now = SystemClock().wall();
    std::string id =
        request.part ? request.part->run : make_run_id(series, now, std::random_device{}());
    return {id, results, results / "runs" / id, now};
}

// Errors: also usage, where pytest rejects an option.
Expected<plan::Plan> plan_checked(const NewRun& fresh, const RunRequest& request,
                                  const store::SuitePast& past) {
    auto plan = plan_new_run(fresh, request, past);
    if (!plan || request.options_checked || request.part) return plan;
    return check_pytest_options(fresh.ready, *plan).map([&] { return std::move(*plan); });
}

// Makes the run's folder, for this process alone.
Expected<archive::RunLock> claim_folder(const archive::RunFolder& run, bool is_part) {
    TRY(make_directories(run.folder));
    auto lock = archive::RunLock::acquire(run.folder);
    if (lock && is_part && archive::has_record(run.folder))
        return fail(ErrorKind::usage, "another runner began this shard meanwhile",
                    "start it again: it goes on from its folder", run.folder.string());
    return lock;
}

// Records and stores a run without results.
Expected<void> begin_run(store::Store& store, const archive::RunFolder& run,
                         const archive::RunPlan& plan, const store::RunInfo& info) {
    std::vector<std::string> modules;
    for (const auto& module : plan.modules) modules.push_back(module.path);
    return archive::write_plan(run, plan)
        .and_then([&] { return archive::record_run(run.folder, info); })
        .and_then([&] { return archive::record_plan(run.folder, modules); })
        .and_then([&] { return retry_while_busy(store, [&] { return store.begin_run(info); }); })
        .and_then([&] {
            return retry_while_busy(store, [&] { return store.plan_modules(run.id, modules); });
        });
}

ExtraReports extra_reports(const RunRequest& request, const config::Settings& settings) {
    ExtraReports extra = request.reports;
    extra.issue_text = settings.on(Setting::issue_text);
    extra.link = link_of(settings);
    return extra;
}

}  // namespace

Expected<RunResult> run_once(const RunRequest& request, const config::Invocation& invocation) {
    const auto say = [&](std::string_view line) {
        if (request.verbosity >= 0) print("{}\n", printable(line));
    };

    // Possible errors are checked before anything is written or takes long.
    auto fresh = TRY(open_new_run(request, invocation, say));
    if (request.dry_run) return dry_run(fresh, request, say);
    Ready& ready = fresh.ready;
    const bool is_shard = !request.shard.empty();
    const fs::path results = fs::absolute(ready.settings.text(Setting::results));
    auto store = is_shard ? archive::open_shard_results(results) : archive::open_results(results);
    if (!store) return tl::unexpected(store.error());
    const auto shared = request.shared ? request.shared : std::make_shared<SharedByRuns>();
    TRY(make_ready(ready, Need::children, say, shared->prepared));
    std::vector<std::string> notes;
    store::SuitePast past = is_shard
                                ? past_of_results(results, ready.suite.name, notes)
                                // A database that cannot be read is no reason not to run.
                                : store->past_of(ready.suite.name).value_or(store::SuitePast{});
    auto planned = TRY(plan_checked(fresh, request, past));

    const archive::RunFolder run = folder_of_new_run(request, series_of(ready), results);
    if (request.on_begin) request.on_begin(run.id);
    if (!is_shard)
        if (auto note = site::note_of_later_run(*store, series_of(ready), run.started);
            !note.empty())
            notes.push_back(std::move(note));
    archive::RunPlan plan = run_plan_of(fresh, request);
    for (auto& job : planned.jobs)
        plan.modules.push_back({std::move(job.module), std::move(job.only)});
    std::move(planned.notes.begin(), planned.notes.end(), std::back_inserter(notes));
    const auto lock = TRY(claim_folder(run, request.part.has_value()));
    auto info = TRY(info_of_new_run(fresh, request, invocation, run));
    info.plan = planned.id;
    if (!fresh.expectations.note.empty()) notes.push_back(fresh.expectations.note);
    auto shown = shown_before(ready, *store, info);
    exec::block_termination_signals();  // an interrupt from here on is stored
    TRY(begin_run(*store, run, plan, info));
    const auto executed = TRY(execute_run(ready, *store,
                                          {.run = run,
                                           .plan = std::move(plan),
                                           .notes = std::move(notes),
                                           .past = std::move(past),
                                           .shown = std::move(shown),
                                           .verbosity = request.verbosity,
                                           .keep_empty = request.keep_empty || is_shard,
                                           .shard = request.shard,
                                           .extra = extra_reports(request, ready.settings),
                                           .expectations = analysis::expectations_of(info),
                                           .shared = shared}));
    if (!executed.stored) return RunResult{executed.code, {}, {}};
    return RunResult{executed.code, run.id, std::move(*store), executed.unmatched};
}

namespace {

// The tests whose results are not equal in all runs of one and the same suite, by id.
void print_noise(const analysis::Comparison& compared) {
    std::vector<size_t> noisy = compared.tests_that_differ();
    std::sort(noisy.begin(), noisy.end(),
              [&](size_t a, size_t b) { return compared.test(a).id < compared.test(b).id; });
    if (!noisy.empty()) print("\ntests whose result changed:\n");
    for (const size_t test : noisy) {
        std::vector<std::string_view> states;
        for (size_t run = 0; run < compared.runs(); ++run)
            if (const auto state = compared.state(test, run)) states.push_back(name_of(*state));
        const std::string words = fmt::format("{}", fmt::join(states, ", "));
        print("    {}: {}\n", printable(compared.test(test).id), words);
    }
    print("noise: {} of {} in {}\n", noisy.size(),
          counted(static_cast<long>(compared.tests()), "test"),
          counted(static_cast<long>(compared.runs()), "run"));
}

Expected<ExitCode> run_repeated(RunRequest request, const config::Invocation& invocation,
                                const RunOnce& once) {
    std::vector<ExitCode> codes;
    analysis::Comparison compared;
    for (int i = 1; i <= request.repeat; ++i) {
        if (request.verbosity >= 0) print("\nrun {} of {}\n", i, request.repeat);
        const auto result = TRY(once(request, invocation));
        codes.push_back(result.code);
        const size_t run = compared.add_run();
        if (result.id.empty() || result.code == ExitCode::interrupted) break;
        if (request.repeat_of.empty()) request.repeat_of = result.id;
        request.discovery_printed = request.options_checked = true;
        const auto verdicts = TRY(result.store->verdicts(result.id));
        for (const auto& verdict : verdicts) compared.add(run, verdict.test, verdict.state);
    }
    print_noise(compared);
    return worst(codes);
}

}  // namespace

Expected<ExitCode> run_suite(const RunRequest& request, const config::Invocation& invocation,
                             const RunOnce& once) {
    if (request.repeat > 1 && !request.dry_run) return run_repeated(request, invocation, once);
    return once(request, invocation).map([](const RunResult& result) { return result.code; });
}

}  // namespace compat::run
