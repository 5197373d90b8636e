#include "runner/run/collect.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>

#include "parsers/attempt.h"
#include "runner/archive/attempt_files.h"
#include "runner/base/files.h"
#include "runner/base/files/fs.h"
#include "runner/base/files/temporary_folder.h"
#include "runner/base/names.h"
#include "runner/base/nearest.h"
#include "runner/base/text.h"
#include "runner/display/output.h"
#include "runner/exec/loop.h"
#include "runner/plan/targets.h"
#include "runner/run/hub/run_hub.h"
#include "runner/run/isolation/isolation.h"

namespace compat::run {

using display::print;
using parsers::ModuleOutcome;

Expected<std::vector<parsers::ModuleRecord>> collect(const Ready& given, const std::string& keyword,
                                                     const std::vector<plan::Job>& planned_jobs,
                                                     std::optional<Milliseconds> timeout) {
    const auto scratch = TRY(TemporaryFolder::create("collect"));
    Ready ready = given;
    TRY(Isolation::begin(ready, scratch.path(), scratch.path() / "modules",
                         [](std::string_view) {}));
    TRY(RunHub::begin(ready, scratch.path(), [](std::string_view) {}));
    auto settings = ready.child;
    settings.collect_only = true;
    settings.keyword = keyword;
    const auto common =
        std::make_shared<exec::Variables>(plan::child_variables(ready.suite, settings));
    std::vector<exec::Job> jobs;
    std::vector<parsers::ModuleRecord> records(planned_jobs.size());
    for (const auto& planned : planned_jobs) {
        const fs::path folder = scratch.path() / "modules" / escaped_path(planned.module);
        const plan::AttemptPaths paths{folder / "log",
                                       folder / "written/events",
                                       folder / "written/devices",
                                       folder / "only",
                                       {},
                                       0,
                                       scratch.path()};
        TRY(write_attempt(planned, paths));
        jobs.push_back(child_job(ready, settings, planned, paths));
        jobs.back().common_env = common;
        jobs.back().timeout = timeout.value_or(jobs.back().timeout);
    }
    const auto files = jobs;
    exec::RunFinished finished;
    exec::run_jobs(
        std::move(jobs), {ready.settings.jobs()}, SystemClock(),
        [&](const exec::RunEvent& event) -> exec::Reply {
            if (const auto* end = std::get_if<exec::RunFinished>(&event)) finished = *end;
            const auto* done = std::get_if<exec::JobFinished>(&event);
            if (!done) return {};
            const auto& job = files[done->job];
            parsers::AttemptFiles left = archive::files_of(job.log, job.events);
            left.isolation = isolation_of(ready);
            left.key = job.key;
            records[done->job] = parsers::read_attempt(left, name_of(ready.suite.framework),
                                                       job.name, done->end);
            return {};
        });
    if (finished.stopped) return fail(ErrorKind::interrupted, finished.reason);
    return records;
}

namespace {

void add_selecting_ids(std::set<std::string>& ids, const parsers::ModuleRecord& record) {
    const auto framework = framework_of(record.framework).value_or(Framework::unittest);
    for (const auto& test : record.cases) {
        if (test.pseudo) continue;
        for (auto& id : plan::selecting_ids(test.id, framework)) ids.insert(std::move(id));
    }
}

// One job for the module of each id.
std::vector<plan::Job> jobs_of(const std::vector<std::string>& ids) {
    std::set<std::string> modules;
    for (const auto& id : ids) modules.insert(id.substr(0, id.find("::")));
    std::vector<plan::Job> jobs;
    for (const auto& module : modules) jobs.push_back({module, {}, 0});
    return jobs;
}

// For each id why it selected no test, with advice.
std::vector<std::string> explained(const std::vector<std::string>& ids, const Ready& ready) {
    constexpr size_t kMost = 3;
    Ready without_options = ready;
    without_options.child.options.clear();
    std::set<std::string> known;
    for (const auto& record :
         collect(without_options, {}, jobs_of(ids)).value_or(std::vector<parsers::ModuleRecord>{}))
        add_selecting_ids(known, record);
    const std::vector<std::string> all(known.begin(), known.end());
    std::vector<std::string> lines;
    for (const auto& id : ids) {
        const std::string guess = did_you_mean(nearest(id, all, kMost));
        lines.push_back(
            known.contains(id) ? fmt::format("{} is deselected by -k or by an option after --", id)
            : guess.empty() ? fmt::format("no test is named {}: `runner list --cases SUITE MODULE` "
                                          "prints the ids",
                                          id)
                            : fmt::format("no test is named {}: {}", id, guess));
    }
    return lines;
}

}  // namespace

std::vector<std::string> ids_without_tests(const std::vector<std::string>& requested,
                                           const parsers::ModuleRecord& record) {
    std::vector<std::string> unmatched;
    if (requested.empty() ||
        (record.outcome != ModuleOutcome::completed && record.outcome != ModuleOutcome::no_tests))
        return unmatched;
    std::set<std::string> ids;
    for (const auto& test : record.cases)
        if (test.pseudo) return unmatched;
    add_selecting_ids(ids, record);
    for (const std::string& id : requested)
        if (!ids.contains(id)) unmatched.push_back(id);
    return unmatched;
}

Expected<std::vector<std::string>> ids_without_tests(const std::vector<std::string>& ids,
                                                     const Ready& ready) {
    return collect(ready, {}, jobs_of(ids)).map([&](const auto& records) {
        std::vector<std::string> unmatched;
        for (const parsers::ModuleRecord& record : records) {
            std::vector<std::string> of_module;
            std::copy_if(ids.begin(), ids.end(), std::back_inserter(of_module),
                         [&](const auto& id) { return id.starts_with(record.path + "::"); });
            for (auto& id : ids_without_tests(of_module, record))
                unmatched.push_back(std::move(id));
        }
        return unmatched;
    });
}

void print_unmatched_ids(const std::vector<std::string>& ids, const Ready& ready) {
    if (ids.empty()) return;
    for (const auto& line : explained(ids, ready)) print(stderr, "runner: {}\n", printable(line));
}

void print_unmatched_keyword(const std::string& keyword) {
    if (!keyword.empty())
        print(stderr, "runner: -k {} matches no test: `runner list --cases SUITE` prints the ids\n",
              printable(keyword));
}

}  // namespace compat::run
