// Makes an attempt's result of its process's end and its files. Not here: storing it
// (recording/recorder.h, diagnose.h), parsing (parsers/attempt.h).
#pragma once

#include <optional>
#include <string>

#include "runner/base/files/fs.h"
#include "runner/base/framework.h"
#include "runner/exec/event.h"
#include "runner/store/store.h"

namespace compat::run {

struct AttemptOrigin {
    Framework framework = Framework::unittest;
    parsers::Isolation isolation{};
    std::string key{};  // of its events' MACs; empty: nobody has it any more
};

// The files of the attempt, as parsed. A file that is not there is one that the child never wrote.
[[nodiscard]] parsers::ModuleRecord read_attempt(const fs::path& run_folder,
                                                 const AttemptOrigin& origin,
                                                 const std::string& module, int number,
                                                 const ProcessEnd& end);

// All but what was asked for (`only`, `step`) and the names of its files.
[[nodiscard]] store::JobResult attempt_result(const fs::path& run_folder,
                                              const AttemptOrigin& origin,
                                              const std::string& module, int number,
                                              AttemptKind kind, const exec::JobFinished& finished);

// An attempt whose runner ended before it could store it, as its files tell. Empty: none began.
[[nodiscard]] std::optional<store::JobResult> attempt_left(const fs::path& run_folder,
                                                           const AttemptOrigin& origin,
                                                           const std::string& module, int number,
                                                           const ProcessEnd& end);

// Those of the files that are there, and the log.
void set_file_names(const fs::path& run_folder, const std::string& module, store::JobResult& job);

}  // namespace compat::run
