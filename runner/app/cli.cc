#include "runner/app/cli.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>

#include "parsers/foreign.h"
#include "runner/base/exit_code.h"
#include "runner/base/gap.h"
#include "runner/base/names.h"

namespace compat::app {

namespace {

constexpr std::array<std::string_view, 15> kCommands{
    "run",    "list",  "prepare", "report", "runs",   "show",    "exec",   "doctor",
    "resume", "rerun", "merge",   "gaps",   "import", "reparse", "porting"};

// `runner SUITE …` means `runner run SUITE …`; a suite folder named like a command is written
// ./list.
std::vector<std::string> with_command(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    const auto first = std::find_if(words.begin(), words.end(),
                                    [](const auto& word) { return !word.starts_with('-'); });
    const bool named = first != words.end() && first == words.begin() &&
                       std::find(kCommands.begin(), kCommands.end(), *first) != kCommands.end();
    const bool about =
        !words.empty() && (words[0] == "-h" || words[0] == "--help" || words[0] == "--version");
    if (!words.empty() && !named && !about) words.insert(words.begin(), "run");
    return words;
}

// What stands behind the first "--" of `exec` is another program's command line and none of ours.
std::vector<std::string> take_program(std::vector<std::string>& words) {
    if (words.empty() || words.front() != "exec") return {};
    const auto dashes = std::find(words.begin(), words.end(), "--");
    if (dashes == words.end()) return {};
    std::vector<std::string> program(dashes + 1, words.end());
    words.erase(dashes, words.end());
    return program;
}

// Which settings a command takes: a flag that a command would not use is an error there.
using Taken = std::vector<Setting>;
const Taken kOfExec{Setting::shim,     Setting::policy,   Setting::masquerade,
                    Setting::simulate, Setting::fallback, Setting::python};
const Taken kOfRun{Setting::jobs,      Setting::timeout,  Setting::test_timeout, Setting::retries,
                   Setting::results,   Setting::shim,     Setting::policy,       Setting::fallback,
                   Setting::warm,      Setting::python,   Setting::root,         Setting::framework,
                   Setting::name,      Setting::progress, Setting::color,        Setting::simulate,
                   Setting::masquerade};
// The columns say what is simulated, with which fallback, and where the shim is off.
const Taken kOfPorting{Setting::jobs,     Setting::timeout, Setting::test_timeout, Setting::retries,
                       Setting::results,  Setting::policy,  Setting::masquerade,   Setting::warm,
                       Setting::python,   Setting::root,    Setting::framework,    Setting::name,
                       Setting::progress, Setting::color};
// What may be said anew of a run that is gone on with, or run again in part.
const Taken kOfMore{Setting::jobs,    Setting::timeout,  Setting::test_timeout, Setting::retries,
                    Setting::results, Setting::progress, Setting::color,        Setting::warm};

void add_settings(CLI::App& app, const Taken& taken, std::map<Setting, std::string>& flags) {
    for (const auto& row : kSettings) {
        if (std::find(taken.begin(), taken.end(), row.setting) == taken.end()) continue;
        std::string help(row.help);
        if (!row.allowed.empty()) help += fmt::format(" ({})", row.allowed);
        app.add_option_function<std::string>(
               std::string(row.flag),
               [&flags, setting = row.setting](const std::string& text) { flags[setting] = text; },
               help)
            ->type_name("");
    }
}

// The usage line says where the program stands.
class ProgramUsage final : public CLI::Formatter {
  public:
    std::string make_usage(const CLI::App* /*app*/, std::string name) const override {
        return fmt::format("Usage: {} [OPTIONS] -- CMD...\n", name);
    }
};

// `before`: words in front of the "--" that no option took.
void check_program(const std::vector<std::string>& before,
                   const std::vector<std::string>& program) {
    if (!before.empty() && before.front().starts_with('-')) throw CLI::ExtrasError(before);
    if (!before.empty())
        throw CLI::ValidationError(fmt::format(
            "exec: the command stands after --: runner exec -- {}", fmt::join(before, " ")));
    if (program.empty())
        throw CLI::ValidationError(
            "exec: no command after --; for example: runner exec -- python train.py");
}

void add_gaps(CLI::App& app, GapsCommand& gaps, std::map<Setting, std::string>& flags) {
    using Action = GapsCommand::Action;
    const auto action = [&](const char* name, const char* help, Action what) {
        CLI::App* sub = app.add_subcommand(name, help);
        sub->callback([&gaps, what] { gaps.action = what; });
        add_settings(*sub, {Setting::results}, flags);
        return sub;
    };
    const auto add_filter = [&](CLI::App* sub) {
        sub->add_option("--kind", gaps.kind, fmt::format("{}", fmt::join(kGapKindNames, ", ")))
            ->type_name("")
            ->check(CLI::IsMember(
                std::vector<std::string>(kGapKindNames.begin(), kGapKindNames.end())));
        sub->add_option("--device", gaps.device, "mps, cuda, cpu")->type_name("");
    };
    const auto add_status = [&](CLI::App* sub) {
        std::vector<std::string> words(kGapStatusNames.begin(), kGapStatusNames.end());
        words.emplace_back("all");
        sub->add_option("--status", gaps.status, fmt::format("{}", fmt::join(words, ", ")))
            ->type_name("")
            ->check(CLI::IsMember(words))
            ->capture_default_str();
    };
    auto* scan = action("scan", "find gaps in the API and the operators of a torch", Action::scan);
    scan->add_option("SUITE", gaps.suite, "the suite whose environment's torch is meant");
    add_settings(*scan, {Setting::python, Setting::root}, flags);
    scan->footer(
        "Examples:\n  runner gaps scan suites/gpytorch\n  runner gaps scan --python "
        ".venv/bin/python");
    auto* list =
        action("list", "gaps, those first that block most tests by themselves", Action::list);
    add_filter(list);
    add_status(list);
    list->add_option("-n", gaps.limit, "so many")->type_name("N")->capture_default_str();
    list->add_flag("--all", gaps.all, "all of them");
    list->add_flag("--json", gaps.json, "for programs");
    auto* show = action("show", "one gap, and where it is met", Action::show);
    show->add_option("SYMBOL", gaps.symbol, "as `gaps list` prints it")->required();
    add_filter(show);
    auto* set = action("set", "say by hand what no scan and no run overrules", Action::set);
    set->add_option("SYMBOL", gaps.symbol, "as `gaps list` prints it")->required();
    set->add_option("FIELD=VALUE", gaps.values,
                    "status, severity, action, equivalent, description, issue")
        ->required();
    add_filter(set);
    set->footer(
        "Example:\n  runner gaps set aten::_fft_r2c status=upstream "
        "issue=https://github.com/pytorch/pytorch/issues/1");
    auto* write = action("export", "the list as Markdown or JSON", Action::write);
    add_filter(write);
    add_status(write);
    write->add_flag("--json", gaps.json, "JSON instead of Markdown");
    write->add_option("--out", gaps.out, "a file instead of stdout")->type_name("FILE");
}

}  // namespace

std::variant<Invocation, int> parse_command_line(int argc, char** argv) {
    Invocation invocation;
    invocation.argv.assign(argv, argv + argc);
    auto& flags = invocation.flags;

    CLI::App app("Runs an outside project's tests with device redirection and reports what works.",
                 "runner");
    app.set_version_flag("--version", fmt::format("runner {}", kVersion));
    app.require_subcommand(1);
    app.footer(
        "`runner SUITE [TARGET…]` is short for `runner run SUITE [TARGET…]`.\n"
        "Exit codes: 0 as expected, 1 unexpected results, 2 usage or environment, 3 tests "
        "unaccounted\n"
        "for, 4 infrastructure, 5 nothing selected, 130 interrupted.");

    RunCommand run;
    ListCommand list;
    PrepareCommand prepare;
    ReportCommand report;
    ShowCommand show;
    ExecCommand exec;
    DoctorCommand doctor;
    ResumeCommand resume;
    RerunCommand rerun;
    MergeCommand merge;
    ImportCommand import;
    ReparseCommand reparse;
    GapsCommand gaps;
    PortingCommand porting;
    bool quiet = false, verbose = false;

    const char* suite_help =
        "folder with suite.json, a shipped suite's name, or any project's folder";
    const char* target_help =
        "folder, file, glob, dotted module, group, or path::Class::test; none: the whole suite";

    auto* run_app = app.add_subcommand("run", "run a suite, or the parts of it that are named");
    run_app->add_option("SUITE", run.suite, suite_help)->required();
    const auto add_what_to_run = [&](CLI::App* to, RunCommand& what) {
        to->add_option("TARGET", what.targets, target_help);
        to->add_option("-k", what.keyword,
                       "only tests whose names match, as the framework's own -k")
            ->type_name("EXPR");
        to->add_option("--env", what.env, "variable for the children; may be repeated")
            ->type_name("K=V")
            ->take_all()
            ->allow_extra_args(false);
        to->add_flag_callback(
            "--no-warm", [&flags] { flags[Setting::warm] = "off"; }, "the same as --warm off");
        to->add_flag("-q,--quiet", quiet, "only the closing lines");
        to->add_flag("-v,--verbose", verbose, "also every skip and every failure");
    };
    add_what_to_run(run_app, run);
    run_app->add_option("--maxfail", run.maxfail, "stop after this many failed tests")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000'000));
    run_app->add_flag_callback(
        "-x", [&run] { run.maxfail = 1; }, "stop after the first");
    run_app->add_option("--shard", run.shard, "this part of the modules: 2/5 is the second of five")
        ->type_name("I/N");
    run_app
        ->add_option("--order", run.order,
                     "longest-first (default), failed-first, as-listed or random:SEED")
        ->type_name("");
    run_app->add_option("--repeat", run.repeat, "run it so often and name the tests that differ")
        ->type_name("N")
        ->check(CLI::Range(1, 1000));
    run_app->add_flag("--flaky-fails", run.flaky_fails,
                      "tests that passed only when tried again fail the run");
    run_app->add_flag("--dry-run", run.dry_run, "print the plan and run nothing");
    add_settings(*run_app, kOfRun, flags);
    run_app->footer(
        "Examples:\n"
        "  runner suites/einops\n"
        "  runner suites/transformers --root ~/transformers utils "
        "generation/test_logits_process.py\n"
        "  runner suites/gpytorch 'test/kernels/*' -k cuda -j4");

    auto* list_app = app.add_subcommand("list", "print modules or test cases; runs no test");
    list_app->add_option("SUITE", list.suite, suite_help)->required();
    list_app->add_option("TARGET", list.targets, target_help);
    list_app->add_option("-k", list.keyword, "with --cases: only tests whose names match")
        ->type_name("EXPR");
    list_app->add_flag("--cases", list.cases, "collect each module and print its test cases");
    list_app->add_flag("--json", list.json, "as JSON");
    add_settings(*list_app,
                 {Setting::jobs, Setting::timeout, Setting::shim, Setting::python, Setting::root,
                  Setting::framework},
                 flags);
    list_app->footer(
        "Examples:\n  runner list suites/einops\n  runner list --cases --json suites/einops "
        "test_ops.py");

    auto* prepare_app = app.add_subcommand("prepare", "get source and environment, build the shim");
    prepare_app->add_option("SUITE", prepare.suite, suite_help)->required();
    add_settings(*prepare_app, {Setting::shim, Setting::python, Setting::root, Setting::framework},
                 flags);
    prepare_app->footer("Example:\n  runner prepare suites/gpytorch");

    auto* report_app = app.add_subcommand("report", "render a stored run again");
    report_app->add_option("RUN", report.run, "id, unique prefix, latest, latest~1, SUITE@latest")
        ->capture_default_str();
    report_app->add_option("--format", report.formats, "md, json, or both")->capture_default_str();
    report_app->add_option("--out", report.out, "folder for the files (the run's own)")
        ->type_name("DIR");
    report_app->add_option("--max-bytes", report.max_bytes, "bound on the Markdown report")
        ->type_name("N")
        ->capture_default_str();
    add_settings(*report_app, {Setting::results}, flags);
    report_app->footer("Example:\n  runner report einops@latest --format md --max-bytes 1000000");

    auto* runs_app = app.add_subcommand("runs", "list stored runs, newest first");
    add_settings(*runs_app, {Setting::results}, flags);

    auto* resume_app = app.add_subcommand("resume", "go on with a run that was interrupted");
    resume_app->add_option("RUN", resume.run, "id, unique prefix, latest, latest~1, SUITE@latest")
        ->capture_default_str();
    resume_app->add_flag("-q,--quiet", quiet, "only the closing lines");
    resume_app->add_flag("-v,--verbose", verbose, "also every skip and every failure");
    add_settings(*resume_app, kOfMore, flags);
    resume_app->footer("Example:\n  runner resume einops@latest");

    auto* rerun_app = app.add_subcommand("rerun", "run a part of a stored run again, as a new run");
    rerun_app->add_option("RUN", rerun.run, "id, unique prefix, latest, latest~1, SUITE@latest")
        ->capture_default_str();
    rerun_app->add_flag("--failed", rerun.failed,
                        "tests that failed, errored, crashed or timed out");
    rerun_app->add_flag("--flaky", rerun.flaky, "tests whose attempts differ");
    rerun_app->add_flag("--not-run", rerun.not_run, "tests and modules that did not run");
    rerun_app->add_flag("-q,--quiet", quiet, "only the closing lines");
    rerun_app->add_flag("-v,--verbose", verbose, "also every skip and every failure");
    add_settings(*rerun_app, kOfMore, flags);
    rerun_app->footer("Example:\n  runner rerun gpytorch@latest --failed --not-run");

    auto* merge_app =
        app.add_subcommand("merge", "join the shards of a run that lie in several databases");
    merge_app->add_option("DB", merge.databases, "results folders, or the runner.db in them")
        ->required();
    add_settings(*merge_app, {Setting::results}, flags);
    merge_app->footer("Example:\n  runner merge shard-*/results --results merged");

    auto* import_app =
        app.add_subcommand("import", "store results that others made as a run like any other");
    import_app->add_option("FILE", import.files, "files, folders of them, or - for stdin")
        ->required();
    import_app->add_option("--suite", import.suite, "the suite whose results they are")
        ->type_name("NAME")
        ->capture_default_str();
    import_app
        ->add_option(
            "--dialect", import.dialect,
            fmt::format("instead of recognising it: {}", fmt::join(parsers::kDialectNames, ", ")))
        ->type_name("");
    import_app
        ->add_option("--device", import.device, "the device they were made on: mps, cuda, cpu")
        ->type_name("NAME")
        ->capture_default_str();
    import_app->add_option("--torch", import.torch, "the version of torch they were made with")
        ->type_name("VERSION");
    import_app
        ->add_option("--stdin-name", import.stdin_name, "what the file that - reads is called")
        ->type_name("NAME")
        ->capture_default_str();
    add_settings(*import_app, {Setting::results, Setting::name, Setting::root}, flags);
    import_app->footer(
        "Example:\n  runner import target/surefire-reports ci.log --suite theirs --device mps");

    auto* reparse_app = app.add_subcommand(
        "reparse", "read a run's files again and say which verdicts differ from the stored ones");
    auto* one =
        reparse_app->add_option("RUN", reparse.run, "id, unique prefix, latest, SUITE@latest")
            ->capture_default_str();
    auto* apply = reparse_app->add_flag("--apply", reparse.apply, "store what was read");
    auto* text =
        reparse_app->add_flag("--text", reparse.text, "by the logs' text alone, without the events")
            ->excludes(apply);
    reparse_app
        ->add_flag(
            "--all", reparse.all,
            "make the database anew from the folders of all runs: where it is damaged or gone")
        ->excludes(one)
        ->excludes(apply)
        ->excludes(text);
    add_settings(*reparse_app, {Setting::results}, flags);

    auto* show_app = app.add_subcommand("show", "one run's results, or one test's history");
    show_app->add_option("RUN|TEST", show.what, "a run as for report, or path::Class::test")
        ->required();
    add_settings(*show_app, {Setting::results}, flags);
    show_app->footer(
        "Examples:\n  runner show latest\n  runner show "
        "'einops/tests/test_ops.py::test_rearrange_errors'");

    auto* exec_app =
        app.add_subcommand("exec", "run a program of your own under the same redirection");
    exec_app->add_option("--env", exec.env, "variable for the program; may be repeated")
        ->type_name("K=V")
        ->take_all()
        ->allow_extra_args(false);
    exec_app->add_option("--record", exec.record, "where the record goes (a temporary file)")
        ->type_name("FILE");
    exec_app->add_flag("-q,--quiet", exec.quiet, "no report at the end");
    add_settings(*exec_app, kOfExec, flags);
    // So that we, and not the parser, say what is missing where a command stands without its "--".
    exec_app->prefix_command();
    exec_app->formatter(std::make_shared<ProgramUsage>());
    exec_app->footer(
        "The program's command line stands after --; the exit status is the program's own.\n"
        "Examples:\n"
        "  runner exec -- python train.py --epochs 1\n"
        "  runner exec --policy full --record train.jsonl -- torchrun --nproc-per-node 2 train.py\n"
        "  runner exec --python ~/my-project/.venv/bin/python -- pytest -k cuda");

    auto* gaps_app = app.add_subcommand(
        "gaps", "what code for CUDA wants and a device does not have, and what to fix first");
    gaps_app->require_subcommand(1);
    add_gaps(*gaps_app, gaps, flags);

    auto* porting_app = app.add_subcommand(
        "porting",
        "run a suite on plain CPU and on simulated CUDA and MPS, and say what to fix first");
    auto* ported = porting_app->add_option("SUITE", porting.run.suite, suite_help);
    add_what_to_run(porting_app, porting.run);
    porting_app
        ->add_option("--runs", porting.runs,
                     "compare stored runs instead: their names, as for report")
        ->type_name("RUN,RUN,…")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->excludes(ported);
    porting_app->add_option("--out", porting.out, "folder for the page (one below the results)")
        ->type_name("DIR");
    add_settings(*porting_app, kOfPorting, flags);
    porting_app->footer(
        "Four runs, one after the other: plain CPU with the shim off, simulated CUDA, simulated "
        "MPS "
        "with\nfallback and without. What fails is tried again once, unless --retries says "
        "otherwise.\n{device} in a value of --env is cpu, cuda or mps.\n"
        "Examples:\n"
        "  runner porting suites/einops\n"
        "  runner porting ~/my-project --python ~/my-project/.venv/bin/python tests -k 'not slow'\n"
        "  runner porting --runs einops@latest~3,einops@latest~2,einops@latest~1,einops@latest");

    auto* doctor_app =
        app.add_subcommand("doctor", "check what the runner needs; print every setting's origin");
    doctor_app->add_option("SUITE", doctor.suite, "also check what this suite needs");
    add_settings(*doctor_app, kOfRun, flags);

    try {
        auto words = with_command(argc, argv);
        exec.words = take_program(words);
        std::reverse(words.begin(), words.end());
        app.parse(words);
        if (porting_app->parsed() && porting.run.suite.empty() && porting.runs.empty())
            throw CLI::RequiredError("SUITE or --runs");
        if (exec_app->parsed()) check_program(exec_app->remaining(), exec.words);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);
        app.exit(error);
        return static_cast<int>(ExitCode::usage);
    }

    run.verbosity = resume.verbosity = rerun.verbosity = porting.run.verbosity = quiet     ? -1
                                                                                 : verbose ? 1
                                                                                           : 0;
    if (run_app->parsed()) invocation.command = run;
    if (list_app->parsed()) invocation.command = list;
    if (prepare_app->parsed()) invocation.command = prepare;
    if (report_app->parsed()) invocation.command = report;
    if (runs_app->parsed()) invocation.command = RunsCommand{};
    if (show_app->parsed()) invocation.command = show;
    if (exec_app->parsed()) invocation.command = exec;
    if (doctor_app->parsed()) invocation.command = doctor;
    if (resume_app->parsed()) invocation.command = resume;
    if (rerun_app->parsed()) invocation.command = rerun;
    if (merge_app->parsed()) invocation.command = merge;
    if (import_app->parsed()) invocation.command = import;
    if (reparse_app->parsed()) invocation.command = reparse;
    if (gaps_app->parsed()) invocation.command = gaps;
    if (porting_app->parsed()) invocation.command = porting;
    return invocation;
}

}  // namespace compat::app
