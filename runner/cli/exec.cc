// `runner exec -- CMD…`: runs a program with the redirection that test processes get. The program
// owns the terminal.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <tuple>

#include "runner/archive/attempt_files.h"
#include "runner/base/names.h"
#include "runner/base/nearest.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/options/help_format.h"
#include "runner/display/output.h"
#include "runner/display/program_report.h"
#include "runner/display/scan/scan_report.h"
#include "runner/exec/attached.h"
#include "runner/prepare/program.h"
#include "runner/prepare/share.h"
#include "runner/run/devices/device_choice.h"
#include "runner/run/fingerprint.h"
#include "runner/run/ready.h"
#include "runner/run/reporting/reporting.h"
#include "runner/run/variables.h"
#include "runner/scan/scan_program.h"

namespace compat::cli {

namespace {

struct ExecRequest {
    std::vector<std::string> words;      // the program's command line, never empty
    std::vector<std::string> options{};  // names of all options of `exec`
    std::vector<std::string> env;        // "K=V"
    std::string record;                  // empty: a temporary file
    bool quiet = false;
};

// Shells report a command that a signal ended as 128 plus the signal.
constexpr int kSignalStatus = 128;

struct Program {
    fs::path file;
    std::string python;     // the Python that the shim is for
    std::string unwatched;  // why there is no shim; empty: there is one
    plan::ChildSettings child;
    analysis::CollectiveLink link;  // of the report's model
};

std::string value_of(const plan::Variables& variables, std::string_view name) {
    for (const auto& [key, value] : variables)
        if (key == name) return value;
    return {};
}

// The shim is built for the torch of the program's Python. Without torch the program runs
// unshimmed.
Expected<void> add_shim(Program& program, const std::optional<prepare::Environment>& given,
                        const plan::Variables& env, const prepare::Share& share,
                        const prepare::Cache& cache, const prepare::Say& say) {
    const auto leave = [&](std::string why) -> Expected<void> {
        program.unwatched = std::move(why);
        return {};
    };
    prepare::Environment environment;
    if (given) {
        environment = *given;
    } else {
        const fs::path python =
            prepare::python_of(program.file, value_of(env, "PATH"), value_of(env, "VIRTUAL_ENV"));
        if (python.empty()) return leave("no Python is on the PATH; name one with --python");
        auto found = prepare::probe(python, share, env);
        if (!found) return leave(to_line(found.error()));
        environment = std::move(*found);
    }
    program.python = environment.python;
    if (environment.torch_version.empty())
        return leave(fmt::format("{} (Python {}) has no torch; name another with --python",
                                 program.python, environment.version));
    return prepare::get_shim(environment, share, cache, say).map([&](fs::path library) {
        program.child.shim_library = std::move(library);
    });
}

Expected<Program> prepare_program(const ExecRequest& request, const config::Invocation& invocation,
                                  const prepare::Say& say) {
    const auto share = TRY(prepare::find_share());
    const auto settings = TRY(config::Settings::resolve(invocation, nullptr));
    auto from_user = TRY(run::parse_variables(request.env));

    Program program;
    program.link = run::link_of(settings);
    auto& child = program.child;
    child.activation = share.shim / "python" / "activate";
    run::take_device_settings(child, settings);
    child.device_library = run::device_library_variables(settings);
    if (const auto& device = settings[Setting::device]; device.source != config::Source::fallback)
        child.device_library.emplace_back(plan::kDeviceVariable, device.text);
    child.threads = 0;  // the program decides how many processes share the cores
    child.inherited = run::inherited_environment();
    child.from_user = std::move(from_user);
    std::optional<prepare::Environment> given;
    if (const auto& python = settings.text(Setting::python); !python.empty()) {
        auto environment = TRY(prepare::probe(python, share, plan::program_variables(child, {})));
        child.python = environment.python;
        given = std::move(environment);
    }
    const auto env = plan::program_variables(child, {});
    program.file = TRY(prepare::find_command(request.words.front(), value_of(env, "PATH")));
    if (!settings.on(Setting::shim)) {
        if (!child.simulate.empty())
            return fail(ErrorKind::usage, "simulated devices need the shim, and it is off",
                        "leave --shim on", settings[Setting::simulate].origin);
        program.unwatched = "the shim was off";
        return program;
    }
    const prepare::Cache cache(settings.text(Setting::cache));
    return add_shim(program, given, env, share, cache, say).map([&] { return program; });
}

// A user's own file is never overwritten; an older record and an empty file are.
bool may_overwrite(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error) || fs::file_size(path, error) == 0) return true;
    constexpr std::string_view kBeginning = R"({"event")";
    std::string beginning(kBeginning.size(), '\0');
    std::ifstream(path, std::ios::binary)
        .read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
    return beginning == kBeginning;
}

