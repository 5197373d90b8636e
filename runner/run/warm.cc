#include "runner/run/warm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "runner/base/files.h"
#include "runner/base/files/temporary_folder.h"
#include "runner/base/names.h"
#include "runner/exec/loop.h"
#include "runner/run/isolation/isolation.h"

namespace compat::run {

using config::Setting;

namespace {

std::string words_of(const nlohmann::json& answer) {
    std::vector<std::string> packages, reasons;
    for (const auto& package : answer.at("packages"))
        packages.push_back(
            fmt::format("{} ({} of {} modules)", package.at("name").get<std::string>(),
                        package.at("modules").get<int>(), answer.at("read").get<int>()));
    if (!packages.empty())
        reasons.push_back(
            fmt::format("imports once what most modules import: {}", fmt::join(packages, ", ")));
    for (const auto& package : answer.at("left_out"))
        reasons.push_back(fmt::format(
            "{} sets an environment variable before {} is imported, so each module "
            "imports it (\"preload\" in suite.json decides otherwise)",
            package.at("set_at").get<std::string>(), package.at("name").get<std::string>()));
    return reasons.empty() ? "" : fmt::format("warm start: {}", fmt::join(reasons, "; "));
}

constexpr Milliseconds kImportsRead{20'000};
constexpr std::uint64_t kMostAnswered = 1 << 20;

// The names that most modules import, read from their import statements. Without an answer, nothing
// is imported early: the run is slower, with the same results. Starting a Python runs code of the
// suite (sitecustomize), so it is a job as the modules are, in a sandbox if they are.
Expected<Preload> derived_preload(const Ready& ready, std::shared_ptr<const exec::Variables> common,
                                  const std::vector<archive::PlannedModule>& modules) {
    const auto scratch = TemporaryFolder::create("preload");
    if (!scratch) return Preload{};
    exec::Job job;
    job.name = "preload";
    job.argv = {ready.child.python.string(), (ready.share.harness / "preload.py").string(),
                ready.child.root.string(), std::string(name_of(ready.suite.framework))};
    for (const auto& module : modules) job.argv.push_back(module.path);
    job.cwd = ready.child.root;
    job.common_env = std::move(common);
    job.env = {{"ACTIVATE_TORCH_DEVICE", "0"}};
    if (ready.isolation) job.sandbox = ready.isolation->sandbox();
    job.log = scratch->path() / "log";
    job.events = scratch->path() / "events";
    job.timeout = kImportsRead;
    job.log_bytes = kMostAnswered;
    const FileBelow log = job.log;
    exec::RunFinished finished;
    exec::run_jobs({std::move(job)}, {}, SystemClock(), [&](const exec::RunEvent& event) {
        if (const auto* end = std::get_if<exec::RunFinished>(&event)) finished = *end;
        return exec::Reply{};
    });
    if (finished.stopped) return fail(ErrorKind::interrupted, finished.reason);
    // Parse the last line that can be an answer: a sitecustomize may print, and warnings may
    // follow.
    const std::string output = "\n" + read_file(log).value_or("");
    const size_t begin = std::min(output.rfind("\n{"), output.size() - 1) + 1;
    const auto answer = nlohmann::json::parse(
        output.substr(begin, output.find('\n', begin) - begin), nullptr, /*allow_exceptions=*/false);
    try {
        return Preload{answer.at("names").get<std::vector<std::string>>(), words_of(answer)};
    } catch (const nlohmann::json::exception&) {
        return Preload{};
    }
}

exec::Job zygote_job(const Ready& ready, const std::string& id,
                     std::shared_ptr<const exec::Variables> common, const Preload& preload) {
    exec::Job job;
    job.name = "warm start";
    job.id = id;
    job.argv = plan::zygote_argv(ready.suite, ready.child, exec::kInheritedFd, preload.names);
    job.cwd = ready.child.root;
    job.common_env = std::move(common);
    job.env = {{"COMPAT_JOB", id}};
    if (ready.isolation) job.sandbox = ready.isolation->sandbox();
    if (job.sandbox) job.env.emplace_back(exec::kSandboxVariable, job.sandbox->forked);
    return job;
}

bool is_same_process(const exec::Job& a, const exec::Job& b) {
    return a.argv == b.argv && a.cwd == b.cwd && *a.common_env == *b.common_env;
}

}  // namespace

Expected<std::optional<exec::Zygote>> zygote_for(
    const Ready& ready, const archive::RunFolder& run,
    std::shared_ptr<const exec::Variables> common, const std::vector<exec::Job>& first,
    const std::vector<archive::PlannedModule>& modules, SharedByRuns& shared) {
    const auto early = std::exchange(shared.zygote, nullptr);
    const auto forks =
        std::count_if(first.begin(), first.end(), [](const exec::Job& job) { return job.warm; }) *
        std::max(1, ready.settings.seeds());
    if (!ready.settings.on(Setting::warm) || !traits_of(ready.suite.framework).warm_start ||
        forks < 2 || !exec::process_table().adopt_orphans())
        return std::nullopt;
    if (!shared.preload) {
        shared.preload = TRY(ready.suite.preload ? Preload{*ready.suite.preload, {}}
                                                 : derived_preload(ready, common, modules));
    }
    if (shared.preload->names.empty()) return std::nullopt;
    exec::Zygote zygote;
    // As long as the longest name of a job: forked processes write theirs in its place.
    zygote.job = zygote_job(ready, archive::process_name_prefix(run) + "/zygote-of-the-run",
                            std::move(common), *shared.preload);
    if (early && is_same_process(early->job(), zygote.job)) {
        zygote.early = early;
        zygote.job.id = early->job().id;
        zygote.job.env = early->job().env;
    }
    zygote.job.log = run.folder / "zygote.log";
    zygote.job.log_bytes = ready.suite.limits.log_bytes;
    return zygote;
}

std::shared_ptr<exec::EarlyZygote> early_zygote(const Ready& ready, const std::string& series,
                                                const Preload& preload) {
    // An isolated run's zygote sees folders that the run has not made yet, and a hub has a port of
    // its own in each run.
    if (ready.settings.text(Setting::isolation) != "off" ||
        ready.settings.text(Setting::hub) != "off")
        return nullptr;
    archive::RunFolder place;
    place.id = make_run_id(series, SystemClock().wall(), std::random_device{}());
    place.folder = fs::absolute(ready.settings.text(Setting::results));
    // Longer than the name in a run: the number of the run's folder may be.
    return exec::EarlyZygote::start(
               zygote_job(ready, archive::process_name_prefix(place) + "/zygote-before-its-run",
                          std::make_shared<exec::Variables>(
                              plan::child_variables(ready.suite, ready.child)),
                          preload))
        .value_or(nullptr);
}

void choose_fresh_jobs(std::vector<exec::Job>& first, const store::SuitePast& past,
                       const std::set<std::string>& spared, int parallel) {
    // A new module imports what the zygote imports: a small part of all modules only.
    size_t idle_cores = std::min(static_cast<size_t>(parallel - 1), first.size() / 8);
    for (exec::Job& job : first) {
        if (!past.needs_fresh_process.contains(job.name) || spared.contains(job.name)) continue;
        job.warm = false;
        if (idle_cores > 0) --idle_cores;
    }
    for (exec::Job& job : first) {
        if (idle_cores == 0) break;
        if (!job.warm || past.seconds.contains(job.name)) continue;
        job.warm = false;
        --idle_cores;
    }
}

}  // namespace compat::run
