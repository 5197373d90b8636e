#include "runner/run/warm.h"

#include <algorithm>

namespace compat::run {

using config::Setting;

std::optional<exec::Zygote> zygote_for(const Ready& ready, const archive::RunFolder& run,
                                       std::shared_ptr<const exec::Variables> common,
                                       const std::vector<exec::Job>& first) {
    const auto forks =
        std::count_if(first.begin(), first.end(), [](const exec::Job& job) { return job.warm; }) *
        std::max(1, ready.settings.seeds());
    const auto& suite = ready.suite;
    if (!ready.settings.on(Setting::warm) || suite.preload.empty() ||
        !traits_of(suite.framework).warm_start || forks < 2 ||
        !exec::process_table().adopt_orphans())
        return std::nullopt;
    exec::Zygote zygote;
    zygote.job.name = "warm start";
    // As long as the longest name of a job: forked processes write theirs in its place.
    zygote.job.id = archive::process_name_prefix(run) + "/zygote-of-the-run";
    zygote.job.argv = plan::zygote_argv(suite, ready.child, exec::kInheritedFd);
    zygote.job.cwd = ready.child.root;
    zygote.job.common_env = std::move(common);
    zygote.job.env = {{"COMPAT_JOB", zygote.job.id}};
    zygote.job.log = run.folder / "zygote.log";
    zygote.job.log_bytes = suite.limits.log_bytes;
    return zygote;
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
