#include "runner/run/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "runner/analysis/attempts.h"
#include "runner/analysis/ways/diagnostic_retries.h"
#include "runner/archive/run_record.h"
#include "runner/base/text.h"
#include "runner/exec/loop.h"
#include "runner/plan/diagnostic_child.h"
#include "runner/run/attempt_result.h"
#include "runner/run/database_wait.h"
#include "runner/run/devices/device_choice.h"
#include "runner/run/isolation/isolation.h"

namespace compat::run {

namespace {

// Imports take as long as a test may.
constexpr int kTestTimesOfAttempt = 2;

// A failure that is run for all of its kind.
struct Failure {
    analysis::FailedTest test;
    std::string module;
    std::vector<analysis::DiagnosticAttempt> attempts;
};

struct Work {
    std::vector<Failure> failures;       // with a step to try
    std::int64_t failed = 0;             // tests
    std::map<std::string, int> numbers;  // of each module's last attempt
};

// Settings of each step's children, made once.
class Children {
  public:
    explicit Children(const Ready& ready) : ready_(ready) {}

    struct OfStep {
        Ready ready;
        std::shared_ptr<const exec::Variables> common_env;
    };
    const OfStep& of(DiagnosticStep step) {
        auto& made = steps_[step];
        if (!made) {
            made = std::make_unique<OfStep>(OfStep{ready_, {}});
            Ready& own = made->ready;
            own.child = plan::settings_of(step, std::move(own.child));
            if (step == DiagnosticStep::cpu) tell_device(own, "cpu");
            made->common_env =
                std::make_shared<exec::Variables>(plan::child_variables(own.suite, own.child));
        }
        return *made;
    }

  private:
    const Ready& ready_;
    std::map<DiagnosticStep, std::unique_ptr<OfStep>> steps_;
};

// The runner may have ended before it could store the last one.
void remove_files(const fs::path& folder, const std::string& module, int number) {
    archive::remove_attempt(folder, module, number, AttemptKind::diagnostic);
}

Expected<Work> find_work(const store::Store& store, const Execution& execution,
                         const analysis::Way& way) {
    Work work;
    analysis::Representatives kinds;
    return store
        .each_module(execution.run.id,
                     [&](store::StoredModule module) -> Expected<void> {
                         if (module.attempts.empty()) return {};
                         const int last =
                             static_cast<int>(module.attempts.size() + module.diagnostics.size());
                         work.numbers[module.path] = last;
                         remove_files(execution.run.folder, module.path, last + 1);
                         const auto verdicts = analysis::take_verdicts(module.attempts);
                         for (const auto& row : verdicts.record.cases) {
                             if (row.pseudo || !analysis::needs_attention(row.state)) continue;
                             ++work.failed;
                             Failure failure{analysis::failed_test(row), module.path, {}};
                             kinds.add(failure.test);
                             if (!kinds.represents(failure.test)) continue;
                             failure.attempts = analysis::attempts_of(module.diagnostics, row.id);
                             if (analysis::next_step(failure.test, failure.attempts, way))
                                 work.failures.push_back(std::move(failure));
                         }
                         return {};
                     })
        .map([&] { return std::move(work); });
}

class Diagnosis {
  public:
    Diagnosis(const Ready& ready, store::Store& store, const Execution& execution,
              const Clock& clock, const std::function<void(std::string_view)>& say,
              analysis::Way way, Work work)
        : ready_(ready),
          store_(store),
          execution_(execution),
          clock_(clock),
          say_(say),
          way_(std::move(way)),
          work_(std::move(work)),
          children_(ready),
          processes_(archive::process_name_prefix(execution.run)),
          since_(clock.steady()) {}

    Expected<DiagnosisEnd> run() {
        // One after the other, so that the numbers of those that ran have no hole.
        auto first = TRY(next_job());
        exec::Settings settings;
        settings.parallel = 1;
        exec::run_jobs({std::move(*first)}, settings, clock_,
                       [&](const exec::RunEvent& event) { return on_event(event); });
        if (error_) return tl::unexpected(*error_);
        return end_;
    }

  private:
    struct Assigned {
        size_t failure;
        DiagnosticStep step;
        int number;
        std::string key{};  // exec::Job's
    };