// Creates or empties the record's file; without a name, a new temporary file.
Expected<fs::path> open_record(const std::string& name) {
    std::error_code error;
    constexpr std::string_view kEnding = ".devices.jsonl";
    fs::path path = fs::absolute(name, error);
    if (!name.empty() && !may_overwrite(path))
        return fail(ErrorKind::usage, "this file exists and is not a device record",
                    "name another with --record", path.string());
    std::string pattern =
        (fs::temp_directory_path(error) / "runner-exec-XXXXXX").string() + std::string(kEnding);
    const int fd = name.empty()
                       ? ::mkostemps(pattern.data(), static_cast<int>(kEnding.size()), O_CLOEXEC)
                       : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (name.empty()) path = pattern;
    if (fd < 0)
        return fail(ErrorKind::io, fmt::format("cannot write the record: {}", std::strerror(errno)),
                    name.empty() ? "set TMPDIR to a folder that can be written"
                                 : "name another file with --record",
                    path.string());
    ::close(fd);
    return path;
}

// Sums the events of each place while it reads: memory grows with the places, not with the file.
parsers::DevicesResult read_record(const fs::path& record) {
    if (record.empty()) return {};
    using Place = std::tuple<std::string, std::string, std::string, std::string, std::string,
                             std::string, int>;
    std::map<Place, std::int64_t> counts;
    auto result = parsers::parse_devices(
        archive::lines_of(FileBelow::followed(record), std::numeric_limits<std::uint64_t>::max()),
        [&](const parsers::DeviceEvent& event) {
            counts[{event.kind, event.op, event.from, event.to, event.message, event.location.file,
                    event.location.line}] += event.count;
        });
    for (const auto& [place, count] : counts) {
        const auto& [kind, op, from, to, message, file, line] = place;
        result.events.push_back({"", kind, op, from, to, {file, line}, count, message});
    }
    return result;
}

int status_of(const ProcessEnd& end) {
    if (end.kind == ProcessEnd::Kind::exited) return end.code;
    if (end.kind == ProcessEnd::Kind::signaled) return kSignalStatus + end.code;
    return static_cast<int>(ExitCode::infrastructure);
}

