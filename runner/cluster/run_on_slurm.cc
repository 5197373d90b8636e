#include "runner/cluster/run_on_slurm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "runner/archive/run_record.h"
#include "runner/archive/shard_plan.h"
#include "runner/base/files.h"
#include "runner/base/host.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/cluster/job_options.h"
#include "runner/cluster/merge.h"
#include "runner/cluster/plan_shards.h"
#include "runner/cluster/progress.h"
#include "runner/cluster/watch.h"
#include "runner/display/output.h"
#include "runner/display/progress_json.h"
#include "runner/exec/signals.h"
#include "runner/prepare/share.h"
#include "runner/slurm/client.h"
#include "suites/units.h"

namespace compat::cluster {

using config::Setting;

namespace {

constexpr const char* kPlanName = "plan.json";
constexpr std::size_t kShardsAtFirst = 8;  // while no duration is known
// Slurm is asked ever more rarely: a controller serves many.
constexpr std::chrono::milliseconds kFirstPause{500};
constexpr std::chrono::milliseconds kLongestPause{10'000};
constexpr std::chrono::seconds kAsked{10};       // a second Ctrl-C within it cancels
constexpr std::chrono::minutes kUnanswered{10};  // without an answer of Slurm

// Lines for people, or notes among the events for programs.
class Lines {
  public:
    Lines(int verbosity, bool json) : verbosity_(verbosity), json_(json) {}
    void operator()(const std::string& line) const {
        if (json_)
            display::put(stdout, display::progress_line(exec::Note{line}, {}, {}, now()) + "\n");
        if (verbosity_ >= 0) display::print("{}\n", printable(line));
    }

  private:
    static display::Moment now() { return {SystemClock().wall(), SystemClock().steady()}; }
    int verbosity_;
    bool json_;
};

struct Job {
    std::string id;
    fs::path folder;  // of the job's files
    archive::ShardPlan plan;
    bool accounting = false;
};

std::string last_line_of(const fs::path& file) {
    const auto text = read_file(file).value_or("");
    const size_t end = text.find_last_not_of(" \n\r\t");
    if (end == text.npos) return {};
    const size_t begin = text.find_last_of('\n', end);
    constexpr size_t kMost = 200;
    return text.substr(begin == text.npos ? 0 : begin + 1, end - begin).substr(0, kMost);
}

// Why each element left tests behind; also the file that `merge` reads.
archive::ShardReasons reasons_of(const Job& job, const SlurmWatch& watch) {
    archive::ShardReasons reasons;
    for (std::size_t i = 1; i <= job.plan.shards.size(); ++i) {
        auto reason = watch.reason(i);
        if (!reason) continue;
        if (reason->starts_with("FAILED"))
            if (const auto line = last_line_of(job.folder / fmt::format("shard-{}.log", i));
                !line.empty())
                *reason += ": " + line;
        reasons.emplace(i, std::move(*reason));
    }
    return reasons;
}

Expected<void> write_reasons(const fs::path& file, const archive::ShardPlan& plan,
                             const archive::ShardReasons& reasons) {
    nlohmann::ordered_json json{{"format", 1}, {"plan", plan.run.id}};
    json["reasons"] = nlohmann::ordered_json::object();
    for (const auto& [index, reason] : reasons) json["reasons"][std::to_string(index)] = reason;
    return write_file(file,
                      json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

// Waits for all elements, and keeps what Slurm says of them as soon as it says it.
class Wait {
  public:
    Wait(Job& job, const fs::path& results, const Lines& say)
        : job_(job),
          watch_(job.id, job.plan.shards.size()),
          progress_(job.plan, results),
          say_(say),
          signals_(io_, {[this](const std::string& reason) { stop(reason); },
                         [this] { say_(status()); }, [] {}, [] {}, [] {}}) {}

    // Errors: environment, where Slurm gives no answer any more; io.
    Expected<void> until_over() {
        for (answered_ = Clock::now(); !watch_.over() && !abandoned_; pause()) TRY(look());
        note_given_up();
        show();
        if (watch_.lacks_ends() && job_.accounting)
            if (const auto rows = slurm::accounted(job_.id)) watch_.take_accounted(*rows);
        return keep();
    }
    void hand_over_signals() { signals_.hand_over(io_); }
    [[nodiscard]] bool cancelled() const { return cancelled_; }
    [[nodiscard]] archive::ShardReasons reasons() const { return reasons_of(job_, watch_); }

  private:
    using Clock = std::chrono::steady_clock;

    Expected<void> look() {
        const auto seen = slurm::queue(job_.id);
        if (!seen) {
            if (Clock::now() - answered_ > kUnanswered)
                return fail(
                    ErrorKind::environment, "Slurm gives no answer: " + to_line(seen.error()),
                    fmt::format("the job {} may still run; when it has ended, `runner merge "
                                "--plan {} --allow-missing` makes the run",
                                job_.id, (job_.folder / kPlanName).string()));
            return {};
        }
        answered_ = Clock::now();
        const auto changes = watch_.take(*seen);
        for (const auto& change : changes)
            say_(fmt::format("shard {}: {}", change.index,
                             change.requeued ? describe_requeues(change.index)
                                             : watch_.reason(change.index).value_or("")));
        show();
        return changes.empty() ? Expected<void>{} : keep();
    }

    std::string describe_requeues(std::size_t index) const {
        std::string why;
        if (job_.accounting)
            if (const auto rows = slurm::accounted(job_.id))
                for (const auto& row : *rows)
                    if (row.index == index && row.state != "PENDING")
                        why = fmt::format(": {} on {}", row.state, row.node);
        return fmt::format("Slurm requeued it{}; it goes on when it starts again", why);
    }

    void note_given_up() {
        for (std::size_t i = 1; i <= job_.plan.shards.size(); ++i) {
            if (watch_.reason(i)) continue;
            const auto nodes = read_file(job_.folder / fmt::format("shard-{}.gave-up", i));
            if (!nodes) continue;
            watch_.gave_up(i, nodes->substr(0, nodes->find('\n')));
            say_(fmt::format("shard {}: {}", i, watch_.reason(i).value_or("")));
        }
    }

    void show() {
        for (const auto& line : progress_.new_lines()) say_(line);
        if (auto now = status(); now != shown_) say_(shown_ = std::move(now));
    }

    [[nodiscard]] std::string status() const {
        return fmt::format("Slurm job {}: {}; {}", job_.id, watch_.words(), progress_.words());
    }

    Expected<void> keep() {
        return write_reasons(job_.folder / "reasons.json", job_.plan, reasons());
    }

    void pause() {
        const auto until = Clock::now() + pause_;
        io_.restart();
        while (!woken_ && Clock::now() < until) io_.run_one_until(until);
        pause_ = woken_ ? kFirstPause : std::min(kLongestPause, pause_ + pause_ / 4);
        woken_ = false;
    }

    // On a terminal a slip of the hand must not end hours of work on other machines.
    void stop(const std::string& reason) {
        const auto now = Clock::now();
        const bool asks = reason.ends_with("SIGINT") && ::isatty(STDIN_FILENO) != 0;
        if (cancelled_) {
            abandoned_ = true;
        } else if (asks && now - asked_ > kAsked) {
            asked_ = now;
            say_(fmt::format("Ctrl-C again within {} s cancels the Slurm job {}; else it goes on",
                             kAsked.count(), job_.id));
            return;
        } else {
            cancelled_ = true;
            const auto cancelled = slurm::cancel(job_.id);
            say_(cancelled ? fmt::format("{}: cancelled the Slurm job {}, waiting for its end",
                                         reason, job_.id)
                           : to_line(cancelled.error()));
        }
        woken_ = true;
    }

    Job& job_;
    SlurmWatch watch_;
    ShardProgress progress_;
    const Lines& say_;
    boost::asio::io_context io_;
    exec::Signals signals_;
    Clock::time_point answered_{};
    Clock::time_point asked_ = Clock::now() - 2 * kAsked;
    std::string shown_;
    std::chrono::milliseconds pause_ = kFirstPause;
    bool cancelled_ = false, abandoned_ = false, woken_ = false;
};

PlanRequest plan_request(const run::RunRequest& request, const config::Settings& settings,
                         const fs::path& out) {
    PlanRequest plan;
    plan.run = request;
    plan.out = out;
    const std::string& cpus = settings.text(Setting::slurm_cpus);
    // Where neither is given, Slurm allots one CPU.
    if (!settings[Setting::jobs].given()) plan.jobs = cpus.empty() ? 1 : std::stoi(cpus);
    if (const std::string& shards = settings.text(Setting::slurm_shards); !shards.empty()) {
        plan.shards = std::stoul(shards);
    } else {
        plan.target = suites::parse_duration(settings.text(Setting::slurm_target_time));
        plan.shards_at_first = kShardsAtFirst;
    }
    return plan;
}

Expected<void> check_array(const slurm::Cluster& cluster, std::size_t shards) {
    if (cluster.max_array_size == 0 || shards < cluster.max_array_size) return {};
    return fail(ErrorKind::usage,
                fmt::format("the plan has {} shards, but this cluster's arrays have at most {} "
                            "(MaxArraySize)",
                            shards, cluster.max_array_size - 1),
                "set fewer with --slurm-shards, or a longer slurm_target_time");
}

std::size_t modules_of(const archive::ShardPlan& plan) {
    std::size_t modules = 0;
    for (const auto& shard : plan.shards) modules += shard.modules.size();
    return modules;
}

slurm::BatchJob batch_job(const Job& job, const prepare::Share& share,
                          const config::Settings& settings, const fs::path& results) {
    slurm::BatchJob batch;
    batch.name = job.plan.run.id;
    batch.options = job_options(settings);
    batch.elements = job.plan.shards.size();
    if (const auto& most = settings.text(Setting::slurm_in_flight); !most.empty())
        batch.in_flight = std::stoul(most);
    batch.requeue = true;
    batch.script = share.slurm / "shard.sh";
    const std::string& setup = settings.text(Setting::slurm_setup);
    batch.arguments = {program_path().string(), job.folder.string(), results.string(),
                       setup.empty() ? "" : fs::absolute(setup).string()};
    batch.log = job.folder / "shard-%a.log";
    batch.folder = fs::current_path();
    return batch;
}

// The job's files go with the run. The folders of the shards are copied into a run that is whole;
// of one that is not, they are kept: nothing is lost, whatever `merge` left out.
void tidy(const Job& job, const fs::path& results, const run::RunResult& run) {
    std::error_code error;
    const fs::path folder = results / "runs" / run.id;
    const auto record = archive::read_record(folder);
    if (record && record->end && record->end->complete && run.code != ExitCode::unaccounted)
        for (std::size_t i = 1; i <= job.plan.shards.size(); ++i)
            fs::remove_all(results / "runs" / archive::run_id_of_shard(job.plan, i), error);
    fs::rename(job.folder, folder / "slurm", error);
}

void say_out_of_memory(const archive::ShardReasons& reasons, const Lines& say) {
    for (const auto& [index, reason] : reasons)
        if (reason.starts_with("OUT_OF_MEMORY"))
            say(fmt::format("shard {}: {}: what SIGKILL ended there had no memory left", index,
                            reason));
}

// Waits until the job is over. True: it was cancelled.
Expected<bool> wait_for(Job& job, const fs::path& results, const Lines& say) {
    Wait wait(job, results, say);
    const auto waited = wait.until_over();
    wait.hand_over_signals();
    if (!waited) return tl::unexpected(waited.error());
    say_out_of_memory(wait.reasons(), say);
    return wait.cancelled();
}

Expected<run::RunResult> merge_job(const Job& job, const run::RunRequest& request,
                                   const config::Settings& settings, const fs::path& results,
                                   config::Invocation invocation) {
    MergeRequest merge;
    merge.plan = (job.folder / kPlanName).string();
    merge.allow_missing = true;
    merge.reasons = (job.folder / "reasons.json").string();
    merge.reports = request.reports;
    merge.reports.issue_text = settings.on(Setting::issue_text);
    invocation.flags[Setting::results] = results.string();
    return merge_into_run(merge, invocation);
}

}  // namespace

Expected<run::RunResult> run_on_slurm(const run::RunRequest& request,
                                      const config::Invocation& invocation) {
    if (!request.shard.empty())
        return fail(ErrorKind::usage, "--shard does not go with --on slurm",
                    "Slurm's array job is the shards; --slurm-shards sets their number", "--shard");
    const auto settings = TRY(config::Settings::resolve(invocation, nullptr));
    const auto share = TRY(prepare::find_share());
    const auto cluster = TRY(slurm::cluster());
    const Lines say(request.verbosity, settings.text(Setting::progress) == "json");

    const fs::path results = fs::absolute(settings.text(Setting::results));
    Job job;
    job.accounting = cluster.accounting;
    job.folder =
        results / "slurm" / make_run_id("job", SystemClock().wall(), std::random_device{}());
    TRY(make_directories(job.folder));
    const fs::path file = job.folder / kPlanName;
    const auto planned = plan_shards(plan_request(request, settings, file), invocation)
                             .and_then([&](ExitCode) { return archive::read_shard_plan(file); })
                             .and_then([&](archive::ShardPlan plan) {
                                 job.plan = std::move(plan);
                                 return check_array(cluster, job.plan.shards.size());
                             });
    std::error_code error;
    if (!planned || modules_of(job.plan) == 0) {
        fs::remove_all(job.folder, error);
        if (!planned) return tl::unexpected(planned.error());
        say("no test was selected: no job was submitted");
        return run::RunResult{ExitCode::nothing_selected, {}, {}};
    }

    exec::block_termination_signals();
    auto id = slurm::submit(batch_job(job, share, settings, results));
    if (!id) {
        fs::remove_all(job.folder, error);
        return tl::unexpected(id.error());
    }
    job.id = std::move(*id);
    say(fmt::format("submitted the Slurm job {}; its files: {}", job.id, job.folder.string()));
    const auto cancelled = TRY(wait_for(job, results, say));
    auto run = TRY(merge_job(job, request, settings, results, invocation));
    tidy(job, results, run);
    if (cancelled) run.code = ExitCode::interrupted;
    return run;
}

Expected<run::RunResult> run_here_or_there(const run::RunRequest& request,
                                           const config::Invocation& invocation) {
    const bool is_shard = !request.shard.empty() && !invocation.flags.contains(Setting::on);
    const bool there = !request.part && !is_shard && !request.dry_run &&
                       config::text_before_suite(invocation, Setting::on) == "slurm";
    return there ? run_on_slurm(request, invocation) : run::run_once(request, invocation);
}

}  // namespace compat::cluster
