// Every command but `run` (pipeline.h).
#pragma once

#include "runner/app/cli.h"
#include "runner/base/error.h"
#include "runner/base/exit_code.h"

namespace compat::app {

[[nodiscard]] Expected<ExitCode> list_suite(const ListCommand& command,
                                            const Invocation& invocation);
[[nodiscard]] Expected<ExitCode> prepare_suite(const PrepareCommand& command,
                                               const Invocation& invocation);
[[nodiscard]] Expected<ExitCode> render_report(const ReportCommand& command,
                                               const Invocation& invocation);
[[nodiscard]] Expected<ExitCode> list_runs(const Invocation& invocation);
[[nodiscard]] Expected<ExitCode> show(const ShowCommand& command, const Invocation& invocation);
// The status is the program's own, or 128 and the number of the signal that ended it.
[[nodiscard]] Expected<int> run_program(const ExecCommand& command, const Invocation& invocation);
[[nodiscard]] Expected<ExitCode> resume_run(const ResumeCommand& command,
                                            const Invocation& invocation);
[[nodiscard]] Expected<ExitCode> rerun(const RerunCommand& command, const Invocation& invocation);
[[nodiscard]] Expected<ExitCode> merge_shards(const MergeCommand& command,
                                              const Invocation& invocation);
[[nodiscard]] Expected<ExitCode> import_results(const ImportCommand& command,
                                                const Invocation& invocation);
[[nodiscard]] Expected<ExitCode> reparse(const ReparseCommand& command,
                                         const Invocation& invocation);
[[nodiscard]] Expected<ExitCode> gaps(const GapsCommand& command, const Invocation& invocation);
[[nodiscard]] Expected<ExitCode> porting(const PortingCommand& command,
                                         const Invocation& invocation);
[[nodiscard]] Expected<ExitCode> doctor(const DoctorCommand& command, const Invocation& invocation);

}  // namespace compat::app
