// `runner run`: runs a suite, or parts of it.
#include <algorithm>
#include <array>

#include "runner/base/files/fs.h"
#include "runner/cli/commands.h"
#include "runner/cli/options/checks.h"
#include "runner/cli/options/help_format.h"
#include "runner/cli/options/run_options.h"
#include "runner/cluster/plan_shards.h"
#include "runner/cluster/run_on_slurm.h"
#include "runner/run/run_suite.h"

namespace compat::cli {

using config::Heading;

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
    Setting::nccl_latency,  Setting::mac_like,   Setting::start_method,    Setting::sanitize,
    Setting::hub,           Setting::hub_lock,   Setting::hub_max,
    Setting::torch_requirement};

void add_options(CLI::App& app, run::RunRequest& request, config::Flags& flags) {
    auto* const suite = app.add_option("SUITE", request.suite, kSuiteHelp)->required();
    add_selection(app, request, flags);
    add_conditions(app, request);
    auto* const shard = app.add_option("--shard", request.shard,
                                       "run part I of N of the modules; with --plan: I alone")
                            ->type_name("I/N");
    auto* const repeat =
        app.add_option("--repeat", request.repeat,
                       "repeat the run N times and list tests whose result changed")
            ->type_name("N")
            ->check(in_range(1, 1000));
    add_report_files(app, request.reports);
    add_no_issue_text(app, flags);
    auto* const dry_run =
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
    list_under(Heading::running, {repeat});
    list_under(Heading::selection, {dry_run});
    list_under(Heading::cluster, {shard, plan});
}

Action add_run(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<run::RunRequest>();
    add_options(app, *request, invocation.flags);
    return exits_with_code([request, &invocation] {
        return request->plan.empty()
                   ? run::run_suite(*request, invocation, cluster::run_here_or_there)
                   : cluster::run_planned_shard(*request, invocation, parse_stored_command);
    });
}

}  // namespace

const std::vector<Setting>& run_settings() { return kRunSettings; }

void add_conditions(CLI::App& app, run::RunRequest& request) {
    auto* const maxfail = app.add_option("--maxfail", request.maxfail, "stop after N failed tests")
                              ->type_name("N")
                              ->check(in_range(1, 1'000'000'000));
    auto* const first = app.add_flag_callback(
        "-x", [&request] { request.maxfail = 1; }, "stop at the first failure");
    auto* const order =
        app.add_option("--order", request.order,
                       "start modules longest-first, failed-first, as-listed or random:SEED "
                       "[longest-first]")
            ->type_name("ORDER");
    auto* const flaky = app.add_flag("--flaky-fails", request.flaky_fails,
                                     "fail if a test passes only when retried");
    auto* const marks =
        app.add_option(
               "--fail-on", request.fail_on,
               "fail if a test has one of these marks: fallback, race, redirected, untouched, "
               "generated")
            ->type_name("MARK,…")
            ->delimiter(',')
            ->allow_extra_args(false)
            ->check(one_of({"fallback", "race", "redirected", "untouched", "generated"}));
    list_under(Heading::running, {maxfail, first, order});
    list_under(Heading::verdict, {flaky, marks});
}

void add_selection(CLI::App& app, run::RunRequest& request, config::Flags& flags) {
    app.add_option("TARGET", request.targets, kTargetHelp);
    auto* const keyword = app.add_option("-k", request.keyword,
                                         "run only tests that match EXPR, in the framework's -k "
                                         "syntax")
                              ->type_name("EXPR");
    auto* const env =
        app.add_option("--env", request.env, "set a variable for the tests; repeatable")
            ->type_name("K=V")
            ->take_all()
            ->allow_extra_args(false);
    auto* const no_warm = app.add_flag_callback(
        "--no-warm", [&flags] { flags[Setting::warm] = "off"; }, "alias of --warm off");
    list_under(Heading::selection, {keyword});
    list_under(Heading::environment, {env});
    list_under(Heading::running, {no_warm});
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
    for (const Row& row : kRows) {
        auto* const file = app.add_option_function<std::string>(
            row.flag,
            [&extra, format = row.format](const std::string& name) {
                extra.files.push_back({format, fs::absolute(name)});
            },
            row.help);
        // Before the run rather than after it.
        file->type_name("FILE")->check([format = row.format](const std::string&) {
            const auto possible = reports::can_write(format);
            return possible ? std::string{} : to_line(possible.error());
        });
        list_under(Heading::output, {file});
    }
    auto* const github =
        app.add_flag("--github", extra.github,
                     "also annotate new failures on GitHub, and write the step's summary");
    list_under(Heading::output, {github});
}

void add_no_issue_text(CLI::App& app, config::Flags& flags) {
    auto* const none = app.add_flag_callback(
        "--no-issue-text", [&flags] { flags[Setting::issue_text] = "off"; },
        "alias of --issue-text off");
    list_under(Heading::output, {none});
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
