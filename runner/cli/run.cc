// `runner run`: runs a suite, or parts of it.
#include <algorithm>
#include <array>
#include <filesystem>

#include "runner/cli/commands.h"
#include "runner/cli/run_options.h"
#include "runner/run/run_suite.h"
#include "runner/run/shards/plan_shards.h"

namespace compat::cli {

using config::Setting;

namespace {

const std::vector<Setting> kRunSettings{
    Setting::jobs,          Setting::timeout,    Setting::test_timeout,    Setting::retries,
    Setting::results,       Setting::shim,       Setting::policy,          Setting::fallback,
    Setting::warm,          Setting::confirm,    Setting::python,          Setting::root,
    Setting::framework,     Setting::name,       Setting::progress,        Setting::color,
    Setting::simulate,      Setting::masquerade, Setting::default_device,  Setting::device_memory,
    Setting::macos,         Setting::keep_going, Setting::seeds,           Setting::diagnose,
    Setting::diagnose_time, Setting::device,     Setting::precision,       Setting::issue_text,
    Setting::expectations,  Setting::on,         Setting::slurm_partition, Setting::slurm_gres,
    Setting::slurm_time,    Setting::slurm_mem,  Setting::slurm_cpus,      Setting::slurm_shards,
    Setting::isolation,     Setting::network,    Setting::tmp_size,        Setting::nccl_bandwidth,
    Setting::nccl_latency,  Setting::mac_like,   Setting::start_method};

void add_options(CLI::App& app, run::RunRequest& request, config::Flags& flags) {
    auto* const suite = app.add_option("SUITE", request.suite, kSuiteHelp)->required();
    add_selection(app, request, flags);
    add_conditions(app, request);
    auto* const shard = app.add_option("--shard", request.shard,
                                       "run part I of N of the modules; with --plan: I alone")
                            ->type_name("I/N");
    app.add_option("--repeat", request.repeat,
                   "repeat the run N times and list tests whose result changed")
        ->type_name("N")
        ->check(CLI::Range(1, 1000));
    add_report_files(app, request.reports);
    add_no_issue_text(app, flags);
    app.add_flag("--dry-run", request.dry_run, "print the plan without running it");
    auto* const plan =
        app.add_option("--plan", request.plan,
                       "run shard I of the plan in FILE (`runner plan`), or continue it")
            ->type_name("FILE")
            ->needs(shard)
            ->each([suite](const std::string&) { suite->required(false); });
    // The plan says them.
    for (const char* option : {"SUITE", "TARGET", "-k", "--env", "--maxfail", "-x", "--order",
                               "--repeat", "--flaky-fails", "--fail-on"})
        plan->excludes(app.get_option(option));
}

Action add_run(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<run::RunRequest>();
    add_options(app, *request, invocation.flags);
    return exits_with_code([request, &invocation] {
        return request->plan.empty()
                   ? run::run_suite(*request, invocation)
                   : run::run_planned_shard(*request, invocation, parse_stored_command);
    });
}

}  // namespace

const std::vector<Setting>& run_settings() { return kRunSettings; }

void add_conditions(CLI::App& app, run::RunRequest& request) {
    app.add_option("--maxfail", request.maxfail, "stop after N failed tests")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000'000));
    app.add_flag_callback(
        "-x", [&request] { request.maxfail = 1; }, "stop at the first failure");
    app.add_option("--order", request.order,
                   "start modules longest-first, failed-first, as-listed or random:SEED "
                   "[longest-first]")
        ->type_name("ORDER");
    app.add_flag("--flaky-fails", request.flaky_fails, "fail if a test passes only when retried");
    app.add_option("--fail-on", request.fail_on,
                   "fail if a test has one of these marks: fallback, redirected, untouched")
        ->type_name("MARK,…")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember({"fallback", "redirected", "untouched"}));
}

void add_selection(CLI::App& app, run::RunRequest& request, config::Flags& flags) {
    app.add_option("TARGET", request.targets, kTargetHelp);
    app.add_option("-k", request.keyword,
                   "run only tests that match EXPR, in the framework's -k syntax")
        ->type_name("EXPR");
    app.add_option("--env", request.env, "set a variable for the tests; repeatable")
        ->type_name("K=V")
        ->take_all()
        ->allow_extra_args(false);
    app.add_flag_callback(
        "--no-warm", [&flags] { flags[Setting::warm] = "off"; }, "alias of --warm off");
    add_verbosity(app, request.verbosity);
}

void add_report_files(CLI::App& app, run::ExtraReports& extra) {
    struct Row {
        const char* flag;
        const char* help;
        reports::Format format;
    };
    constexpr std::array<Row, 3> kRows{{
        {"--html", "also write the HTML report to FILE", reports::Format::html},
        {"--junit", "also write JUnit XML to FILE", reports::Format::junit},
        {"--ctrf", "also write CTRF (JSON) to FILE", reports::Format::ctrf},
    }};
    for (const Row& row : kRows)
        app.add_option_function<std::string>(
               row.flag,
               [&extra, format = row.format](const std::string& file) {
                   extra.files.push_back({format, std::filesystem::absolute(file)});
               },
               row.help)
            ->type_name("FILE")
            // Before the run rather than after it.
            ->check([format = row.format](const std::string&) {
                const auto possible = reports::can_write(format);
                return possible ? std::string{} : to_line(possible.error());
            });
    app.add_flag("--github", extra.github,
                 "also annotate new failures on GitHub, and write the step's summary");
}

void add_no_issue_text(CLI::App& app, config::Flags& flags) {
    app.add_flag_callback(
        "--no-issue-text", [&flags] { flags[Setting::issue_text] = "off"; },
        "alias of --issue-text off");
}

Expected<run::StoredCommand> parse_stored_command(const std::vector<std::string>& argv) {
    run::StoredCommand stored;
    CLI::App app;
    add_options(app, stored.request, stored.flags);
    add_settings(app, kRunSettings, stored.flags);
    const auto dashes = std::find(argv.begin(), argv.end(), "--");
    if (dashes != argv.end()) stored.passed_on.assign(dashes + 1, argv.end());
    std::vector<std::string> words(argv.begin() + 1, dashes);  // without the program's name
    std::reverse(words.begin(), words.end());
    try {
        app.parse(words);
    } catch (const CLI::ParseError&) {
        return fail(ErrorKind::usage, "this runner cannot read that run's command line",
                    "run the suite again instead");
    }
    return stored;
}

Command run_command() {
    return {"run a suite, or parts of it", kRunSettings,
            "Examples:\n"
            "  runner suites/einops\n"
            "  runner suites/transformers --root ~/transformers utils\n"
            "  runner suites/gpytorch 'test/kernels/*' -k cuda -j4\n"
            "  runner ~/my-project tests -- --runslow      # arguments after -- go to pytest",
            add_run, true};
}

}  // namespace compat::cli