    // The next job for one failure until all its steps are tried, then for the next failure. Empty:
    // none is left.
    Expected<std::optional<exec::Job>> next_job() {
        std::optional<DiagnosticStep> step;
        for (; at_ < work_.failures.size() && !step; at_ += !step)
            step =
                analysis::next_step(work_.failures[at_].test, work_.failures[at_].attempts, way_);
        if (!step) return std::nullopt;
        const Failure& of = work_.failures[at_];
        const int number = ++work_.numbers[of.module];
        const archive::AttemptNames names =
            archive::attempt_names(of.module, number, AttemptKind::diagnostic);
        const fs::path& folder = execution_.run.folder;
        const auto& modules = execution_.plan.modules;
        const auto place =
            std::find_if(modules.begin(), modules.end(),
                         [&](const auto& module) { return module.path == of.module; }) -
            modules.begin();
        const plan::AttemptPaths paths{folder / names.log,
                                       folder / names.events,
                                       folder / names.devices,
                                       folder / names.only,
                                       fmt::format("{}/{}.{}", processes_, place, number),
                                       0,
                                       folder};
        const plan::Job planned{of.module, {of.test.id}, 0};
        TRY(write_attempt(planned, paths));
        const auto& child = children_.of(*step);
        exec::Job job = child_job(child.ready, child.ready.child, planned, paths);
        for (auto& variable : plan::variables_of(*step)) job.env.push_back(std::move(variable));
        job.common_env = child.common_env;
        job.attempt = number;
        job.test_timeout = ready_.settings.test_timeout();
        job.timeout = std::min(job.timeout, kTestTimesOfAttempt * ready_.settings.test_timeout());
        job.memory_bytes = ready_.suite.limits.memory_bytes;
        assigned_.push_back({at_, *step, number, job.key});
        return job;
    }

    exec::Reply on_event(const exec::RunEvent& event) {
        exec::Reply reply;
        if (const auto* note = std::get_if<exec::Note>(&event))
            say_("note: " + printable(note->text));
        if (const auto* end = std::get_if<exec::RunFinished>(&event)) {
            end_.interrupted = end->stopped && !time_is_up_ && !error_;
            const auto left = std::ranges::count_if(work_.failures, [&](const Failure& failure) {
                return analysis::next_step(failure.test, failure.attempts, way_).has_value();
            });
            if (end->stopped && left > 0)
                say_(fmt::format("diagnosis: {}; not tried: {}", end->reason,
                                 counted(left, "test")));
        }
        const auto* finished = std::get_if<exec::JobFinished>(&event);
        if (!finished) return reply;
        const Assigned of = assigned_[finished->job];
        // `resume` tries it again.
        if (finished->end.kind == ProcessEnd::Kind::stopped) return reply;
        if (finished->infrastructure_error) error_ = finished->infrastructure_error;
        store_result(of, *finished);
        time_is_up_ = clock_.steady() - since_ >= ready_.settings.diagnose_time();
        if (!error_ && !time_is_up_) {
            auto next = next_job();
            if (!next)
                error_ = next.error();
            else if (*next)
                reply.next.push_back(std::move(**next));
        }
        if (error_)
            reply.stop = to_line(*error_);
        else if (time_is_up_)
            reply.stop = "the time for diagnosis is up";
        return reply;
    }

    void store_result(const Assigned& of, const exec::JobFinished& finished) {
        if (ready_.isolation) ready_.isolation->add_left(finished.left);
        Failure& failure = work_.failures[of.failure];
        const fs::path& folder = execution_.run.folder;
        store::JobResult job =
            attempt_result(folder, {ready_.suite.framework, isolation_of(ready_), of.key},
                           failure.module, of.number, AttemptKind::diagnostic, finished);
        job.only = {failure.test.id};
        job.step = name_of(of.step);
        set_file_names(folder, failure.module, job);
        failure.attempts.push_back(
            analysis::diagnostic_attempt(of.step, job.record, failure.test.id));
        ++end_.attempts;
        const analysis::DiagnosticAttempt& shown = failure.attempts.back();
        say_(fmt::format("    {} {}: {} ({})", printable(failure.test.id), row_of(of.step).under,
                         shown.reached ? parsers::name_of(shown.state) : "not run",
                         format_duration(std::chrono::duration<double>(job.duration_s))));
        const auto stored = archive::record_attempt(folder, job).and_then([&] {
            return retry_while_busy(store_,
                                    [&] { return store_.save_job(execution_.run.id, job); });
        });
        if (!stored && !error_) error_ = stored.error();
    }

    const Ready& ready_;
    store::Store& store_;
    const Execution& execution_;
    const Clock& clock_;
    const std::function<void(std::string_view)>& say_;
    analysis::Way way_;
    Work work_;
    Children children_;
    std::string processes_;
    SteadyTime since_;
    size_t at_ = 0;                   // the failure under way
    std::vector<Assigned> assigned_;  // by job
    bool time_is_up_ = false;
    DiagnosisEnd end_;
    std::optional<Error> error_;
};

}  // namespace

bool asks_for_diagnosis(const Ready& ready) {
    return ready.settings.on(config::Setting::diagnose) && ready.child.gives_verdicts();
}

Expected<DiagnosisEnd> diagnose_failures(const Ready& ready, store::Store& store,
                                         const Execution& execution, const Clock& clock,
                                         const std::function<void(std::string_view)>& say) {
    const auto run = TRY(store.load_run(execution.run.id));
    analysis::Way way = analysis::way_of(run.info);
    auto work = TRY(find_work(store, execution, way));
    if (work.failures.empty()) return DiagnosisEnd{};
    say(fmt::format("diagnosis: {} for {}, one after the other",
                    counted(static_cast<std::int64_t>(work.failures.size()), "test"),
                    counted(work.failed, "failed test")));
    return Diagnosis(ready, store, execution, clock, say, std::move(way), std::move(work)).run();
}

}  // namespace compat::run
