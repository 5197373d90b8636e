#include "runner/run/warm.h"

#include <algorithm>

namespace compat::run {

using config::Setting;

std::optional<exec::Zygote> zygote_for(const Ready& ready, const archive::RunFolder& run,
                                       std::shared_ptr<const exec::Variables> common,
                                       size_t modules) {
    const auto& suite = ready.suite;
    if (!ready.settings.on(Setting::warm) || suite.preload.empty() ||
        !traits_of(suite.framework).warm_start || modules < 2)
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

std::set<std::string> fresh_modules(const std::vector<archive::PlannedModule>& plan,
                                    const store::SuitePast& past, int jobs) {
    std::set<std::string> fresh;
    // Each of these imports what the zygote imports: a small part of the plan only.
    size_t idle_cores = std::min(static_cast<size_t>(jobs - 1), plan.size() / 8);
    for (const auto& [path, only] : plan) {
        const bool is_unknown = !past.seconds.contains(path) || past.never_forked.contains(path);
        if (past.needs_fresh_process.contains(path) || (is_unknown && idle_cores > 0))
            fresh.insert(path);
        if (is_unknown && idle_cores > 0) --idle_cores;
    }
    return fresh;
}

}  // namespace compat::run
