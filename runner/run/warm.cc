#include "runner/run/warm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "runner/base/names.h"
#include "runner/prepare/tool.h"
#include "runner/run/isolation/isolation.h"

namespace compat::run {

namespace fs = std::filesystem;
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

// What most modules import, read from their import statements. Without an answer nothing is
// imported early: the run is slower and the same.
Preload derived_preload(const Ready& ready, const exec::Variables& variables,
                        const std::vector<archive::PlannedModule>& modules) {
    constexpr unsigned kLimit = 20;
    prepare::Tool tool{{ready.child.python.string(), (ready.share.harness / "preload.py").string(),
                        ready.child.root.string(), std::string(name_of(ready.suite.framework))},
                       ready.child.root,
                       variables,
                       {"TORCHDEVICE_RECORD"},
                       kLimit};
    tool.env.emplace_back("ACTIVATE_TORCH_DEVICE", "0");
    for (const auto& module : modules) tool.argv.push_back(module.path);
    const auto output = prepare::output_of(tool);
    if (!output) return {};
    // Only the last line: a sitecustomize may print before it.
    const size_t before = output->find_last_of('\n', output->find_last_not_of('\n'));
    const auto answer =
        nlohmann::json::parse(before == std::string::npos ? *output : output->substr(before + 1),
                              nullptr, /*allow_exceptions=*/false);
    try {
        return {answer.at("names").get<std::vector<std::string>>(), words_of(answer)};
    } catch (const nlohmann::json::exception&) {
        return {};
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

std::optional<exec::Zygote> zygote_for(const Ready& ready, const archive::RunFolder& run,
                                       std::shared_ptr<const exec::Variables> common,
                                       const std::vector<exec::Job>& first,
                                       const std::vector<archive::PlannedModule>& modules,
                                       SharedByRuns& shared) {
    const auto early = std::exchange(shared.zygote, nullptr);
    const auto forks =
        std::count_if(first.begin(), first.end(), [](const exec::Job& job) { return job.warm; }) *
        std::max(1, ready.settings.seeds());
    if (!ready.settings.on(Setting::warm) || !traits_of(ready.suite.framework).warm_start ||
        forks < 2 || !exec::process_table().adopt_orphans())
        return std::nullopt;
    if (!shared.preload)
        shared.preload = ready.suite.preload ? Preload{*ready.suite.preload, {}}
                                             : derived_preload(ready, *common, modules);
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
    // An isolated run's zygote sees folders that the run has not made yet.
    if (ready.settings.text(Setting::isolation) != "off") return nullptr;
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

void choose_fresh_jobs(std::vector<exec::Job>& first, const store::SuitePast& past, int parallel) {
    // A new module imports what the zygote imports: a small part of all modules only.
    size_t idle_cores = std::min(static_cast<size_t>(parallel - 1), first.size() / 8);
    for (exec::Job& job : first) {
        if (!past.needs_fresh_process.contains(job.name)) continue;
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
