// Commands that take up a stored run: `resume` goes on with it, `rerun` runs a part of it anew.
#include <fmt/format.h>

#include <cstdlib>
#include <set>

#include "runner/app/commands.h"
#include "runner/app/conduct.h"
#include "runner/app/display.h"
#include "runner/app/output.h"
#include "runner/app/pipeline.h"
#include "runner/app/run_record.h"
#include "runner/app/variables.h"
#include "runner/base/names.h"
#include "runner/exec/processes.h"

namespace compat::app {

namespace fs = std::filesystem;

namespace {

// A stored run, and the command that made it with what is said anew laid over it.
struct Stored {
    RunFolder run;
    store::StoredRun stored;
    Invocation invocation;
    RunCommand command;
};

Expected<Stored> take(const store::Store& store, const fs::path& results, const std::string& id,
                      const Invocation& now, int verbosity) {
    auto loaded = store.load_run(id);
    if (!loaded) return tl::unexpected(loaded.error());
    Stored taken;
    taken.stored = std::move(*loaded);
    const store::RunInfo& info = taken.stored.info;
    taken.run = {id, results, results / info.folder, info.started};
    if (info.rerun_argv.empty())
        return fail(ErrorKind::usage, "these results were imported: no command of ours made them",
                    {}, id);
    auto words = info.rerun_argv;
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    auto parsed = parse_command_line(static_cast<int>(argv.size()), argv.data());
    const auto* before = std::get_if<Invocation>(&parsed);
    if (!before || !std::holds_alternative<RunCommand>(before->command))
        return fail(ErrorKind::usage, "this runner does not understand the command of that run",
                    "run the suite anew", id);
    // Values of secrets are not stored; whoever runs it again has them in the environment.
    for (const auto& [name, value] : info.env)
        if (is_secret_name(name) && !std::getenv(name.c_str()))
            print(
                stderr,
                "note: {} was set for that run, and its value is not stored: where --env gave it, "
                "set it in the environment\n",
                printable(name));
    taken.invocation = *before;
    taken.invocation.argv = now.argv;
    for (const auto& [setting, text] : now.flags) taken.invocation.flags[setting] = text;
    taken.command = std::get<RunCommand>(before->command);
    taken.command.verbosity = verbosity;
    return taken;
}

void end_survivors(const RunFolder& run) {
    for (const auto& left : exec::end_survivors(name_of_processes(run))) {
        std::string command;
        for (const auto& word : left.argv) command += word + " ";
        print("ended process {}, which that run had left: {}\n", left.pid, printable(command));
    }
}

}  // namespace

Expected<ExitCode> resume_run(const ResumeCommand& command, const Invocation& invocation) {
    const auto say = [&](std::string_view line) {
        if (command.verbosity >= 0) print("{}\n", printable(line));
    };
    const auto results = existing_results(invocation);
    if (!results) return tl::unexpected(results.error());
    auto store = open_results(*results);
    if (!store) return tl::unexpected(store.error());
    const auto id = store->find_run(command.run);
    if (!id) return tl::unexpected(id.error());
    // Before anything is read: a runner that is at work on it may be about to end.
    const auto lock = RunLock::take(*results / "runs" / *id);
    if (!lock) return tl::unexpected(lock.error());
    auto taken = take(*store, *results, *id, invocation, command.verbosity);
    if (!taken) return tl::unexpected(taken.error());
    if (taken->stored.end && taken->stored.end->complete)
        return fail(ErrorKind::usage, "this run is complete: there is nothing to go on with",
                    "`runner rerun` runs a part of it again", taken->run.id);
    auto plan = read_plan(taken->run);
    if (!plan) return tl::unexpected(plan.error());
    end_survivors(taken->run);

    auto from_user = parse_variables(taken->command.env);
    if (!from_user) return tl::unexpected(from_user.error());
    auto ready = open_suite(taken->command.suite, taken->invocation, say);
    if (!ready) return tl::unexpected(ready.error());
    ready->child.from_user = std::move(*from_user);
    ready->child.keyword = plan->keyword;
    ready->child.maxfail = plan->maxfail;
    if (auto made = make_ready(*ready, Need::children, say); !made)
        return tl::unexpected(made.error());

    Conducted what;
    what.run = taken->run;
    what.plan = std::move(*plan);
    what.verbosity = command.verbosity;
    what.goes_on = true;
    what.seconds_before = taken->stored.duration_s;
    const store::RunInfo& info = taken->stored.info;
    what.notes.push_back("going on with " + info.id);
    if (info.torch != ready->prepared.environment.torch_version ||
        info.commit != ready->prepared.source.commit)
        what.notes.push_back("the suite's source or torch is not what this run began with");
    what.seconds = store->past_of(ready->suite.name).value_or(store::SuitePast{}).seconds;
    std::vector<std::string> modules;  // the runner may have died before it had planned them
    for (const auto& module : what.plan.modules) modules.push_back(module.path);
    const auto reopened = record_reopened(what.run.folder)
                              .and_then([&] { return store->reopen_run(what.run.id); })
                              .and_then([&] { return store->plan_modules(what.run.id, modules); });
    if (!reopened) return tl::unexpected(reopened.error());
    return conduct(*ready, *store, what);
}

Expected<ExitCode> rerun(const RerunCommand& command, const Invocation& invocation) {
    if (!command.failed && !command.flaky && !command.not_run)
        return fail(ErrorKind::usage, "what is to run again?",
                    "say --failed, --flaky, --not-run, or several of them");
    const auto results = existing_results(invocation);
    if (!results) return tl::unexpected(results.error());
    auto store = open_results(*results);
    if (!store) return tl::unexpected(store.error());
    const auto id = store->find_run(command.run);
    if (!id) return tl::unexpected(id.error());
    auto taken = take(*store, *results, *id, invocation, command.verbosity);
    if (!taken) return tl::unexpected(taken.error());

    std::set<std::string> targets;
    const auto look_at = [&](const store::StoredModule& module) -> Expected<void> {
        if (module.attempts.empty()) {
            if (command.not_run) targets.insert(module.path);
            return {};
        }
        const auto verdicts = analysis::verdicts_of_jobs(module.attempts);
        for (size_t i = 0; i < verdicts.of.size(); ++i) {
            const auto& test = verdicts.record.cases[i];
            const bool wanted =
                (command.failed && test.state != parsers::State::not_run &&
                 is_unexpected(test.state, verdicts.record.framework)) ||
                (command.flaky && (verdicts.of[i].flaky || verdicts.of[i].fork_sensitive)) ||
                (command.not_run && test.state == parsers::State::not_run);
            if (wanted) targets.insert(test.pseudo ? module.path : test.id);
        }
        return {};
    };
    if (auto seen = store->each_module(*id, look_at); !seen) return tl::unexpected(seen.error());
    if (targets.empty())
        return fail(ErrorKind::nothing_selected, "that run has no such tests", {}, taken->run.id);
    taken->command.targets.assign(targets.begin(), targets.end());
    return run_suite(taken->command, taken->invocation);
}

}  // namespace compat::app
