#include "runner/run/new_run.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <chrono>

#include "runner/analysis/expectations/judge.h"
#include "runner/archive/results.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/run/collect.h"
#include "runner/run/diagnose.h"
#include "runner/run/fingerprint.h"
#include "runner/run/isolation/isolation.h"
#include "runner/run/variables.h"

namespace compat::run {

using config::Setting;

namespace {

// The command line that runs a part of this suite again, from anywhere and in another environment:
// no targets, absolute folders, and as a flag whatever was not the suite's or the default.
std::vector<std::string> argv_for_rerun(const RunRequest& request, const Ready& ready) {
    std::vector<std::string> words{"runner"};
    std::error_code error;
    words.push_back(fs::exists(request.suite, error) ? fs::canonical(request.suite, error).string()
                                                     : request.suite);
    for (const auto& row : config::kSettings) {
        const config::Value& value = ready.settings[row.setting];
        const bool ours_alone = row.setting == Setting::progress || row.setting == Setting::color ||
                                row.setting == Setting::jobs || row.setting == Setting::results ||
                                config::is_of_place(row) || config::is_of_reports(row);
        if (row.flag.empty() || ours_alone || !value.given()) continue;
        if (!config::is_taken_with(row, ready.child.simulate)) continue;
        if (config::is_switch(row)) {
            const std::string_view flag = config::long_flag(row);
            words.push_back(value.text == "on" ? std::string(flag)
                                               : fmt::format("--no-{}", flag.substr(2)));
            continue;
        }
        words.emplace_back(config::long_flag(row));
        words.push_back(config::is_path(row, value.text) ? fs::absolute(value.text).string()
                                                         : value.text);
    }
    // Chosen by the suite's code, which may have changed since.
    if (!ready.settings[Setting::policy].given() && !ready.child.simulate.empty())
        words.insert(words.end(), {"--policy", ready.child.policy});
    for (const auto& [name, value] : ready.child.from_user) {
        if (mask_secret(name, value) != value)
            continue;  // whoever runs it again has it in the environment
        words.push_back("--env");
        words.push_back(name + "=" + value);
    }
    const auto options = masked(ready.child.options);
    if (!options.empty()) words.emplace_back("--");
    words.insert(words.end(), options.begin(), options.end());
    return words;
}

}  // namespace

std::string series_of(const Ready& ready) {
    return ready.settings.text(Setting::name) + ready.child.series_suffix();
}

namespace {

store::RunInfo described(const RunRequest& request, const config::Invocation& invocation,
                         const Ready& ready, const archive::RunFolder& run) {
    const auto& prepared = ready.prepared;
    const plan::Variables env = masked(plan::added_variables(ready.suite, ready.child));
    store::RunInfo info{ready.child};
    info.id = run.id;
    info.suite = ready.suite.name;
    info.series = series_of(ready);
    info.started = run.started;
    info.framework = name_of(ready.suite.framework);
    info.shim = !prepared.shim_library.empty();
    if (info.shim) info.policy = ready.child.policy;
    info.masquerade = info.shim && ready.child.masquerade;
    info.device = prepared.accelerator;
    if (!ready.child.simulate.empty()) info.simulated = ready.child.simulate;
    info.diagnose = ready.diagnose;
    info.column = request.column;
    info.isolation = ready.settings.text(Setting::isolation);
    info.network = has_network(ready);
    info.hub = ready.settings.text(Setting::hub);
    info.commit = prepared.source.commit;
    info.dirty = prepared.source.dirty;
    info.remote = prepared.source.remote;
    info.torch = prepared.environment.torch_version;
    info.root = ready.child.root;
    info.links_base = ready.suite.links_base;
    info.python = prepared.environment.python;
    info.env = env;
    info.argv = masked(invocation.argv);
    info.rerun_argv = argv_for_rerun(request, ready);
    info.fingerprint = fingerprint(prepared, ready.settings, env);
    info.folder = "runs/" + run.id;
    return info;
}

Expected<plan::Selection> selection_of(const RunRequest& request,
                                       const std::vector<std::string>& options) {
    plan::Selection selection{request.targets, request.keyword, {}, options};
    if (request.order.empty()) return selection;
    return plan::parse_ordering(request.order).map([&](const plan::Ordering& ordering) {
        selection.ordering = ordering;
        return std::move(selection);
    });
}

// The first line of pytest's usage error on collecting a module; empty: none.
Expected<std::string> usage_error(const Ready& ready, const plan::Job& module) {
    constexpr std::chrono::minutes kTimeout{1};
    return collect(ready, ready.child.keyword, {module}, kTimeout)
        .map([](const std::vector<parsers::ModuleRecord>& collected) -> std::string {
            for (const auto& test : collected.front().cases)
                if (test.pseudo && test.failure && test.failure->type == "UsageError")
                    return test.failure->message.substr(0, test.failure->message.find('\n'));
            return {};
        });
}

}  // namespace

Expected<NewRun> open_new_run(const RunRequest& request, const config::Invocation& invocation,
                              const prepare::Say& say) {
    auto from_user = TRY(parse_variables(request.env));
    auto selection = TRY(selection_of(request, invocation.passed_on));
    plan::Shard shard;
    if (!request.shard.empty()) {
        const auto parsed = TRY(plan::parse_shard(request.shard));
        shard = parsed;
    }
    auto ready =
        TRY(open_suite(request.suite, invocation,
                       request.discovery_printed ? prepare::Say([](std::string_view) {}) : say));
    ready.child.from_user = std::move(from_user);
    ready.child.keyword = request.keyword;
    ready.child.maxfail = request.maxfail;
    ready.diagnose = request.diagnose && asks_for_diagnosis(ready);
    auto expectations = TRY(open_expectations(ready));
    return NewRun{std::move(ready), std::move(selection), shard, std::move(expectations)};
}

store::SuitePast past_of_results(const fs::path& results, const std::string& suite,
                                 std::vector<std::string>& notes) {
    if (!archive::has_database(results)) return {};
    auto past = store::Store::open(results / "runner.db", store::Store::Mode::read_only)
                    .and_then([&](const store::Store& store) { return store.past_of(suite); });
    if (past) return std::move(*past);
    notes.push_back("shards are balanced without earlier durations: " + to_line(past.error()));
    return {};
}

store::ShownFailures shown_before(const Ready& ready, const store::Store& store,
                                  const store::RunInfo& run) {
    if (!ready.settings.on(Setting::warm) || ready.settings.text(Setting::confirm) == "all")
        return {};
    return store::shown_failures(store, run).value_or(store::ShownFailures{});
}

Expected<plan::Plan> plan_whole_run(const NewRun& fresh, const store::SuitePast& past,
                                    bool for_shards) {
    return plan_for(fresh.ready, fresh.selection,
                    {for_shards ? past.seconds_of_whole_runs : past.seconds, past.failed});
}

Expected<plan::Plan> plan_new_run(const NewRun& fresh, const RunRequest& request,
                                  const store::SuitePast& past) {
    if (request.part) {
        plan::Plan plan;
        plan.id = request.part->plan;
        for (const auto& module : request.part->modules)
            plan.jobs.push_back({module.path, module.only, 0, 0});
        return plan;
    }
    const auto [index, count] = fresh.shard;
    auto plan = plan_whole_run(fresh, past, count > 1);
    if (!plan || count <= 1) return plan;
    plan::Cut cut = plan::cut(*plan, fresh.selection, count);
    const auto all = static_cast<long>(plan->jobs.size());
    plan->jobs = std::move(cut.shards[index - 1]);
    plan->id = std::move(cut.id);
    plan->notes.push_back(fmt::format("shard {} of {}: {} of {}", index, count, plan->jobs.size(),
                                      counted(all, "module")));
    return plan;
}

// pytest would reject an option in the process of each module: collecting the smallest one shows it
// before the run. An option that only the conftest.py of another folder defines is rejected, too:
// the run would fail at this module. Errors without the options, and a time-out, are results of the
// run.
Expected<void> check_pytest_options(const Ready& ready, const plan::Plan& plan) {
    // Words, as most expressions are, need no question.
    static const RE2 words("[\\w ]*");
    const bool asks = !ready.child.options.empty() || (ready.suite.framework == Framework::pytest &&
                                                       !RE2::FullMatch(ready.child.keyword, words));
    if (!asks || plan.jobs.empty()) return {};
    const auto& smallest = *std::min_element(
        plan.jobs.begin(), plan.jobs.end(),
        [](const auto& a, const auto& b) { return a.source_bytes < b.source_bytes; });
    const auto message = TRY(usage_error(ready, smallest));
    if (message.empty()) return {};
    Ready without_options = ready;
    without_options.child.options.clear();
    without_options.child.keyword.clear();
    const auto same = TRY(usage_error(without_options, smallest));
    if (!same.empty()) return {};
    return fail(ErrorKind::usage, message,
                ready.child.options.empty()
                    ? "-k takes parts of names, and, or, not and parentheses"
                    : "arguments after -- go to pytest",
                std::string(name_of(ready.suite.framework)));
}

archive::RunPlan run_plan_of(const NewRun& fresh, const RunRequest& request) {
    return {fresh.ready.suite.name,
            fresh.ready.child.root.string(),
            request.keyword,
            request.maxfail,
            request.flaky_fails,
            request.fail_on,
            {}};
}

Expected<store::RunInfo> info_of_new_run(const NewRun& fresh, const RunRequest& request,
                                         const config::Invocation& invocation,
                                         const archive::RunFolder& run) {
    store::RunInfo info = described(request, invocation, fresh.ready, run);
    info.shard = request.shard;
    const auto& [targets, keyword, ordering, options] = fresh.selection;
    info.subset = masked(make_subset(targets, keyword, options));
    info.repeat_of = request.repeat_of;
    if (request.part) {
        info.expectations_file = request.part->expectations_file;
        info.expectations = request.part->expectations;
        info.subset = request.part->subset;
        return info;
    }
    auto entries = fresh.expectations.entries;
    // The results of such a run are no verdicts: nothing can be expected of them.
    if (!info.gives_verdicts()) entries.clear();
    TRY(mark_selected(entries, fresh.ready, fresh.selection));
    info.expectations_file = fresh.expectations.file.string();
    info.expectations = analysis::to_stored(entries);
    return info;
}

}  // namespace compat::run
