#include "runner/run/execute_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "runner/archive/run_record.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/display/closing_summary.h"
#include "runner/display/display.h"
#include "runner/display/output.h"
#include "runner/display/terminal.h"
#include "runner/exec/loop.h"
#include "runner/run/collect.h"
#include "runner/run/database_wait.h"
#include "runner/run/diagnose.h"
#include "runner/run/hub/run_hub.h"
#include "runner/run/isolation/isolation.h"
#include "runner/run/recording/recorder.h"
#include "runner/run/reporting/reporting.h"
#include "runner/run/warm.h"

namespace compat::run {

using config::Setting;
using display::print;

namespace {

display::DisplayOptions display_options(int verbosity, const config::Settings& settings,
                                        std::FILE* log) {
    const bool terminal = ::isatty(STDOUT_FILENO) != 0;
    const std::string& progress = settings.text(Setting::progress);
    display::DisplayOptions options;
    const char* kind = std::getenv("TERM");
    const bool drawable = kind && std::string_view(kind) != "dumb" && !std::getenv("CI");
    if (progress == "json")
        options.progress = display::Progress::json;
    else if (terminal && (progress == "bar" || (progress == "auto" && drawable)))
        options.progress = display::Progress::bar;
    options.color = display::use_color(settings.text(Setting::color));
    options.verbosity = verbosity;
    options.run_log = log;
    return options;
}

display::DisplayedRun displayed_run(const Ready& ready, const Execution& execution) {
    display::DisplayedRun run{execution.run.id,
                              {},
                              execution.past.seconds,
                              ready.settings.jobs(),
                              ready.settings.retries() > 0,
                              ready.settings.seeds()};
    for (const auto& module : execution.plan.modules) run.modules.push_back(module.path);
    return run;
}

void say_beginning(display::Display& display, const Ready& ready, size_t modules,
                   const std::vector<std::string>& notes) {
    display.say(fmt::format("{}: {}, {} at a time, {}", ready.suite.name,
                            counted(static_cast<long>(modules), "module"), ready.settings.jobs(),
                            describe_settings(ready)));
    for (const auto& note : notes) display.say("note: " + printable(note));
}

// Null: it cannot be written.
std::FILE* open_run_log(const fs::path& folder) {
    auto fd = open_to_append(folder / "run.log");
    return fd ? ::fdopen(fd->release(), "a") : nullptr;
}

// The failures that earlier runs have shown, also those of this command.
plan::EarlierFailures evidence_of(const Execution& execution) {
    plan::EarlierFailures evidence = execution.shared->evidence;
    for (const auto& [test, signatures] : execution.shown.signatures)
        evidence.failures[test].insert(signatures.begin(), signatures.end());
    return evidence;
}

Recorder::Settings recorder_settings(const Ready& ready, const Execution& execution) {
    const int seeds = ready.settings.seeds();
    return {.origin = {.framework = ready.suite.framework, .isolation = isolation_of(ready)},
            .limits = {.restarts = ready.suite.limits.restarts,
                       .retries = ready.settings.retries(),
                       .maxfail = execution.plan.maxfail,
                       .seeds = seeds},
            .confirmation = {.confirm_all = ready.settings.text(Setting::confirm) == "all",
                             .gives_verdicts = !ready.child.keep_going,
                             .evidence = evidence_of(execution)},
            // With seeds a test is flaky that fails with one of the streams.
            .tally = {.flaky_fails = execution.plan.flaky_fails || seeds > 0,
                      .fail_on = execution.plan.fail_on,
                      .expectations = execution.expectations}};
}

// Makes the executor's jobs from attempts, and knows the attempt of each job.
class Jobs {
  public:
    Jobs(const Ready& ready, const Execution& execution)
        : ready_(ready),
          execution_(execution),
          processes_(archive::process_name_prefix(execution.run)),
          common_(
              std::make_shared<exec::Variables>(plan::child_variables(ready.suite, ready.child))) {}

