#include "runner/run/collect.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "parsers/attempt.h"
#include "runner/archive/attempt_files.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/exec/loop.h"

namespace compat::run {

namespace fs = std::filesystem;

namespace {

// A temporary folder, removed by the destructor.
class ScratchFolder {
  public:
    ScratchFolder() {
        std::error_code error;
        std::string name = (fs::temp_directory_path(error) / "runner-XXXXXX").string();
        if (!error && ::mkdtemp(name.data())) path_ = name;
    }
    ~ScratchFolder() {
        std::error_code error;
        if (!path_.empty()) fs::remove_all(path_, error);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    [[nodiscard]] const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

}  // namespace

Expected<std::vector<parsers::ModuleRecord>> collect(const Ready& ready, const std::string& keyword,
                                                     const std::vector<plan::Job>& planned_jobs) {
    const ScratchFolder scratch;
    if (scratch.path().empty())
        return fail(ErrorKind::io, "cannot make a temporary folder",
                    "set TMPDIR to a folder that can be written");
    auto settings = ready.child;
    settings.collect_only = true;
    settings.keyword = keyword;
    const auto common =
        std::make_shared<exec::Variables>(plan::child_variables(ready.suite, settings));
    std::vector<exec::Job> jobs;
    std::vector<parsers::ModuleRecord> records(planned_jobs.size());
    for (const auto& planned : planned_jobs) {
        const fs::path folder = scratch.path() / escaped_path(planned.module);
        const plan::AttemptPaths paths{
            folder / "log", folder / "events", folder / "devices", folder / "only", {}};
        if (auto made = write_attempt(planned, paths); !made) return tl::unexpected(made.error());
        jobs.push_back(child_job(ready, settings, planned, paths));
        jobs.back().common_env = common;
    }
    const auto files = jobs;
    exec::run_jobs(std::move(jobs), {ready.settings.jobs()}, SystemClock(),
                   [&](const exec::RunEvent& event) -> exec::Reply {
                       const auto* done = std::get_if<exec::JobFinished>(&event);
                       if (!done) return {};
                       const auto& job = files[done->job];
                       records[done->job] = parsers::read_attempt(
                           {archive::lines_of(job.events), archive::text_of(job.log), ""},
                           std::string(name_of(ready.suite.framework)), job.name, done->end);
                       return {};
                   });
    return records;
}

}  // namespace compat::run
