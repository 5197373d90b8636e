#include "runner/cluster/plan_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "runner/archive/run_record.h"
#include "runner/archive/shard_plan.h"
#include "runner/archive/shards.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/display/output.h"
#include "runner/run/new_run.h"

namespace compat::cluster {

using config::Setting;
using display::print;

namespace {

// The number of shards, and with notes for people.
Expected<std::size_t> count_of(const PlanRequest& request, const plan::Plan& plan, int jobs) {
    if (request.shards > 0) return request.shards;
    if (!plan.has_durations && request.shards_at_first > 0)
        return std::clamp<std::size_t>(plan.jobs.size(), 1, request.shards_at_first);
    const std::chrono::duration<double> target = *request.target;
    const auto count = TRY(plan::shards_within(plan, target.count(), jobs));
    const auto longest =
        std::max_element(plan.jobs.begin(), plan.jobs.end(),
                         [](const auto& a, const auto& b) { return a.cost < b.cost; });
    if (longest->cost > target.count())
        print("note: {} alone takes {}\n", printable(longest->module),
              format_duration(std::chrono::duration<double>(longest->cost)));
    return count;
}

// A shard's machine may have other cores than this one: their number counts only if it was given.
void add_jobs(const config::Settings& settings, std::vector<std::string>& words) {
    if (!settings[Setting::jobs].given()) return;
    words.insert(std::find(words.begin(), words.end(), "--"),
                 {"--jobs", settings.text(Setting::jobs)});
}

void print_planned(const archive::ShardPlan& plan, std::size_t modules, const fs::path& file) {
    double longest = 0, shortest = -1;
    for (const auto& shard : plan.shards) {
        const double seconds = shard.expected_s.value_or(0);
        longest = std::max(longest, seconds);
        shortest = shortest < 0 ? seconds : std::min(shortest, seconds);
    }
    const auto words = [](double seconds) {
        return format_duration(std::chrono::duration<double>(seconds));
    };
    print("plan {}: {} in {}, {}\n{}\n", plan.run.id, counted(static_cast<long>(modules), "module"),
          counted(static_cast<long>(plan.shards.size()), "shard"),
          plan.shards.front().expected_s ? fmt::format("of {} to {} with {} at a time",
                                                       words(shortest), words(longest), plan.jobs)
                                         : std::string("balanced by size: no duration is known"),
          printable(file.string()));
}

Expected<std::size_t> index_of(const run::RunRequest& request, const archive::ShardPlan& plan) {
    const std::size_t index = plan::parse_shard_index(request.shard);
    if (index >= 1 && index <= plan.shards.size()) return index;
    return fail(ErrorKind::usage, fmt::format("the plan has no shard \"{}\"", request.shard),
                fmt::format("name one of its shards, 1 to {}", plan.shards.size()), "--shard");
}

Expected<run::StoredCommand> command_of(const archive::ShardPlan& plan, const run::RunRequest& now,
                                        const config::Invocation& invocation,
                                        const run::ParseCommand& parse) {
    auto command = TRY(run::parse_run_command(plan.run, invocation, parse));
    run::RunRequest& request = command.request;
    request.keyword = plan.asked.keyword;
    request.maxfail = plan.asked.maxfail;
    request.flaky_fails = plan.asked.flaky_fails;
    request.fail_on = plan.asked.fail_on;
    request.diagnose = plan.run.diagnose;
    request.reports = now.reports;
    request.verbosity = now.verbosity;
    request.dry_run = now.dry_run;
    return command;
}

// The shard's record in its folder: none, incomplete or complete.
Expected<std::optional<archive::RunRecord>> started_in(const fs::path& folder,
                                                       const archive::ShardPlan& plan) {
    if (!archive::has_record(folder)) return std::nullopt;
    if (!archive::has_start(folder)) {
        // Another start of this shard may be about to write it: a record that loses its first line
        // loses the shard.
        const auto lock = TRY(archive::RunLock::acquire(folder));
        if (!archive::has_start(folder)) {
            // The machine died before it was on the disk; no test had begun.
            std::error_code error;
            fs::remove(folder / "record.jsonl", error);
            return std::nullopt;
        }
    }
    auto record = TRY(archive::read_record(folder));
    if (record.info.plan != plan.run.id)
        return fail(ErrorKind::usage, fmt::format("this run is of the plan {}", record.info.plan),
                    "name another folder with --results", folder.string());
    return record;
}

}  // namespace

Expected<ExitCode> plan_shards(const PlanRequest& request, const config::Invocation& invocation) {
    const auto say = [&](std::string_view line) {
        if (request.run.verbosity >= 0) print("{}\n", printable(line));
    };
    if ((request.shards > 0) == request.target.has_value())
        return fail(ErrorKind::usage, "plan: how many shards is not said",
                    "use --shards N or --target-time TIME, one of them");
    auto fresh = TRY(run::open_new_run(request.run, invocation, say));
    run::Ready& ready = fresh.ready;
    TRY(run::make_ready(ready, run::Need::children, say));
    std::vector<std::string> notes;
    const fs::path results = fs::absolute(ready.settings.text(Setting::results));
    const auto plan =
        run::plan_whole_run(fresh, run::past_of_results(results, ready.suite.name, notes), true);
    if (!plan) return tl::unexpected(plan.error());
    TRY(run::check_pytest_options(ready, *plan));
    notes.insert(notes.end(), plan->notes.begin(), plan->notes.end());
    for (const auto& note : notes) say("note: " + note);
    archive::ShardPlan made;
    made.jobs = request.jobs > 0 ? request.jobs : ready.settings.jobs();
    const auto count = TRY(count_of(request, *plan, made.jobs));

    archive::RunFolder run;
    run.started = SystemClock().wall();
    run.id = make_run_id(run::series_of(ready), run.started, std::random_device{}());
    made.run = TRY(run::info_of_new_run(fresh, request.run, invocation, run));
    add_jobs(ready.settings, made.run.rerun_argv);
    made.asked = run::run_plan_of(fresh, request.run);
    plan::Cut cut = plan::cut(*plan, fresh.selection, count);
    made.cut = made.run.plan = cut.id;
    for (auto& jobs : cut.shards) {
        archive::PlannedShard& shard = made.shards.emplace_back();
        if (plan->has_durations) shard.expected_s = plan::expected_seconds(jobs, made.jobs);
        for (auto& job : jobs)
            shard.modules.push_back({std::move(job.module), std::move(job.only)});
    }
    TRY(archive::write_shard_plan(request.out, made));
    print_planned(made, plan->jobs.size(), request.out);
    return ExitCode::ok;
}

Expected<ExitCode> run_planned_shard(const run::RunRequest& now,
                                     const config::Invocation& invocation,
                                     const run::ParseCommand& parse) {
    auto plan = TRY(archive::read_shard_plan(now.plan));
    const auto index = TRY(index_of(now, plan));
    auto command = TRY(command_of(plan, now, invocation, parse));
    const auto results = TRY(config::results_folder(invocation));
    run::PartOfPlan part{plan.run.id,
                         archive::run_id_of_shard(plan, index),
                         std::move(plan.shards[index - 1].modules),
                         plan.run.expectations_file,
                         plan.run.expectations,
                         plan.run.subset};
    command.request.shard = fmt::format("{}/{}", index, plan.shards.size());
    const fs::path folder = results / "runs" / part.run;

    const auto started = TRY(started_in(folder, plan));
    if (!started || now.dry_run) {
        command.request.part = std::move(part);
        return run::run_suite(
            command.request,
            {command.flags, invocation.argv, command.passed_on, command.request.suite},
            run::run_once);
    }
    if (const auto& end = started->end; end && end->complete) {
        if (now.verbosity >= 0)
            print("shard {} is complete: {}\n", command.request.shard, printable(folder.string()));
        return static_cast<ExitCode>(end->exit_code);
    }
    return run::resume_shard({folder, started->info}, results, now.verbosity, invocation, parse);
}

}  // namespace compat::cluster
