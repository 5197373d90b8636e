#include "runner/run/resume.h"

#include <fmt/format.h>

#include <cstdlib>
#include <set>

#include "runner/analysis/attempts.h"
#include "runner/analysis/verdict.h"
#include "runner/archive/results.h"
#include "runner/archive/run_record.h"
#include "runner/archive/shards.h"
#include "runner/base/files/run_folder_name.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/display/output.h"
#include "runner/exec/processes.h"
#include "runner/exec/signals.h"
#include "runner/run/execute_run.h"
#include "runner/run/hub/run_hub.h"
#include "runner/run/new_run.h"
#include "runner/run/run_suite.h"
#include "runner/run/variables.h"

namespace compat::run {

using display::print;

namespace {

// A stored run and the command that made it. The new command's flags override the old ones.
struct LoadedRun {
    archive::RunFolder run;
    store::StoredRun stored;
    config::Invocation invocation;
    RunRequest request;
};

Expected<LoadedRun> load_with_command(const store::Store& store, const fs::path& results,
                                      const std::string& id, const config::Invocation& now,
                                      int verbosity, const ParseCommand& parse) {
    auto loaded = TRY(store.load_run(id));
    LoadedRun loaded_run;
    loaded_run.stored = std::move(loaded);
    const store::RunInfo& info = loaded_run.stored.info;
    loaded_run.run = {id, results, results / info.folder, info.started};
    auto command = TRY(parse_run_command(info, now, parse));
    loaded_run.invocation = {std::move(command.flags), now.argv, std::move(command.passed_on), {}};
    loaded_run.request = std::move(command.request);
    loaded_run.request.verbosity = verbosity;
    return loaded_run;
}

// A run that no other runner changes.
struct OpenRun {
    std::string id;
    archive::RunLock lock;
    archive::OpenResults store;
};

// The lock is taken before the store is read: a runner at work on the run may be about to end.
Expected<OpenRun> open_stored(archive::OpenResults store, const fs::path& results,
                              const std::string& id) {
    return archive::RunLock::acquire(results / run_folder_name(id))
        .map([&](archive::RunLock&& lock) {
            return OpenRun{id, std::move(lock), std::move(store)};
        });
}

Expected<OpenRun> open_shard(const archive::ShardFolder& shard) {
    auto lock = TRY(archive::RunLock::acquire(shard.folder));
    return archive::load_shard(shard.folder).map([&](store::Store&& store) {
        return OpenRun{shard.info.id, std::move(lock), archive::OpenResults(std::move(store))};
    });
}

// A run of the results' database, else a shard.
Expected<OpenRun> open_run(const fs::path& results, const std::string& name) {
    const auto shard_or = [&](const Error& error) -> Expected<OpenRun> {
        const auto shard = archive::find_shard(results, name);
        return shard ? open_shard(*shard) : tl::unexpected(error);
    };
    if (auto existing = archive::existing_results(results); !existing)
        return shard_or(existing.error());
    auto store = TRY(archive::open_results(results));
    const auto id = store.find_run(name);
    return id ? open_stored(std::move(store), results, *id) : shard_or(id.error());
}

void end_survivors(const archive::RunFolder& run) {
    for (const auto& left : exec::end_survivors(archive::process_name_prefix(run))) {
        std::string command;
        for (const auto& word : left.argv) command += word + " ";
        print("ended process {}, which that run had left: {}\n", left.pid, printable(command));
    }
}

}  // namespace

Expected<StoredCommand> parse_run_command(const store::RunInfo& info, const config::Invocation& now,
                                          const ParseCommand& parse) {
    if (info.rerun_argv.empty())
        return fail(ErrorKind::usage, "this run was imported: there is no command to run again", {},
                    info.id);
    auto before = TRY(parse(info.rerun_argv));
    // Values of secrets are not stored; whoever runs it again has them in the environment.
    for (const auto& [name, value] : info.env)
        if (value.find(kMasked) != std::string::npos && !std::getenv(name.c_str()))
            print(
                stderr,
                "note: {} was set for that run, and its value is not stored: where --env gave it, "
                "set it in the environment\n",
                printable(name));
    for (const auto& word : before.passed_on)
        if (word.find(kMasked) != std::string::npos)
            return fail(ErrorKind::usage,
                        fmt::format("the argument {} was a secret and is not stored", word),
                        "run the suite again instead", info.id);
    for (const auto& [setting, text] : now.flags) before.flags[setting] = text;
    return before;
}

namespace {

Expected<ExitCode> continue_run(Expected<OpenRun> opened, const fs::path& results, int verbosity,
                                const config::Invocation& invocation, const ParseCommand& parse) {
    const auto say = [&](std::string_view line) {
        if (verbosity >= 0) print("{}\n", printable(line));
    };
    if (!opened) return tl::unexpected(opened.error());
    store::Store* const store = &opened->store;
    auto loaded_run =
        TRY(load_with_command(*store, results, opened->id, invocation, verbosity, parse));
    if (loaded_run.stored.end && loaded_run.stored.end->complete)
        return fail(ErrorKind::usage, "this run is complete: there is nothing to resume",
                    "run a part of it again with `runner rerun`", loaded_run.run.id);
    auto plan = TRY(archive::read_plan(loaded_run.run));
    end_survivors(loaded_run.run);

    auto from_user = TRY(parse_variables(loaded_run.request.env));
    auto ready = TRY(open_suite(loaded_run.request.suite, loaded_run.invocation, say));
    ready.child.from_user = std::move(from_user);
    ready.child.keyword = plan.keyword;
    ready.child.maxfail = plan.maxfail;
    ready.diagnose = loaded_run.stored.info.diagnose;
    TRY(make_ready(ready, Need::children, say));

    Execution execution;
    execution.run = loaded_run.run;
    execution.plan = std::move(plan);
    execution.verbosity = verbosity;
    execution.resumed = true;
    execution.shard = loaded_run.stored.info.shard;
    if (loaded_run.stored.end) execution.earlier_writes = loaded_run.stored.end->writes;
    // A killed runner has stored no end, and reopening a run forgets it.
    execution.earlier_hub = hub_use_so_far(execution.run.folder);
    execution.seconds_before = loaded_run.stored.duration_s;
    execution.expectations = analysis::expectations_of(loaded_run.stored.info);
    const store::RunInfo& info = loaded_run.stored.info;
    execution.notes.push_back("resuming " + info.id);
    if (info.torch != ready.prepared.environment.torch_version ||
        info.commit != ready.prepared.source.commit)
        execution.notes.push_back("the suite's source or torch has changed since this run began");
    execution.past = store->past_of(ready.suite.name).value_or(store::SuitePast{});
    execution.shown = shown_before(ready, *store, info);
    std::vector<std::string> modules;  // the runner may have died before it had planned them
    for (const auto& module : execution.plan.modules) modules.push_back(module.path);
    exec::block_termination_signals();  // an interrupt from here on is stored
    TRY(archive::record_reopened(execution.run.folder)
            .and_then([&] { return store->reopen_run(execution.run.id); })
            .and_then([&] { return store->plan_modules(execution.run.id, modules); })
            .and_then([&] { return archive::store_recorded(*store, execution.run.folder); }));
    return execute_run(ready, *store, execution).map([](const ExecutionResult& executed) {
        return executed.code;
    });
}

}  // namespace

Expected<ExitCode> resume_shard(const archive::ShardFolder& shard, const fs::path& results,
                                int verbosity, const config::Invocation& invocation,
                                const ParseCommand& parse) {
    return continue_run(open_shard(shard), results, verbosity, invocation, parse);
}

Expected<ExitCode> resume_run(const ResumeRequest& request, const config::Invocation& invocation,
                              const ParseCommand& parse) {
    const auto results = TRY(config::results_folder(invocation));
    return continue_run(open_run(results, request.run), results, request.verbosity, invocation,
                        parse);
}

Expected<ExitCode> rerun(const RerunRequest& request, const config::Invocation& invocation,
                         const ParseCommand& parse, const RunOnce& once) {
    if (!request.failed && !request.flaky && !request.not_run)
        return fail(ErrorKind::usage, "rerun: no tests are selected",
                    "use --failed, --flaky or --not-run, or several of them");
    const auto results =
        TRY(config::results_folder(invocation).and_then(archive::existing_results));
    auto store = archive::open_results(results);
    if (!store) return tl::unexpected(store.error());
    const auto id = TRY(archive::find_run(*store, results, request.run));
    auto loaded_run =
        TRY(load_with_command(*store, results, id, invocation, request.verbosity, parse));

    std::set<std::string> targets;
    const auto add_targets = [&](const store::StoredModule& module) -> Expected<void> {
        if (module.attempts.empty()) {
            if (request.not_run) targets.insert(module.path);
            return {};
        }
        const auto verdicts = analysis::verdicts_of_jobs(module.attempts);
        for (size_t i = 0; i < verdicts.tests.size(); ++i) {
            const auto& test = verdicts.record.cases[i];
            const bool wanted =
                (request.failed && test.state != parsers::State::not_run &&
                 analysis::is_unexpected(test.state, verdicts.record.framework)) ||
                (request.flaky && (verdicts.tests[i].flaky || verdicts.tests[i].fork_sensitive)) ||
                (request.not_run && test.state == parsers::State::not_run);
            if (wanted) targets.insert(test.pseudo ? module.path : test.id);
        }
        return {};
    };
    TRY(store->each_module(id, add_targets));
    if (targets.empty())
        return fail(ErrorKind::nothing_selected, "that run has no such tests", {},
                    loaded_run.run.id);
    loaded_run.request.targets.assign(targets.begin(), targets.end());
    return run_suite(loaded_run.request, loaded_run.invocation, once);
}

}  // namespace compat::run
