#include "runner/app/pipeline.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "reports/model.h"
#include "reports/render.h"
#include "runner/app/display.h"
#include "runner/app/fingerprint.h"
#include "runner/app/recorder.h"
#include "runner/app/share.h"
#include "runner/app/summary.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/exec/loop.h"
#include "suites/load.h"

extern char** environ;

namespace compat::app {

namespace fs = std::filesystem;

namespace {

plan::Variables inherited_environment() {
    plan::Variables variables;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text(*entry);
        const size_t equals = text.find('=');
        if (equals != std::string_view::npos)
            variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return variables;
}

Expected<plan::Variables> parse_variables(const std::vector<std::string>& words) {
    plan::Variables variables;
    for (const auto& word : words) {
        const size_t equals = word.find('=');
        if (equals == 0 || equals == std::string::npos)
            return fail(ErrorKind::usage, fmt::format("--env {} is not NAME=VALUE", word),
                        "write it as --env NAME=VALUE");
        variables.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    }
    return variables;
}

// The command line that runs a part of this suite again, from anywhere: no targets, absolute
// folders.
std::vector<std::string> rerun_words(const RunCommand& command, const Ready& ready) {
    std::vector<std::string> words{"runner"};
    std::error_code error;
    words.push_back(fs::exists(command.suite, error) ? fs::canonical(command.suite, error).string()
                                                     : command.suite);
    for (const auto& row : kSettings) {
        const Value& value = ready.settings[row.setting];
        const bool shown = row.setting == Setting::progress || row.setting == Setting::color ||
                           row.setting == Setting::jobs || row.setting == Setting::results;
        if (row.flag.empty() || shown || !value.origin.starts_with('-')) continue;
        const bool path = row.setting == Setting::root || row.setting == Setting::python;
        words.push_back(value.origin);
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

// The files of a module's first attempt; its folder is made.
Expected<plan::AttemptPaths> attempt_files(const fs::path& run_folder, const plan::Job& job) {
    const fs::path folder = run_folder / "modules" / escaped_path(job.module);
    plan::AttemptPaths paths{folder / "1.log", folder / "1.events.jsonl",
                             folder / "1.devices.jsonl", folder / "1.only"};
    if (auto made = make_directories(folder); !made) return tl::unexpected(made.error());
    if (job.only.empty()) return paths;
    std::string ids;
    for (const auto& id : job.only) ids += id + "\n";
    if (auto written = write_file(paths.only, ids); !written)
        return tl::unexpected(written.error());
    return paths;
}

struct RunFolder {
    std::string id;
    fs::path results, folder;
};

// Made first of all, so that a folder that cannot be written is known before minutes are spent.
Expected<store::Store> open_results(const fs::path& results) {
    return make_directories(results / "runs").and_then([&] {
        return store::Store::open(results / "runner.db");
    });
}

store::RunInfo run_info(const RunCommand& command, const Invocation& invocation, const Ready& ready,
                        const RunFolder& run, WallTime started) {
    const auto& prepared = ready.prepared;
    const plan::Variables env = masked(plan::added_variables(ready.suite, ready.child));
    store::RunInfo info;
    info.id = run.id;
    info.suite = ready.suite.name;
    info.series = ready.settings.text(Setting::name);
    info.started = started;
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

void print_dry_run(const plan::Plan& plan, const std::vector<exec::Job>& jobs) {
    for (const auto& note : plan.notes) fmt::print("note: {}\n", printable(note));
    for (size_t i = 0; i < jobs.size(); ++i) {
        fmt::print("{}\n", printable(jobs[i].name));
        for (const auto& id : plan.jobs[i].only) fmt::print("    only {}\n", printable(id));
    }
    fmt::print("{} modules; nothing was run\n", jobs.size());
}

}  // namespace

Expected<Ready> get_ready(const std::string& name, Need need, const Invocation& invocation,
                          const prepare::Say& say) {
    auto share = find_share();
    if (!share) return tl::unexpected(share.error());
    Ready ready;
    ready.share = *share;
    const auto shipped = shipped_suites(*share);
    auto suite = suites::load_suite(find_suite(name, *share), shipped);
    if (!suite) return tl::unexpected(suite.error());
    ready.suite = std::move(*suite);
    for (const auto& found : ready.suite.found) say(found);

    auto settings = Settings::resolve(invocation.flags, &ready.suite);
    if (!settings) return tl::unexpected(settings.error());
    ready.settings = std::move(*settings);
    if (const auto& framework = ready.settings.text(Setting::framework);
        framework != name_of(ready.suite.framework))
        ready.suite.framework =
            framework == "pytest" ? suites::Framework::pytest : suites::Framework::unittest;
    if (ready.suite.framework != suites::Framework::unittest &&
        ready.suite.framework != suites::Framework::pytest)
        return fail(
            ErrorKind::suite,
            fmt::format("this runner does not run {} suites", name_of(ready.suite.framework)),
            "use a suite with framework unittest or pytest", ready.suite.folder.string());

    prepare::Options options;
    options.root = ready.settings.text(Setting::root);
    options.python = ready.settings.text(Setting::python);
    // A project that says nothing of its environment means the one that is active.
    if (const char* active = std::getenv("VIRTUAL_ENV");
        ready.suite.by_convention && options.python.empty() && active && *active)
        options.python = active;
    options.shim = ready.settings.on(Setting::shim);
    options.source_only = need == Need::modules;
    options.torch_requirement = ready.settings.text(Setting::torch_requirement);
    options.base_python = ready.settings.text(Setting::base_python);
    const prepare::Cache cache(ready.settings.text(Setting::cache));
    auto prepared = prepare::prepare(ready.suite, options, ready.share, cache, say);
    if (!prepared) return tl::unexpected(prepared.error());
    ready.prepared = std::move(*prepared);

    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    auto& child = ready.child;
    child.python = ready.prepared.environment.python;
    child.root = ready.prepared.source.root;
    child.harness = ready.share.harness / "main.py";
    child.activation = ready.share.shim / "python" / "activate";
    child.shim_library = ready.prepared.shim_library;
    child.policy = ready.settings.text(Setting::policy);
    child.fallback = ready.settings.on(Setting::fallback);
    child.threads = std::max(1, cores / ready.settings.jobs());
    child.inherited = inherited_environment();
    return ready;
}

Expected<plan::Plan> plan_for(const Ready& ready, const std::vector<std::string>& targets,
                              const std::string& keyword,
                              const std::map<std::string, double>& durations) {
    return plan::list_modules(ready.suite, ready.child.root).and_then([&](const auto& modules) {
        return plan::make_plan(ready.suite, modules, {targets, keyword}, durations);
    });
}

Expected<ExitCode> run_suite(const RunCommand& command, const Invocation& invocation) {
    const SystemClock clock;
    const auto say = [&](std::string_view line) {
        if (command.verbosity >= 0) fmt::print("{}\n", printable(line)), std::fflush(stdout);
    };

    // What can be wrong is looked at before anything that takes long.
    auto early = Settings::resolve(invocation.flags, nullptr);
    if (!early) return tl::unexpected(early.error());
    auto from_user = parse_variables(command.env);
    if (!from_user) return tl::unexpected(from_user.error());
    RunFolder run;
    run.results = fs::absolute(early->text(Setting::results));
    std::optional<store::Store> store;
    if (!command.dry_run) {
        auto opened = open_results(run.results);
        if (!opened) return tl::unexpected(opened.error());
        store.emplace(std::move(*opened));
    }

    auto ready =
        get_ready(command.suite, command.dry_run ? Need::modules : Need::children, invocation, say);
    if (!ready) return tl::unexpected(ready.error());
    ready->child.from_user = std::move(*from_user);
    ready->child.keyword = command.keyword;

    std::map<std::string, double> durations;
    if (store) durations = store->module_durations(ready->suite.name).value_or(durations);
    auto plan = plan_for(*ready, command.targets, command.keyword, durations);
    if (!plan) return tl::unexpected(plan.error());

    const WallTime started = clock.wall();
    run.id = make_run_id(ready->settings.text(Setting::name), started, std::random_device{}());
    run.folder = run.results / "runs" / run.id;

    std::vector<exec::Job> jobs;
    std::vector<RecordedJob> recorded;
    std::vector<std::string> modules;
    for (const auto& planned : plan->jobs) {
        plan::AttemptPaths paths;
        if (!command.dry_run) {
            auto made = attempt_files(run.folder, planned);
            if (!made) return tl::unexpected(made.error());
            paths = std::move(*made);
        }
        auto child = plan::child_command(ready->suite, ready->child, planned, paths);
        jobs.push_back({planned.module, std::move(child.argv), ready->child.root,
                        std::move(child.env), paths.log, paths.events, ready->settings.timeout(),
                        ready->suite.limits.log_bytes});
        const auto relative = [&](const fs::path& path) {
            return path.lexically_relative(run.folder).string();
        };
        recorded.push_back(
            {planned.module, relative(paths.log), relative(paths.events), relative(paths.devices)});
        modules.push_back(planned.module);
    }
    if (command.dry_run) {
        print_dry_run(*plan, jobs);
        return ExitCode::ok;
    }

    const auto stored =
        write_file(run.folder / "plan.json", plan_json(*ready, jobs))
            .and_then([&] {
                return store->begin_run(run_info(command, invocation, *ready, run, started));
            })
            .and_then([&] { return store->plan_modules(run.id, modules); });
    if (!stored) return tl::unexpected(stored.error());

    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> run_log(
        std::fopen((run.folder / "run.log").c_str(), "we"), &std::fclose);
    Display display(display_options(command, ready->settings, run_log.get()), modules);
    display.say(fmt::format("{}: {} modules, {} at a time, {}", ready->suite.name, jobs.size(),
                            ready->settings.jobs(), settings_words(*ready)));
    for (const auto& note : plan->notes) display.say("note: " + printable(note));
    if (ready->suite.framework == suites::Framework::pytest)
        display.say(
            "note: the suite's own pytest options hold, but for --maxfail=0, one process a module, "
            "and neither random order nor reruns");

    Recorder recorder(*store, run.id, run.folder, ready->suite.framework, std::move(recorded));
    exec::RunFinished finished;
    exec::run_jobs(std::move(jobs), {ready->settings.jobs()}, clock,
                   [&](const exec::RunEvent& event) {
                       display.on_event(event);
                       if (const auto* job = std::get_if<exec::JobFinished>(&event))
                           display.module_done(*job, recorder.job_finished(*job));
                       else if (const auto* end = std::get_if<exec::RunFinished>(&event))
                           finished = *end;
                   });

    RunFacts facts = recorder.facts();
    facts.interrupted = finished.stopped && !facts.infrastructure;
    facts.unexpected = facts.unexpected || !finished.not_started.empty();
    const ExitCode code = exit_code(facts);
    const WallTime ended = clock.wall();
    const auto closed = store->finish_run(
        run.id, {ended, std::chrono::duration<double>(ended - started).count(), !finished.stopped,
                 static_cast<int>(code), recorder.mismatches().empty(), recorder.mismatches(),
                 finished.reason});
    if (!closed) return tl::unexpected(recorder.trouble().value_or(closed.error()));

    auto loaded = store->load_run(run.id);
    if (!loaded) return tl::unexpected(loaded.error());
    const auto model = reports::build_model(*loaded, {run.folder, run.folder});
    const auto files = reports::write_reports(model, run.folder,
                                              {reports::Format::markdown, reports::Format::json});
    if (!files) return tl::unexpected(files.error());
    point_latest(run);
    print_closing(model, run.folder / "report.md");
    if (recorder.trouble()) return tl::unexpected(*recorder.trouble());
    return code;
}

}  // namespace compat::app