    Expected<exec::Job> make(Assignment assignment) {
        const archive::PlannedModule& module = execution_.plan.modules[assignment.module];
        const archive::AttemptNames names =
            archive::attempt_names(module.path, assignment.number, assignment.kind);
        const fs::path& folder = execution_.run.folder;
        const plan::AttemptPaths paths{
            folder / names.log,
            folder / names.events,
            folder / names.devices,
            folder / names.only,
            fmt::format("{}/{}.{}", processes_, assignment.module, assignment.number),
            ready_.settings.seeds() > 0 ? assignment.number : 0,
            folder};
        const plan::Job planned{module.path, assignment.only, 0};
        TRY(write_attempt(planned, paths));
        exec::Job job = child_job(ready_, ready_.child, planned, paths);
        job.common_env = common_;
        job.attempt = assignment.number;
        job.test_timeout = ready_.settings.test_timeout();
        job.memory_bytes = ready_.suite.limits.memory_bytes;
        job.warm = assignment.may_fork || ready_.settings.seeds() > 0;
        job.last = assignment.confirms;
        assignment.key = job.key;
        assignments_.push_back(std::move(assignment));
        return job;
    }
    [[nodiscard]] std::shared_ptr<const exec::Variables> common_env() const { return common_; }
    [[nodiscard]] const Assignment& of(size_t job) const { return assignments_[job]; }

  private:
    const Ready& ready_;
    const Execution& execution_;
    std::string processes_;
    std::shared_ptr<const exec::Variables> common_;
    std::vector<Assignment> assignments_;  // by job
};

// For a new run every module, else the attempt that each module still lacks.
Expected<std::vector<exec::Job>> first_jobs(Jobs& jobs, Recorder& recorder,
                                            display::Display& display, const store::Store& store,
                                            const Execution& execution) {
    std::vector<exec::Job> first;
    const auto take = [&](Step step) -> Expected<void> {
        if (step.done) display.count(*step.done);
        if (!step.next) return {};
        return jobs.make(std::move(*step.next)).map([&](exec::Job&& job) {
            first.push_back(std::move(job));
        });
    };
    const auto& modules = execution.plan.modules;
    std::map<std::string_view, size_t> places;
    for (size_t i = 0; i < modules.size(); ++i)
        if (execution.resumed)
            places.emplace(modules[i].path, i);
        else if (auto taken = take(recorder.resume_module(i, {})); !taken)
            return tl::unexpected(taken.error());
    const auto resume = [&](store::StoredModule module) -> Expected<void> {
        const auto place = places.find(module.path);
        if (place == places.end()) return {};
        return take(recorder.resume_module(place->second, std::move(module.attempts),
                                           module.diagnostics.size()));
    };
    if (execution.resumed) TRY(store.each_module(execution.run.id, resume));
    for (Step& step : recorder.begin()) TRY(take(std::move(step)));
    return first;
}

// Runs children until all are done or the run is stopped, and stores each when it ends.
exec::RunFinished run_children(std::vector<exec::Job> first, Jobs& jobs, const Ready& ready,
                               const Clock& clock, display::Display& display, Recorder& recorder,
                               std::optional<exec::Zygote> zygote) {
    exec::RunFinished finished;
    exec::Settings settings;
    settings.parallel = ready.settings.jobs();
    exec::run_jobs(
        std::move(first), settings, clock,
        [&](const exec::RunEvent& event) -> exec::Reply {
            display.on_event(event);
            exec::Reply reply;
            if (const auto* job = std::get_if<exec::JobFinished>(&event)) {
                if (ready.isolation) ready.isolation->add_left(job->left);
                auto steps = recorder.job_finished(Assignment(jobs.of(job->job)), *job);
                const Step& own = steps.front();
                if (own.done)
                    display.module_done(*job, *own.done);
                else if (own.next)
                    display.attempt_follows(*job, own.next->number, own.next->kind);
                else
                    display.module_waits(*job);
                for (size_t i = 1; i < steps.size(); ++i)
                    if (steps[i].done) display.module_done(*steps[i].done);
                for (Step& step : steps) {
                    if (!step.next) continue;
                    auto next = jobs.make(std::move(*step.next));
                    if (next)
                        reply.next.push_back(std::move(*next));
                    else
                        recorder.note_start_failure(next.error());
                }
                reply.stop = recorder.stop();
            } else if (const auto* end = std::get_if<exec::RunFinished>(&event)) {
                finished = *end;
            } else if (std::holds_alternative<exec::Tick>(event)) {
                static_cast<void>(recorder.save_pending());
            }
            return reply;
        },
        std::move(zygote));
    return finished;
}

exec::RunFinished none_started(size_t jobs, std::string reason) {
    exec::RunFinished finished{true, std::move(reason), std::vector<size_t>(jobs)};
    std::iota(finished.not_started.begin(), finished.not_started.end(), size_t{0});
    return finished;
}

void print_unexpected_passes(const std::vector<std::string>& tests) {
    constexpr size_t kShown = 10;
    for (size_t i = 0; i < std::min(tests.size(), kShown); ++i)
        print("unexpected pass: {}\n", printable(tests[i]));
    if (tests.size() > kShown)
        print("unexpected pass: {} more; see the report\n", tests.size() - kShown);
}

// The results that the database lacks are in the run's folder.
tl::unexpected<Error> with_resume_advice(Error error, const Execution& execution) {
    error.advice = fmt::format("`runner resume {}` stores what is missing", execution.run.id);
    return tl::unexpected(std::move(error));
}

// A run without tests would only hide the earlier ones behind `latest`.
Expected<void> delete_empty_run(store::Store& store, const archive::RunFolder& run) {
    return store.delete_run(run.id).and_then([&]() -> Expected<void> {
        std::error_code error;
        fs::remove_all(run.folder, error);
        if (error)
            return fail(ErrorKind::io, "cannot remove the run's folder: " + error.message(), {},
                        run.folder.string());
        print("no test was selected: the run is not stored\n");
        return {};
    });
}

// A run whose modules have all ended, or that was stopped.
struct Executed {
    exec::RunFinished finished;
    RunTally tally;
    bool reached_maxfail = false;
    bool diagnosis_interrupted = false;
    std::optional<Error> fatal_error;
    std::vector<WrittenFiles> writes;
    std::optional<HubUse> hub;
    double seconds = 0;  // in this sitting

