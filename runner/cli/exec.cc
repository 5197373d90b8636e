// `runner exec -- CMD…`: a program of the user's own under the same redirection as a suite's
// children, with the terminal to itself.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/help_format.h"
#include "runner/display/output.h"
#include "runner/display/program_report.h"
#include "runner/exec/attached.h"
#include "runner/prepare/program.h"
#include "runner/prepare/share.h"
#include "runner/run/fingerprint.h"
#include "runner/run/variables.h"

namespace compat::cli {

namespace fs = std::filesystem;
using config::Setting;
using display::print;

namespace {

struct ExecRequest {
    std::vector<std::string> words;  // the program's command line, never empty
    std::vector<std::string> env;    // "K=V"
    std::string record;              // empty: a temporary file
    bool quiet = false;
};

// As a shell reports a command that a signal ended.
constexpr int kSignalStatus = 128;

struct Program {
    fs::path file;
    std::string python;     // the Python that the shim is for
    std::string unwatched;  // why there is no shim; empty: there is one
    plan::ChildSettings child;
};

std::string value_of(const plan::Variables& variables, std::string_view name) {
    for (const auto& [key, value] : variables)
        if (key == name) return value;
    return {};
}

// Which Python it is decides for which torch the shim is built; no torch is no reason not to run.
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

// All that must be known and made before it starts.
Expected<Program> prepare_program(const ExecRequest& request, const config::Invocation& invocation,
                                  const prepare::Say& say) {
    const auto share = prepare::find_share();
    if (!share) return tl::unexpected(share.error());
    const auto settings = config::Settings::resolve(invocation, nullptr);
    if (!settings) return tl::unexpected(settings.error());
    auto from_user = run::parse_variables(request.env);
    if (!from_user) return tl::unexpected(from_user.error());

    Program program;
    auto& child = program.child;
    child.activation = share->shim / "python" / "activate";
    child.policy = settings->text(Setting::policy);
    child.masquerade = settings->masquerades();
    child.simulate = settings->simulated();
    child.fallback = settings->on(Setting::fallback);
    child.threads = 0;  // how many processes share the cores is the program's matter
    child.inherited = run::inherited_environment();
    child.from_user = std::move(*from_user);
    std::optional<prepare::Environment> given;
    if (const auto& python = settings->text(Setting::python); !python.empty()) {
        auto environment = prepare::probe(python, *share, plan::program_variables(child, {}));
        if (!environment) return tl::unexpected(environment.error());
        child.python = environment->python;
        given = std::move(*environment);
    }
    const auto env = plan::program_variables(child, {});
    auto file = prepare::find_command(request.words.front(), value_of(env, "PATH"));
    if (!file) return tl::unexpected(file.error());
    program.file = std::move(*file);
    if (!settings->on(Setting::shim)) {
        program.unwatched = "the shim was off";
        return program;
    }
    const prepare::Cache cache(settings->text(Setting::cache));
    return add_shim(program, given, env, *share, cache, say).map([&] { return program; });
}

// Whether a file of this name may be written over: none is there, or an older record.
bool may_write_over(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error) || fs::file_size(path, error) == 0) return true;
    constexpr std::string_view kBeginning = R"({"event")";
    return read_file(path).value_or("").starts_with(kBeginning);
}

// The file for the record, there and empty: `name`, or where that is empty a new one among the
// system's temporary files.
Expected<fs::path> open_record(const std::string& name) {
    std::error_code error;
    constexpr std::string_view kEnding = ".devices.jsonl";
    fs::path path = fs::absolute(name, error);
    if (!name.empty() && !may_write_over(path))
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

int status_of(const ProcessEnd& end) {
    if (end.kind == ProcessEnd::Kind::exited) return end.code;
    if (end.kind == ProcessEnd::Kind::signaled) return kSignalStatus + end.code;
    return static_cast<int>(ExitCode::infrastructure);
}

std::string words_of(const std::vector<std::string>& words) {
    std::vector<std::string> quoted;
    for (const auto& word : words) quoted.push_back(shell_quoted(word));
    return fmt::format("{}", fmt::join(quoted, " "));
}

Expected<int> run_program(const ExecRequest& request, const config::Invocation& invocation) {
    const auto say = [&](std::string_view line) {
        if (!request.quiet) print(stderr, "runner: {}\n", printable(line));
    };
    auto program = prepare_program(request, invocation, say);
    if (!program) return tl::unexpected(program.error());

    display::ProgramRun run;
    const bool recorded = program->unwatched.empty();
    // Without a report nobody would be told of a file of our own choosing.
    if (!request.record.empty() || (recorded && !request.quiet)) {
        auto record = open_record(request.record);
        if (!record) return tl::unexpected(record.error());
        run.record = std::move(*record);
    }
    // Before it runs for hours.
    if (!recorded && !program->python.empty())
        say(fmt::format("nothing will be redirected: {}", program->unwatched));
    std::error_code error;
    run.cwd = fs::current_path(error);
    const SystemClock clock;
    const SteadyTime begun = clock.steady();
    auto end = exec::run_attached({program->file,
                                   {request.words.begin() + 1, request.words.end()},
                                   plan::program_variables(program->child, run.record)});
    const std::string text = read_file(run.record).value_or("");
    // An empty file of our own is none.
    if (request.record.empty() && text.empty() && !run.record.empty()) {
        fs::remove(run.record, error);
        run.record.clear();
    }
    if (!end) return tl::unexpected(end.error());
    if (!request.quiet) {
        run.command = words_of(run::masked(request.words));
        run.end = *end;
        run.took = clock.steady() - begun;
        run.unwatched = program->unwatched;
        run.python = program->python;
        print(stderr, "{}", display::program_report(run, parsers::parse_devices(text)));
    }
    return status_of(*end);
}

// The usage line says where the program stands.
class ProgramUsage final : public HelpFormat {
  public:
    std::string make_usage(const CLI::App* /*app*/, std::string name) const override {
        return fmt::format("Usage: {} [OPTIONS] [--] CMD...\n", name);
    }
};

// Options end at the program's name, or at "--"; a later "--" is the program's own. `words`: what
// no option of ours took.
Expected<std::vector<std::string>> program_of(std::vector<std::string> words,
                                              const config::Invocation& invocation) {
    if (!words.empty() && words.front().starts_with('-'))
        return fail(ErrorKind::usage, fmt::format("exec: unknown option {}", words.front()),
                    "put -- before the program: `runner exec --help` lists the options");
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
    // Stops at the first word that is no option of ours: the program's name.
    app.prefix_command();
    app.formatter(std::make_shared<ProgramUsage>());
    // The parser does not live as long as the action.
    app.callback([request, &app] { request->words = app.remaining(); });
    return [request, &invocation]() -> Expected<int> {
        auto words = program_of(std::move(request->words), invocation);
        if (!words) return tl::unexpected(words.error());
        request->words = std::move(*words);
        return run_program(*request, invocation);
    };
}

}  // namespace

Command exec_command() {
    return {"run a program with device redirection",
            {Setting::shim, Setting::policy, Setting::masquerade, Setting::simulate,
             Setting::fallback, Setting::python},
            "The exit status is the program's own. The runner's options stand before it.\n"
            "Examples:\n"
            "  runner exec -- python train.py --epochs 1\n"
            "  runner exec --policy full --record train.jsonl -- torchrun train.py\n"
            "  runner exec --python .venv/bin/python -- pytest -k cuda",
            add_exec,
            true};
}

}  // namespace compat::cli
