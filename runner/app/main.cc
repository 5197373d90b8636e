#include <csignal>
#include <cstring>
#include <exception>

#include "runner/app/commands.h"
#include "runner/app/display.h"
#include "runner/app/output.h"
#include "runner/app/pipeline.h"
#include "runner/exec/signals.h"

namespace {

using namespace compat;
using namespace compat::app;

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

bool runs_tests(const Invocation& invocation) {
    return std::holds_alternative<RunCommand>(invocation.command) ||
           std::holds_alternative<ResumeCommand>(invocation.command) ||
           std::holds_alternative<RerunCommand>(invocation.command) ||
           std::holds_alternative<PortingCommand>(invocation.command);
}

// What the process is to end with.
Expected<int> dispatch(const Invocation& invocation) {
    const auto status = [](const Expected<ExitCode>& code) {
        return code.map([](ExitCode c) { return static_cast<int>(c); });
    };
    return std::visit(
        Overloaded{[&](const RunCommand& c) { return status(run_suite(c, invocation)); },
                   [&](const ListCommand& c) { return status(list_suite(c, invocation)); },
                   [&](const PrepareCommand& c) { return status(prepare_suite(c, invocation)); },
                   [&](const ReportCommand& c) { return status(render_report(c, invocation)); },
                   [&](const RunsCommand&) { return status(list_runs(invocation)); },
                   [&](const ShowCommand& c) { return status(show(c, invocation)); },
                   [&](const ExecCommand& c) { return run_program(c, invocation); },
                   [&](const DoctorCommand& c) { return status(doctor(c, invocation)); },
                   [&](const ResumeCommand& c) { return status(resume_run(c, invocation)); },
                   [&](const RerunCommand& c) { return status(rerun(c, invocation)); },
                   [&](const MergeCommand& c) { return status(merge_shards(c, invocation)); },
                   [&](const ImportCommand& c) { return status(import_results(c, invocation)); },
                   [&](const ReparseCommand& c) { return status(reparse(c, invocation)); },
                   [&](const GapsCommand& c) { return status(gaps(c, invocation)); },
                   [&](const PortingCommand& c) { return status(porting(c, invocation)); }},
        invocation.command);
}

}  // namespace

int main(int argc, char** argv) {
    exec::ignore_what_would_end_us();
    // A parent that ignores its children's ends must not make us lose those of ours.
    std::signal(SIGCHLD, SIG_DFL);
    try {
        const auto parsed = parse_command_line(argc, argv);
        if (const int* code = std::get_if<int>(&parsed)) return *code;
        const auto& invocation = std::get<Invocation>(parsed);
        if (runs_tests(invocation) &&
            text_before_suite(invocation.flags, Setting::progress) == "json")
            keep_stdout_for_programs();
        const auto code = dispatch(invocation);
        if (!code) {
            print(stderr, "runner: {}\n", printable(to_line(code.error())));
            return static_cast<int>(exit_code_of(code.error().kind));
        }
        if (const int error = output_error()) {
            print(stderr, "runner: cannot write to stdout: {}\n", std::strerror(error));
            return static_cast<int>(ExitCode::infrastructure);
        }
        return *code;
    } catch (const std::exception& error) {
        // Ours to mend; still one line, and the code for what is not the suite's fault.
        print(stderr, "runner: internal error: {}\n", printable(error.what()));
        return static_cast<int>(ExitCode::infrastructure);
    }
}