    // --maxfail leaves nothing out if the run's last test reached it.
    [[nodiscard]] bool complete() const {
        const bool all_ran =
            !finished.stopped ||
            (reached_maxfail && finished.not_started.empty() && !tally.has_tests_to_resume);
        return all_ran && !tally.could_not_start && !diagnosis_interrupted;
    }
    [[nodiscard]] ExitCode code(const archive::RunPlan& plan) const {
        analysis::RunFacts facts = tally.facts;
        facts.interrupted =
            (finished.stopped && !fatal_error && !reached_maxfail) || diagnosis_interrupted;
        facts.unexpected |= !finished.not_started.empty();
        facts.nothing_to_do = plan.modules.empty();
        return analysis::exit_code(facts);
    }
};

Expected<void> store_end(store::Store& store, const archive::RunFolder& run,
                         const store::RunEnd& end) {
    const auto extent = store.extent_of(run.id);
    return archive::record_end(run.folder, end,
                               extent ? std::optional(extent->states) : std::nullopt)
        .and_then(
            [&] { return retry_while_busy(store, [&] { return store.finish_run(run.id, end); }); });
}

void print_unmatched(const RunTally& tally, const Ready& ready, const Execution& execution,
                     ExitCode code) {
    print_unmatched_ids(tally.unmatched, ready);
    if (code == ExitCode::nothing_selected) print_unmatched_keyword(execution.plan.keyword);
}

// Stores the run's end and reports it.
Expected<ExecutionResult> close_run(store::Store& store, const Ready& ready,
                                    const Execution& execution, Executed executed) {
    const archive::RunFolder& run = execution.run;
    const RunTally& tally = executed.tally;
    const bool stopped = executed.finished.stopped;
    const bool complete = executed.complete();
    const ExitCode code = executed.code(execution.plan);
    const bool is_empty = code == ExitCode::nothing_selected ||
                          (code == ExitCode::usage && tally.facts.collected == 0);
    if (is_empty && complete && !execution.keep_empty)
        return delete_empty_run(store, run).map([&] {
            print_unmatched(tally, ready, execution, code);
            return ExecutionResult{code, false};
        });
    const auto closed = store_end(store, run,
                                  {.finished = SystemClock().wall(),
                                   .duration_s = execution.seconds_before + executed.seconds,
                                   .complete = complete,
                                   .exit_code = static_cast<int>(code),
                                   .accounting_closed = tally.mismatches.empty(),
                                   .mismatches = tally.mismatches,
                                   .not_run_reason = executed.finished.reason,
                                   .writes = std::move(executed.writes),
                                   .hub = std::move(executed.hub)});
    if (!closed && closed.error().kind == ErrorKind::interrupted)
        return with_resume_advice(closed.error(), execution);
    if (!closed) return tl::unexpected(executed.fatal_error.value_or(closed.error()));

    TRY(report_run(store, run, execution.extra));
    print_unexpected_passes(tally.unexpected_passes);
    for (const auto& [mark, tests] : tally.failed_on)
        print("failed by --fail-on {}: {}\n", mark, counted(tests, "test"));
    if (!stopped) print_unmatched(tally, ready, execution, code);
    if (!complete) display::print_resume_hint(run.id, run.results);
    if (complete && !execution.shard.empty())
        print("shard {}: `runner merge FOLDER...` makes one run of all shards; this one is {}\n",
              execution.shard, run.folder.string());
    if (executed.fatal_error) return tl::unexpected(*executed.fatal_error);
    return ExecutionResult{code, true, stopped ? std::vector<std::string>{} : tally.unmatched};
}

// Whether it was interrupted.
bool diagnose(const Ready& ready, store::Store& store, const Execution& execution,
              const Clock& clock, display::Display& display, Recorder& recorder) {
    if (!ready.diagnose) return false;
    store.set_patience(store::Store::kPatience);
    const auto diagnosed =
        retry_while_busy(store, [&] { return recorder.save_pending(); }).and_then([&] {
            return diagnose_failures(ready, store, execution, clock, [&](std::string_view line) {
                display.say(std::string(line));
            });
        });
    if (diagnosed) return diagnosed->interrupted;
    if (diagnosed.error().kind == ErrorKind::interrupted) return true;
    // The run itself is whole, and its exit code says what it found.
    display.say("note: the diagnosis ended early: " + printable(to_line(diagnosed.error())));
    return false;
}

}  // namespace

Expected<ExecutionResult> execute_run(const Ready& prepared, store::Store& store,
                                      const Execution& execution) {
    const SystemClock clock;
    const SteadyTime since = clock.steady();
    Ready ready = prepared;
    std::vector<std::string> notes = execution.notes;
    const fs::path& folder = execution.run.folder;
    TRY(Isolation::begin(ready, folder, folder / "modules",
                         [&](std::string_view line) { notes.emplace_back(line); }));
    TRY(RunHub::begin(ready, folder, [&](std::string_view line) { notes.emplace_back(line); }));
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> run_log(open_run_log(folder),
                                                                  &std::fclose);
    display::Display display(display_options(execution.verbosity, ready.settings, run_log.get()),
                             displayed_run(ready, execution));
    say_beginning(display, ready, execution.plan.modules.size(), notes);
    Recorder recorder(store, execution.run.id, execution.run.folder,
                      recorder_settings(ready, execution), execution.plan.modules);
    Jobs jobs(ready, execution);
    // The event loop must not wait: a later tick stores what a busy database refuses.
    constexpr std::chrono::milliseconds kEventLoopBusyTimeout{20};
    store.set_patience(kEventLoopBusyTimeout);
    auto first = TRY(first_jobs(jobs, recorder, display, store, execution));
    choose_fresh_jobs(first, execution.past, execution.shown.modules, ready.settings.jobs());
    SharedByRuns& shared = *execution.shared;
    const bool is_first = !shared.preload;
    auto zygote =
        zygote_for(ready, execution.run, jobs.common_env(), first, execution.plan.modules, shared);
    if (is_first && shared.preload && !shared.preload->words.empty())
        display.say(printable(shared.preload->words));
    if (zygote && *zygote && shared.start_next) shared.start_next(*shared.preload);
    const size_t jobs_at_first = first.size();
    exec::RunFinished finished = zygote ? run_children(std::move(first), jobs, ready, clock,
                                                       display, recorder, std::move(*zygote))
                                        : none_started(jobs_at_first, zygote.error().message);
    for (const auto& done : recorder.close_unfinished_modules()) display.module_done(done);
    const bool ended = (!finished.stopped || recorder.reached_maxfail()) &&
                       !recorder.fatal_error() && !recorder.tally().could_not_start;
    const bool diagnosis_interrupted =
        ended && diagnose(ready, store, execution, clock, display, recorder);
    display.finish();
    execution.shared->evidence = recorder.evidence();
    std::vector<WrittenFiles> writes = execution.earlier_writes;
    if (ready.isolation) add_writes(writes, ready.isolation->writes());
    std::optional<HubUse> hub = execution.earlier_hub;
    if (ready.hub) add_use(hub ? *hub : hub.emplace(), ready.hub->finish());
    const auto saved = retry_while_busy(store, [&] { return recorder.save_pending(); });
    if (!saved) return with_resume_advice(saved.error(), execution);
    const std::chrono::duration<double> took = clock.steady() - since;
    return close_run(store, prepared, execution,
                     {.finished = std::move(finished),
                      .tally = recorder.tally(),
                      .reached_maxfail = recorder.reached_maxfail(),
                      .diagnosis_interrupted = diagnosis_interrupted,
                      .fatal_error = recorder.fatal_error(),
                      .writes = std::move(writes),
                      .hub = std::move(hub),
                      .seconds = took.count()});
}

}  // namespace compat::run
