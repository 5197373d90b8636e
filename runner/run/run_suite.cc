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
#include "runner/run/collect.h"
#include "runner/run/database_wait.h"
#include "runner/run/diagnosis/diagnose.h"
#include "runner/run/execute_run.h"
#include "runner/run/expectations/open_expectations.h"
#include "runner/run/fingerprint.h"
#include "runner/run/recorder.h"
#include "runner/run/variables.h"

namespace compat::run {

namespace fs = std::filesystem;
using config::Setting;
using display::print;

namespace {

// The command line that runs a part of this suite again, from anywhere and in another environment:
// no targets, absolute folders, and as a flag whatever was not the suite's or the default.
std::vector<std::string> rerun_words(const RunRequest& request, const Ready& ready) {
    std::vector<std::string> words{"runner"};
    std::error_code error;
    words.push_back(fs::exists(request.suite, error) ? fs::canonical(request.suite, error).string()
                                                     : request.suite);
    for (const auto& row : config::kSettings) {
        const config::Value& value = ready.settings[row.setting];
        const bool ours_alone = row.setting == Setting::progress || row.setting == Setting::color ||
                                row.setting == Setting::issue_text ||
                                row.setting == Setting::jobs || row.setting == Setting::results;
        if (row.flag.empty() || ours_alone || !value.given()) continue;
        if (row.setting == Setting::macos && ready.child.simulate != "mps") continue;
        if (config::is_switch(row)) {
            const std::string_view flag = config::long_flag(row);
            words.push_back(value.text == "on" ? std::string(flag)
                                               : fmt::format("--no-{}", flag.substr(2)));
            continue;
        }
        words.emplace_back(config::long_flag(row));
        words.push_back(config::is_path(row, value.text) ? fs::absolute(value.text).string()
                                                         : value.text);
    }
    // Chosen by the suite's code, which may have changed since.
    if (!ready.settings[Setting::policy].given() && !ready.child.simulate.empty())
        words.insert(words.end(), {"--policy", ready.child.policy});
    for (const auto& [name, value] : ready.child.from_user) {
        if (mask_secret(name, value) != value)
            continue;  // whoever runs it again has it in the environment
        words.push_back("--env");
        words.push_back(name + "=" + value);
    }
    const auto options = masked(ready.child.options);
    if (!options.empty()) words.emplace_back("--");
    words.insert(words.end(), options.begin(), options.end());
    return words;
}

}  // namespace

// Runs that keep going, or have other random numbers, are not compared with others.
std::string series_of(const Ready& ready) {
    return fmt::format("{}{}{}", ready.settings.text(Setting::name),
                       ready.child.keep_going ? "-keep-going" : "",
                       ready.settings.seeds() > 0 ? "-seeds" : "");
}

namespace {

store::RunInfo run_info(const RunRequest& request, const config::Invocation& invocation,
                        const Ready& ready, const archive::RunFolder& run) {
    const auto& prepared = ready.prepared;
    const plan::Variables env = masked(plan::added_variables(ready.suite, ready.child));
    store::RunInfo info;
    info.id = run.id;
    info.suite = ready.suite.name;
    info.series = series_of(ready);
    info.started = run.started;
    info.framework = name_of(ready.suite.framework);
    info.shim = !prepared.shim_library.empty();
    if (info.shim) info.policy = ready.child.policy;
    info.masquerade = info.shim && ready.child.masquerade;
    info.device = prepared.accelerator;
    if (!ready.child.simulate.empty()) info.simulated = ready.child.simulate;
    info.fallback = ready.child.fallback;
    info.keep_going = ready.child.keep_going;
    info.seeds = ready.settings.seeds();
    info.diagnose = ready.diagnose;
    info.commit = prepared.source.commit;
    info.dirty = prepared.source.dirty;
    info.remote = prepared.source.remote;
    info.torch = prepared.environment.torch_version;
    info.root = ready.child.root;
    info.links_base = ready.suite.links_base;
    info.python = prepared.environment.python;
    info.env = env;
    info.argv = masked(invocation.argv);
    info.rerun_argv = rerun_words(request, ready);
    info.fingerprint = fingerprint(prepared, ready.settings, env);
    info.folder = "runs/" + run.id;
    return info;
}

Expected<plan::Selection> selection_of(const RunRequest& request,
                                       const std::vector<std::string>& options) {
    plan::Selection selection{request.targets, request.keyword, {}, {}, options};
    if (!request.order.empty()) {
        const auto ordering = plan::parse_ordering(request.order);
        if (!ordering) return tl::unexpected(ordering.error());
        selection.ordering = *ordering;
    }
    if (!request.shard.empty()) {
        const auto shard = plan::parse_shard(request.shard);
        if (!shard) return tl::unexpected(shard.error());
        selection.shard = *shard;
    }
    return selection;
}

// A database that cannot be read is no reason not to run.
store::SuitePast past_of(const store::Store& store, const std::string& suite) {
    return store.past_of(suite).value_or(store::SuitePast{});
}

store::SuitePast past_of_shard(const fs::path& results, const std::string& suite,
                               std::vector<std::string>& notes) {
    if (!archive::has_database(results)) return {};
    auto past = store::Store::open(results / "runner.db", store::Store::Mode::read_only)
                    .and_then([&](const store::Store& store) { return store.past_of(suite); });
    if (past) return std::move(*past);
    notes.push_back("shards are balanced without earlier durations: " + to_line(past.error()));
    return {};
}

// The first line of pytest's usage error on collecting a module; empty: none.
Expected<std::string> usage_error(const Ready& ready, const plan::Job& module) {
    constexpr std::chrono::minutes kTimeout{1};
    return collect(ready, ready.child.keyword, {module}, kTimeout)
        .map([](const std::vector<parsers::ModuleRecord>& collected) -> std::string {
            for (const auto& test : collected.front().cases)
                if (test.pseudo && test.failure && test.failure->type == "UsageError")
                    return test.failure->message.substr(0, test.failure->message.find('\n'));
            return {};
        });
}

// pytest would reject an option in the process of each module: collecting the smallest one shows it
// before the run. That includes an option that only the conftest.py of another folder defines: the
// run would fail at this module. Errors without the options, and a time-out, are results of the
// run.
Expected<void> check_pytest_options(const Ready& ready, const plan::Plan& plan) {
    if (ready.child.options.empty() || plan.jobs.empty()) return {};
    const auto& smallest = *std::min_element(
        plan.jobs.begin(), plan.jobs.end(),
        [](const auto& a, const auto& b) { return a.source_bytes < b.source_bytes; });
    const auto message = usage_error(ready, smallest);
    if (!message) return tl::unexpected(message.error());
    if (message->empty()) return {};
    Ready without_options = ready;
    without_options.child.options.clear();
    const auto same = usage_error(without_options, smallest);
    if (!same) return tl::unexpected(same.error());
    if (!same->empty()) return {};
    return fail(ErrorKind::usage, *message, "arguments after -- go to pytest",
                std::string(name_of(ready.suite.framework)));
}

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
    auto from_user = parse_variables(request.env);
    if (!from_user) return tl::unexpected(from_user.error());
    const auto selection = selection_of(request, invocation.passed_on);
    if (!selection) return tl::unexpected(selection.error());
    auto ready =
        open_suite(request.suite, invocation,
                   request.discovery_printed ? prepare::Say([](std::string_view) {}) : say);
    if (!ready) return tl::unexpected(ready.error());
    ready->child.from_user = std::move(*from_user);
    ready->child.keyword = request.keyword;
    ready->child.maxfail = request.maxfail;
    ready->diagnose = request.diagnose && asks_for_diagnosis(ready->settings);
    auto expectations = open_expectations(*ready);
    if (!expectations) return tl::unexpected(expectations.error());
    if (request.dry_run)
        return make_ready(*ready, Need::modules, say)
            .and_then([&] { return plan_for(*ready, *selection); })
            .map([](const plan::Plan& plan) { return print_dry_run(plan), RunResult{}; });

