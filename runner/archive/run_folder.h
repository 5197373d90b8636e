// A run's folder: its plan, which `resume` needs, and the locks on the folder and on the results as
// a whole. Not here: reading the attempts' files (attempt_files.h), reports.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runner/base/attempt.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"

namespace compat::archive {

struct RunFolder {
    std::string id;
    fs::path results, folder;
    WallTime started;
};

// "<run>.<device>-<inode>" of its folder: what its processes are known by (exec/processes.h). The
// run in a copy of the folder is another one, in a folder that was moved the same.
[[nodiscard]] std::string process_name_prefix(const RunFolder& run);

struct PlannedModule {
    std::string path;
    std::vector<std::string> only;  // ids asked for; empty: all
};

// Files of an attempt, relative to the run's folder. The child writes events, devices and hub, so
// they lie in a folder of its own; the log is the runner's. The name of the one with the ids tells
// its kind to whoever goes on with the run.
struct AttemptNames {
    fs::path log, events, devices, hub, only;
};
[[nodiscard]] AttemptNames attempt_names(const std::string& module, int number, AttemptKind kind);
// As they are in the run's `folder`: older runners put events and devices beside the log.
[[nodiscard]] AttemptNames stored_names(const fs::path& folder, const std::string& module,
                                        int number, AttemptKind kind);
// Removes all files of an attempt, whichever runner made them.
void remove_attempt(const fs::path& folder, const std::string& module, int number,
                    AttemptKind kind);

// plan.json (docs/reference/file-formats.md): what was asked for, in a form that does not depend on
// how it was typed.
struct RunPlan {
    std::string suite;
    std::string root;
    std::string keyword;  // -k; empty: none
    std::int64_t maxfail = 0;
    bool flaky_fails = false;
    std::vector<std::string> fail_on;    // marks of a test
    std::vector<PlannedModule> modules;  // in the order in which they start
};
[[nodiscard]] Expected<void> write_plan(const RunFolder& run, const RunPlan& plan);
[[nodiscard]] Expected<RunPlan> read_plan(const RunFolder& run);

// A lock on a file, released by the destructor or when the process ends.
class FileLock {
  public:
    explicit FileLock(int fd) : fd_(fd) {}
    FileLock(FileLock&& other) noexcept;
    FileLock& operator=(FileLock&&) = delete;
    ~FileLock();

  private:
    int fd_ = -1;
};

// Held by the runner that executes the run.
class RunLock {
  public:
    // Errors: usage, where another runner holds it; io.
    [[nodiscard]] static Expected<RunLock> acquire(const fs::path& folder);
    // Whether one holds it now.
    [[nodiscard]] static bool is_held(const fs::path& folder);

  private:
    explicit RunLock(int fd) : lock_(fd) {}
    FileLock lock_;
};

// On a results folder: shared by commands that have its database open to write, exclusive for the
// command that rebuilds it.
class ResultsLock {
  public:
    // Errors: usage, naming the command that holds it; io.
    [[nodiscard]] static Expected<ResultsLock> share(const fs::path& results);
    [[nodiscard]] static Expected<ResultsLock> acquire_exclusive(const fs::path& results);

  private:
    explicit ResultsLock(int fd) : lock_(fd) {}
    [[nodiscard]] static Expected<ResultsLock> take(const fs::path& results, int how);
    FileLock lock_;
};

// Visits the regular files below a run's `folder`, by their names relative to it. Gives what else
// is there, which no run makes and nothing follows: "modules/m/1.written/x (a link)".
using RunFileVisitor = std::function<Expected<void>(const fs::path& name)>;
[[nodiscard]] Expected<std::vector<std::string>> each_file(const fs::path& folder,
                                                           const RunFileVisitor& visit);

// Bytes of the regular files below `folder`; links are not followed. 0: there is none.
[[nodiscard]] std::uint64_t folder_bytes(const fs::path& folder);

// results/latest -> runs/<run>; replaced in one step.
void point_latest(const RunFolder& run);

}  // namespace compat::archive
