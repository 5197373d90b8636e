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
#include "runner/run/isolation/isolation.h"
#include "runner/run/recorder.h"
#include "runner/run/reporting/reporting.h"
#include "runner/run/warm.h"

namespace compat::run {

namespace fs = std::filesystem;
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

// Null: it cannot be written.
std::FILE* open_run_log(const fs::path& folder) {
    auto fd = open_to_append(folder / "run.log");
    return fd ? ::fdopen(fd->release(), "a") : nullptr;
}

plan::AttemptLimits attempt_limits(const Ready& ready, const archive::RunPlan& plan) {
    return {ready.suite.limits.restarts, ready.settings.retries(), plan.maxfail,
            ready.settings.seeds()};
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
        if (auto made = write_attempt(planned, paths); !made) return tl::unexpected(made.error());
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
    const auto resume_module = [&](size_t module, std::vector<store::JobResult> found,
                                   size_t diagnostics) {
        return take(recorder.resume_module(module, std::move(found), diagnostics));
    };
    std::map<std::string_view, size_t> places;
    for (size_t i = 0; i < execution.plan.modules.size(); ++i)
        if (execution.resumed)
            places.emplace(execution.plan.modules[i].path, i);
        else if (auto taken = resume_module(i, {}, 0); !taken)
            return tl::unexpected(taken.error());
    if (execution.resumed)
        if (auto seen = store.each_module(execution.run.id,
                                          [&](store::StoredModule module) -> Expected<void> {
                                              const auto place = places.find(module.path);
                                              if (place == places.end()) return {};
                                              return resume_module(place->second,
                                                                   std::move(module.attempts),
                                                                   module.diagnostics.size());
                                          });
            !seen)
            return tl::unexpected(seen.error());
    for (Step& step : recorder.begin())
        if (auto taken = take(std::move(step)); !taken) return tl::unexpected(taken.error());
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

Expected<ExecutionResult> close_run(store::Store& store, const Ready& ready,
                                    const Execution& execution, const Clock& clock,
                                    SteadyTime since, const exec::RunFinished& finished,
                                    Recorder& recorder, bool diagnosis_interrupted,
                                    std::vector<WrittenFiles> writes) {
    const archive::RunFolder& run = execution.run;
    const auto saved = retry_while_busy(store, [&] { return recorder.save_pending(); });
    if (!saved) return with_resume_advice(saved.error(), execution);
    analysis::RunFacts facts = recorder.facts();
    const bool enough = recorder.reached_maxfail();
    facts.interrupted =
        (finished.stopped && !recorder.fatal_error() && !enough) || diagnosis_interrupted;
    facts.unexpected = facts.unexpected || !finished.not_started.empty();
    facts.nothing_to_do = execution.plan.modules.empty();
    const ExitCode code = analysis::exit_code(facts);
    const std::chrono::duration<double> took = clock.steady() - since;
    // --maxfail leaves nothing out if the run's last test reached it.
    const bool complete = !recorder.could_not_start() && !diagnosis_interrupted &&
                          (!finished.stopped || (enough && finished.not_started.empty() &&
                                                 !recorder.has_tests_to_resume()));
    const auto print_unmatched = [&] {
        print_unmatched_ids(recorder.unmatched(), ready);
        if (code == ExitCode::nothing_selected) print_unmatched_keyword(execution.plan.keyword);
    };
    const bool is_empty = code == ExitCode::nothing_selected ||
                          (code == ExitCode::usage && recorder.facts().collected == 0);
    if (is_empty && complete && !execution.keep_empty)
        return delete_empty_run(store, run).map([&] {
            print_unmatched();
            return ExecutionResult{code, false};
        });
    const store::RunEnd run_end{clock.wall(),
                                execution.seconds_before + took.count(),
                                complete,
                                static_cast<int>(code),
                                recorder.mismatches().empty(),
                                recorder.mismatches(),
                                finished.reason,
                                std::move(writes)};
    const auto counted_states = store.extent_of(run.id);
    const auto closed =
        archive::record_end(run.folder, run_end,
                            counted_states ? std::optional(counted_states->states) : std::nullopt)
            .and_then([&] {
                return retry_while_busy(store, [&] { return store.finish_run(run.id, run_end); });
            });
    if (!closed && closed.error().kind == ErrorKind::interrupted)
        return with_resume_advice(closed.error(), execution);
    if (!closed) return tl::unexpected(recorder.fatal_error().value_or(closed.error()));

    if (auto reported = report_run(store, run, execution.extra); !reported)
        return tl::unexpected(reported.error());
    print_unexpected_passes(recorder.unexpected_passes());
    for (const auto& [mark, tests] : recorder.failed_on())
        print("failed by --fail-on {}: {}\n", mark, counted(tests, "test"));
    if (!finished.stopped) print_unmatched();
    if (!complete) display::print_resume_hint(run.id, run.results);
    if (complete && !execution.shard.empty())
        print("shard {}: `runner merge FOLDER...` makes one run of all shards; this one is {}\n",
              execution.shard, run.folder.string());
    if (recorder.fatal_error()) return tl::unexpected(*recorder.fatal_error());
    return ExecutionResult{code, true,
                           finished.stopped ? std::vector<std::string>{} : recorder.unmatched()};
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
    if (auto isolated = Isolation::begin(ready, folder, folder / "modules",
                                         [&](std::string_view line) { notes.emplace_back(line); });
        !isolated)
        return tl::unexpected(isolated.error());
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> run_log(
        open_run_log(folder), &std::fclose);
    display::Display display(display_options(execution.verbosity, ready.settings, run_log.get()),
                             displayed_run(ready, execution));
    display.say(fmt::format("{}: {}, {} at a time, {}", ready.suite.name,
                            counted(static_cast<long>(execution.plan.modules.size()), "module"),
                            ready.settings.jobs(), settings_words(ready)));
    for (const auto& note : notes) display.say("note: " + printable(note));

    Recorder recorder(store, execution.run.id, execution.run.folder,
                      {ready.suite.framework, attempt_limits(ready, execution.plan),
                       execution.plan.flaky_fails, ready.settings.text(Setting::confirm) == "all",
                       execution.plan.fail_on, !ready.child.keep_going, execution.shared->evidence,
                       execution.expectations, isolation_of(ready)},
                      execution.plan.modules);
    Jobs jobs(ready, execution);
    // The event loop must not wait: a later tick stores what a busy database refuses.
    constexpr std::chrono::milliseconds kEventLoopBusyTimeout{20};
    store.set_patience(kEventLoopBusyTimeout);
    auto first = first_jobs(jobs, recorder, display, store, execution);
    if (!first) return tl::unexpected(first.error());
    choose_fresh_jobs(*first, execution.past, ready.settings.jobs());
    SharedByRuns& shared = *execution.shared;
    const bool is_first = !shared.preload;
    auto zygote =
        zygote_for(ready, execution.run, jobs.common_env(), *first, execution.plan.modules, shared);
    if (is_first && shared.preload && !shared.preload->words.empty())
        display.say(printable(shared.preload->words));
    if (zygote && *zygote && shared.start_next) shared.start_next(*shared.preload);
    std::vector<size_t> none_started(zygote ? 0 : first->size());
    std::iota(none_started.begin(), none_started.end(), size_t{0});
    const auto finished =
        zygote ? run_children(std::move(*first), jobs, ready, clock, display, recorder,
                              std::move(*zygote))
               : exec::RunFinished{true, zygote.error().message, std::move(none_started)};
    for (const auto& done : recorder.close_unfinished_modules()) display.module_done(done);
    const bool ended = (!finished.stopped || recorder.reached_maxfail()) &&
                       !recorder.fatal_error() && !recorder.could_not_start();
    const bool diagnosis_interrupted =
        ended && diagnose(ready, store, execution, clock, display, recorder);
    display.finish();
    execution.shared->evidence = recorder.evidence();
    std::vector<WrittenFiles> writes = execution.earlier_writes;
    if (ready.isolation) add_writes(writes, ready.isolation->writes());
    return close_run(store, prepared, execution, clock, since, finished, recorder,
                     diagnosis_interrupted, std::move(writes));
}

}  // namespace compat::run
