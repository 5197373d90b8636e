#include "runner/app/pipeline.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <random>

#include "reports/model.h"
#include "reports/render.h"
#include "runner/app/display.h"
#include "runner/app/fingerprint.h"
#include "runner/app/output.h"
#include "runner/app/ready.h"
#include "runner/app/recorder.h"
#include "runner/app/summary.h"
#include "runner/app/variables.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/exec/loop.h"

namespace compat::app {

namespace fs = std::filesystem;

namespace {

// The command line that runs a part of this suite again, from anywhere and in another environment:
// no targets, absolute folders, and as a flag whatever was not the suite's or the default.
std::vector<std::string> rerun_words(const RunCommand& command, const Ready& ready) {
    std::vector<std::string> words{"runner"};
    std::error_code error;
    words.push_back(fs::exists(command.suite, error) ? fs::canonical(command.suite, error).string()
                                                     : command.suite);
    for (const auto& row : kSettings) {
        const Value& value = ready.settings[row.setting];
        const bool ours_alone = row.setting == Setting::progress || row.setting == Setting::color ||
                                row.setting == Setting::jobs || row.setting == Setting::results;
        const bool given = value.origin.starts_with('-') || value.origin == row.variable ||
                           value.origin == "VIRTUAL_ENV";
        if (row.flag.empty() || ours_alone || !given) continue;
        const bool path = row.setting == Setting::root || row.setting == Setting::python;
        words.emplace_back(row.flag.substr(row.flag.rfind(',') + 1));
        words.push_back(path ? fs::absolute(value.text).string() : value.text);
    }
    for (const auto& [name, value] : ready.child.from_user) {
        if (is_secret_name(name)) continue;  // whoever runs it again has it in the environment
        words.push_back("--env");
        words.push_back(name + "=" + value);
    }
    return words;
}

std::string plan_json(const Ready& ready, const std::vector<exec::Job>& jobs) {
    nlohmann::ordered_json json;
    json["format"] = 1;
    json["suite"] = ready.suite.name;
    json["root"] = ready.child.root.string();
    json["jobs"] = nlohmann::json::array();
    for (const auto& job : jobs)
        json["jobs"].push_back({{"module", job.name},
                                {"argv", job.argv},
                                {"cwd", job.cwd.string()},
                                {"timeout_ms", job.timeout.count()}});
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

struct RunFolder {
    std::string id;
    fs::path results, folder;
    WallTime started;
};

// What is to be done in a run, said three ways: for the executor, for the recorder, for the store.
struct Work {
    std::vector<exec::Job> jobs;
    std::vector<RecordedJob> recorded;
    std::vector<std::string> modules;
};

// Made first of all, so that a folder that cannot be written is known before minutes are spent.
Expected<store::Store> open_results(const fs::path& results) {
    return make_directories(results / "runs").and_then([&] {
        return store::Store::open(results / "runner.db");
    });
}

store::RunInfo run_info(const RunCommand& command, const Invocation& invocation, const Ready& ready,
                        const RunFolder& run) {
    const auto& prepared = ready.prepared;
    const plan::Variables env = masked(plan::added_variables(ready.suite, ready.child));
    store::RunInfo info;
    info.id = run.id;
    info.suite = ready.suite.name;
    info.series = ready.settings.text(Setting::name);
    info.started = run.started;
    info.framework = name_of(ready.suite.framework);
    info.shim = !prepared.shim_library.empty();
    if (info.shim) info.policy = ready.child.policy;
    info.device = prepared.accelerator;
    info.fallback = ready.child.fallback;
    info.commit = prepared.source.commit;
    info.dirty = prepared.source.dirty;
    info.remote = prepared.source.remote;
    info.torch = prepared.environment.torch_version;
    info.root = ready.child.root;
    info.links_base = ready.suite.links_base;
    info.python = prepared.environment.python;
    info.env = env;
    info.argv = masked(invocation.argv);
    info.rerun_argv = rerun_words(command, ready);
    info.fingerprint = fingerprint(prepared, ready.settings, env);
    info.folder = "runs/" + run.id;
    return info;
}

// results/latest -> runs/<run>; replaced in one step.
void point_latest(const RunFolder& run) {
    std::error_code error;
    const fs::path link = run.results / "latest", beside = run.results / (".latest-" + run.id);
    fs::create_directory_symlink(fs::path("runs") / run.id, beside, error);
    if (!error) fs::rename(beside, link, error);
    if (error) fs::remove(beside, error);
}

DisplayOptions display_options(const RunCommand& command, const Settings& settings,
                               std::FILE* log) {
    const bool terminal = ::isatty(STDOUT_FILENO) != 0;
    const std::string& progress = settings.text(Setting::progress);
    const std::string& color = settings.text(Setting::color);
    DisplayOptions options;
    options.bar = progress == "bar" || (progress == "auto" && terminal && !std::getenv("CI"));
    options.color = color == "always" || (color == "auto" && terminal && !std::getenv("NO_COLOR"));
    options.verbosity = command.verbosity;
    options.run_log = log;
    return options;
}

Expected<Work> lay_out(const Ready& ready, const plan::Plan& plan, const RunFolder& run) {
    Work work;
    const auto relative = [&](const fs::path& path) {
        return path.lexically_relative(run.folder).string();
    };
    for (const auto& planned : plan.jobs) {
        const fs::path folder = run.folder / "modules" / escaped_path(planned.module);
        const plan::AttemptPaths paths{folder / "1.log", folder / "1.events.jsonl",
                                       folder / "1.devices.jsonl", folder / "1.only"};
        if (auto made = write_attempt(planned, paths); !made) return tl::unexpected(made.error());
        work.jobs.push_back(child_job(ready, ready.child, planned, paths));
        work.recorded.push_back({planned.module, planned.only, relative(paths.log),
                                 relative(paths.events), relative(paths.devices)});
        work.modules.push_back(planned.module);
    }
    return work;
}

void introduce(Display& display, const Ready& ready, const plan::Plan& plan) {
    display.say(fmt::format("{}: {}, {} at a time, {}", ready.suite.name,
                            counted(static_cast<long>(plan.jobs.size()), "module"),
                            ready.settings.jobs(), settings_words(ready)));
    for (const auto& note : plan.notes) display.say("note: " + printable(note));
    if (ready.suite.framework == suites::Framework::pytest)
        display.say(
            "note: pytest has the suite's own options, but for -x, workers, random order and "
            "reruns");
}

// Children until all is done or the run is stopped; the record of each in the store as it ends.
exec::RunFinished run_children(Work& work, const Ready& ready, const Clock& clock, Display& display,
                               Recorder& recorder) {
    exec::RunFinished finished;
    exec::run_jobs(
        std::move(work.jobs), {ready.settings.jobs()}, clock,
        [&](const exec::RunEvent& event) -> exec::Reply {
            display.on_event(event);
            if (const auto* job = std::get_if<exec::JobFinished>(&event))
                display.module_done(*job, recorder.job_finished(*job));
            else if (const auto* end = std::get_if<exec::RunFinished>(&event))
                finished = *end;
            // A store or disk that takes no more: hours of work would be lost.
            return {recorder.trouble() ? to_line(*recorder.trouble()) : std::string(), {}};
        });
    return finished;
}

Expected<ExitCode> close_run(store::Store& store, const RunFolder& run, const Clock& clock,
                             const exec::RunFinished& finished, Recorder& recorder) {
    recorder.save_what_failed();
    RunFacts facts = recorder.facts();
    facts.interrupted = finished.stopped && !recorder.trouble();
    facts.unexpected = facts.unexpected || !finished.not_started.empty();
    const ExitCode code = exit_code(facts);
    const WallTime ended = clock.wall();
    const std::chrono::duration<double> took = ended - run.started;
    const auto closed = store.finish_run(
        run.id, {ended, took.count(), !finished.stopped, static_cast<int>(code),
                 recorder.mismatches().empty(), recorder.mismatches(), finished.reason});
    if (!closed) return tl::unexpected(recorder.trouble().value_or(closed.error()));

    const auto loaded = store.load_run(run.id);
    if (!loaded) return tl::unexpected(loaded.error());
    const auto model = reports::build_model(*loaded, {run.folder, run.folder});
    const auto files = reports::write_reports(model, run.folder,
                                              {reports::Format::markdown, reports::Format::json});
    if (!files) return tl::unexpected(files.error());
    point_latest(run);
    print_closing(model, run.folder / "report.md");
    for (const auto& id : recorder.unmatched())
        print(stderr,
              "runner: no test is named {}: `runner list --cases SUITE MODULE` prints the ids\n",
              printable(id));
    if (recorder.trouble()) return tl::unexpected(*recorder.trouble());
    return code;
}

void print_dry_run(const plan::Plan& plan) {
    for (const auto& note : plan.notes) print("note: {}\n", printable(note));
    for (const auto& job : plan.jobs) {
        print("{}\n", printable(job.module));
        for (const auto& id : job.only) print("    only {}\n", printable(id));
    }
    print("{} modules; nothing was run\n", plan.jobs.size());
}

}  // namespace

Expected<ExitCode> run_suite(const RunCommand& command, const Invocation& invocation) {
    const SystemClock clock;
    const auto say = [&](std::string_view line) {
        if (command.verbosity >= 0) print("{}\n", printable(line));
    };

    // What can be wrong is looked at before anything is written or takes long.
    auto from_user = parse_variables(command.env);
    if (!from_user) return tl::unexpected(from_user.error());
    auto ready = open_suite(command.suite, invocation, say);
    if (!ready) return tl::unexpected(ready.error());
    ready->child.from_user = std::move(*from_user);
    ready->child.keyword = command.keyword;
    if (command.dry_run)
        return make_ready(*ready, Need::modules, say)
            .and_then([&] { return plan_for(*ready, command.targets, {}); })
            .map([](const plan::Plan& plan) { return print_dry_run(plan), ExitCode::ok; });

    RunFolder run;
    run.results = fs::absolute(ready->settings.text(Setting::results));
    auto store = open_results(run.results);
    if (!store) return tl::unexpected(store.error());
    if (auto made = make_ready(*ready, Need::children, say); !made)
        return tl::unexpected(made.error());
    const auto durations = store->module_durations(ready->suite.name);
    const auto plan =
        plan_for(*ready, command.targets, durations.value_or(std::map<std::string, double>{}));
    if (!plan) return tl::unexpected(plan.error());

    run.started = clock.wall();
    run.id = make_run_id(ready->settings.text(Setting::name), run.started, std::random_device{}());
    run.folder = run.results / "runs" / run.id;
    auto work = lay_out(*ready, *plan, run);
    if (!work) return tl::unexpected(work.error());
    const auto begun =
        write_file(run.folder / "plan.json", plan_json(*ready, work->jobs))
            .and_then([&] { return store->begin_run(run_info(command, invocation, *ready, run)); })
            .and_then([&] { return store->plan_modules(run.id, work->modules); });
    if (!begun) return tl::unexpected(begun.error());

    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> run_log(
        std::fopen((run.folder / "run.log").c_str(), "we"), &std::fclose);
    Display display(display_options(command, ready->settings, run_log.get()), work->modules);
    introduce(display, *ready, *plan);
    Recorder recorder(*store, run.id, run.folder, ready->suite.framework, work->recorded);
    const auto finished = run_children(*work, *ready, clock, display, recorder);
    return close_run(*store, run, clock, finished, recorder);
}

}  // namespace compat::app
