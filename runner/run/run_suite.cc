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

namespace fs = std::filesystem;
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

}  // namespace

Expected<RunResult> run_once(const RunRequest& request, const config::Invocation& invocation) {
    const SystemClock clock;
    const auto say = [&](std::string_view line) {
        if (request.verbosity >= 0) print("{}\n", printable(line));
    };

    // What can be wrong is looked at before anything is written or takes long.
    auto fresh = open_new_run(request, invocation, say);
    if (!fresh) return tl::unexpected(fresh.error());
    Ready& ready = fresh->ready;
    if (request.dry_run) {
        if (auto made = make_ready(ready, Need::modules, say); !made)
            return tl::unexpected(made.error());
        return plan_new_run(*fresh, request, {}).map([](const plan::Plan& plan) {
            return print_dry_run(plan), RunResult{};
        });
    }

    Execution execution;
    if (request.shared) execution.shared = request.shared;
    archive::RunFolder& run = execution.run;
    run.results = fs::absolute(ready.settings.text(Setting::results));
    const bool is_shard = !request.shard.empty();
    auto store =
        is_shard ? archive::open_shard_results(run.results) : archive::open_results(run.results);
    if (!store) return tl::unexpected(store.error());
    if (auto made = make_ready(ready, Need::children, say, execution.shared->prepared); !made)
        return tl::unexpected(made.error());
    store::SuitePast past = is_shard
                                ? past_of_results(run.results, ready.suite.name, execution.notes)
                                // A database that cannot be read is no reason not to run.
                                : store->past_of(ready.suite.name).value_or(store::SuitePast{});
    auto plan = plan_new_run(*fresh, request, past);
    if (!plan) return tl::unexpected(plan.error());
    if (!request.options_checked && !request.part)
        if (auto accepted = check_pytest_options(ready, *plan); !accepted)
            return tl::unexpected(accepted.error());

    run.started = clock.wall();
    run.id = request.part ? request.part->run
                          : make_run_id(series_of(ready), run.started, std::random_device{}());
    run.folder = run.results / "runs" / run.id;
    if (request.on_begin) request.on_begin(run.id);
    if (!is_shard)
        if (auto note = site::note_of_later_run(*store, series_of(ready), run.started);
            !note.empty())
            execution.notes.push_back(std::move(note));
    execution.plan = run_plan_of(*fresh, request);
    for (auto& job : plan->jobs)
        execution.plan.modules.push_back({std::move(job.module), std::move(job.only)});
    std::move(plan->notes.begin(), plan->notes.end(), std::back_inserter(execution.notes));
    execution.verbosity = request.verbosity;
    execution.past = std::move(past);
    if (auto made = make_directories(run.folder); !made) return tl::unexpected(made.error());
    const auto lock = archive::RunLock::acquire(run.folder);
    if (!lock) return tl::unexpected(lock.error());
    if (request.part && archive::has_record(run.folder))
        return fail(ErrorKind::usage, "another runner began this shard meanwhile",
                    "start it again: it goes on from its folder", run.folder.string());
    auto info = info_of_new_run(*fresh, request, invocation, run);
    if (!info) return tl::unexpected(info.error());
    info->plan = plan->id;
    execution.expectations = analysis::expectations_of(*info);
    if (!fresh->expectations.note.empty()) execution.notes.push_back(fresh->expectations.note);
    std::vector<std::string> modules;
    for (const auto& module : execution.plan.modules) modules.push_back(module.path);
    exec::block_termination_signals();  // an interrupt from here on is stored
    const auto begun =
        archive::write_plan(run, execution.plan)
            .and_then([&] { return archive::record_run(run.folder, *info); })
            .and_then([&] { return archive::record_plan(run.folder, modules); })
            .and_then(
                [&] { return retry_while_busy(*store, [&] { return store->begin_run(*info); }); })
            .and_then([&] {
                return retry_while_busy(*store,
                                        [&] { return store->plan_modules(run.id, modules); });
            });
    if (!begun) return tl::unexpected(begun.error());
    execution.keep_empty = request.keep_empty || is_shard;
    execution.shard = request.shard;
    execution.extra = request.reports;
    execution.extra.issue_text = ready.settings.on(Setting::issue_text);
    execution.extra.link = link_of(ready.settings);
    const auto executed = execute_run(ready, *store, execution);
    if (!executed) return tl::unexpected(executed.error());
    if (!executed->stored) return RunResult{executed->code, {}, {}};
    return RunResult{executed->code, run.id, std::move(*store), executed->unmatched};
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
        const auto result = once(request, invocation);
        if (!result) return tl::unexpected(result.error());
        codes.push_back(result->code);
        const size_t run = compared.add_run();
        if (result->id.empty() || result->code == ExitCode::interrupted) break;
        if (request.repeat_of.empty()) request.repeat_of = result->id;
        request.discovery_printed = request.options_checked = true;
        const auto verdicts = result->store->verdicts(result->id);
        if (!verdicts) return tl::unexpected(verdicts.error());
        for (const auto& [test, state] : *verdicts) compared.add(run, test, state);
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