    Execution execution;
    if (request.shared) execution.shared = request.shared;
    archive::RunFolder& run = execution.run;
    run.results = fs::absolute(ready->settings.text(Setting::results));
    const bool is_shard = !request.shard.empty();
    auto store =
        is_shard ? archive::open_shard_results(run.results) : archive::open_results(run.results);
    if (!store) return tl::unexpected(store.error());
    if (auto made = make_ready(*ready, Need::children, say, execution.shared->prepared); !made)
        return tl::unexpected(made.error());
    store::SuitePast past = is_shard
                                ? past_of_shard(run.results, ready->suite.name, execution.notes)
                                : past_of(*store, ready->suite.name);
    auto plan = plan_for(*ready, *selection,
                         {past.seconds, std::move(past.failed), past.seconds_of_whole_runs});
    if (!plan) return tl::unexpected(plan.error());
    if (!request.options_checked)
        if (auto accepted = check_pytest_options(*ready, *plan); !accepted)
            return tl::unexpected(accepted.error());

    run.started = clock.wall();
    run.id = make_run_id(series_of(*ready), run.started, std::random_device{}());
    run.folder = run.results / "runs" / run.id;
    execution.plan = {ready->suite.name,
                      ready->child.root.string(),
                      request.keyword,
                      request.maxfail,
                      request.flaky_fails,
                      request.fail_on,
                      {}};
    for (auto& job : plan->jobs)
        execution.plan.modules.push_back({std::move(job.module), std::move(job.only)});
    std::move(plan->notes.begin(), plan->notes.end(), std::back_inserter(execution.notes));
    execution.verbosity = request.verbosity;
    execution.past = std::move(past);
    if (auto made = make_directories(run.folder); !made) return tl::unexpected(made.error());
    const auto lock = archive::RunLock::acquire(run.folder);
    if (!lock) return tl::unexpected(lock.error());
    store::RunInfo info = run_info(request, invocation, *ready, run);
    info.shard = request.shard;
    info.plan = plan->id;
    info.repeat_of = request.repeat_of;
    info.column = request.column;
    // The results of such a run are no verdicts: nothing can be expected of them.
    if (ready->settings.on(Setting::keep_going) || ready->settings.seeds() > 0)
        expectations->entries.clear();
    if (auto marked = mark_selected(expectations->entries, *ready, *selection); !marked)
        return tl::unexpected(marked.error());
    info.expectations_file = expectations->file.string();
    info.expectations = analysis::to_stored(expectations->entries);
    execution.expectations = analysis::expectations_of(info);
    if (!expectations->note.empty()) execution.notes.push_back(std::move(expectations->note));
    std::vector<std::string> modules;
    for (const auto& module : execution.plan.modules) modules.push_back(module.path);
    exec::block_termination_signals();  // an interrupt from here on is stored
    const auto begun =
        archive::write_plan(run, execution.plan)
            .and_then([&] { return archive::record_run(run.folder, info); })
            .and_then([&] { return archive::record_plan(run.folder, modules); })
            .and_then(
                [&] { return retry_while_busy(*store, [&] { return store->begin_run(info); }); })
            .and_then([&] {
                return retry_while_busy(*store,
                                        [&] { return store->plan_modules(run.id, modules); });
            });
    if (!begun) return tl::unexpected(begun.error());
    execution.keep_empty = request.keep_empty || is_shard;
    execution.shard = request.shard;
    execution.extra = request.reports;
    execution.extra.issue_text = ready->settings.on(Setting::issue_text);
    const auto executed = execute_run(*ready, *store, execution);
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

Expected<ExitCode> run_repeated(RunRequest request, const config::Invocation& invocation) {
    std::vector<ExitCode> codes;
    analysis::Comparison compared;
    for (int i = 1; i <= request.repeat; ++i) {
        if (request.verbosity >= 0) print("\nrun {} of {}\n", i, request.repeat);
        const auto result = run_once(request, invocation);
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

Expected<ExitCode> run_suite(const RunRequest& request, const config::Invocation& invocation) {
    if (request.repeat > 1 && !request.dry_run) return run_repeated(request, invocation);
    return run_once(request, invocation).map([](const RunResult& result) { return result.code; });
}

}  // namespace compat::run