Expected<int> run_program(const ExecRequest& request, const config::Invocation& invocation) {
    const auto say = [&](std::string_view line) {
        if (!request.quiet) print(stderr, "runner: {}\n", printable(line));
    };
    auto program = TRY(prepare_program(request, invocation, say));

    display::ProgramRun run;
    const bool recorded = program.unwatched.empty();
    // Only the report names a temporary file.
    if (!request.record.empty() || (recorded && !request.quiet))
        run.record = TRY(open_record(request.record));
    // Said now, because the program may run for hours.
    if (!recorded && !program.python.empty())
        say(fmt::format("nothing will be redirected: {}", program.unwatched));
    std::error_code error;
    run.cwd = fs::current_path(error);
    const SystemClock clock;
    const SteadyTime begun = clock.steady();
    auto end = exec::run_attached({program.file,
                                   {request.words.begin() + 1, request.words.end()},
                                   plan::program_variables(program.child, run.record)});
    // An empty temporary file says nothing.
    const auto bytes = run.record.empty() ? 0 : fs::file_size(run.record, error);
    if (request.record.empty() && (error || bytes == 0)) {
        fs::remove(run.record, error);
        run.record.clear();
    }
    if (!end) return tl::unexpected(end.error());
    if (!request.quiet) {
        run.command = shell_quoted(run::masked(request.words));
        run.end = *end;
        run.took = clock.steady() - begun;
        run.unwatched = program.unwatched;
        run.python = program.python;
        run.link = program.link;
        const auto record = read_record(run.record);
        if (record.with_torch > 0)
            if (const auto scan =
                    scan::scan_program({request.words, run.cwd, program.python}, record))
                run.scan = display::describe_scan(*scan);
        print(stderr, "{}", display::program_report(run, record));
    }
    return status_of(*end);
}

class ProgramUsage final : public HelpFormat {
  public:
    std::string make_usage(const CLI::App* /*app*/, std::string name) const override {
        return fmt::format("Usage: {} [OPTIONS] [--] CMD...\n", name);
    }
};

// Options end at the program's name or at "--"; a later "--" is the program's own. `words` are
// those that no option took.
Expected<std::vector<std::string>> program_of(std::vector<std::string> words,
                                              const std::vector<std::string>& options,
                                              const config::Invocation& invocation) {
    if (!words.empty() && words.front().starts_with('-')) {
        const std::string guess = did_you_mean(nearest(words.front(), options, 1));
        return fail(ErrorKind::usage, fmt::format("exec: unknown option {}", words.front()),
                    !guess.empty() ? guess
                    : invocation.passed_on.empty()
                        ? "put -- before the program: `runner exec --help` lists the options"
                        : "`runner exec --help` lists the options");
    }
    if (!words.empty() && !invocation.passed_on.empty()) words.emplace_back("--");
    words.insert(words.end(), invocation.passed_on.begin(), invocation.passed_on.end());
    if (words.empty())
        return fail(ErrorKind::usage, "exec: no command",
                    "name a program, for example: runner exec -- python train.py");
    return words;
}

Action add_exec(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<ExecRequest>();
    app.add_option("--env", request->env, "set a variable for the program; repeatable")
        ->type_name("K=V")
        ->take_all()
        ->allow_extra_args(false);
    app.add_option("--record", request->record,
                   "write the device record to FILE [a temporary file]")
        ->type_name("FILE");
    app.add_flag("-q,--quiet", request->quiet, "print no report at the end");
    // Parsing stops at the first word that is no option: the program's name.
    app.prefix_command();
    app.formatter(std::make_shared<ProgramUsage>());
    // The action outlives the parser.
    app.callback([request, &app] {
        request->words = app.remaining();
        for (const auto* option : app.get_options())
            for (const auto& name : option->get_lnames()) request->options.push_back("--" + name);
    });
    return [request, &invocation]() -> Expected<int> {
        request->words = TRY(program_of(std::move(request->words), request->options, invocation));
        return run_program(*request, invocation);
    };
}

}  // namespace

Command exec_command() {
    return {"run a program with device redirection",
            {Setting::shim, Setting::policy, Setting::masquerade, Setting::simulate,
             Setting::default_device, Setting::device_memory, Setting::macos, Setting::start_method,
             Setting::mac_like, Setting::sanitize, Setting::keep_going, Setting::fallback,
             Setting::nccl_bandwidth, Setting::nccl_latency, Setting::python},
            "Put the runner's options before the program. The exit status is the program's.\n"
            "Examples:\n"
            "  runner exec -- python train.py --epochs 1\n"
            "  runner exec --policy full --record train.jsonl -- torchrun train.py\n"
            "  runner exec --python .venv/bin/python -- pytest -k cuda",
            add_exec,
            true};
}

}  // namespace compat::cli
