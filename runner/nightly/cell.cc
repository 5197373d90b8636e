#include "runner/nightly/cell.h"

#include <algorithm>
#include <array>

#include "runner/analysis/expectations/judge.h"
#include "runner/archive/results.h"
#include "runner/cluster/run_on_slurm.h"
#include "runner/compare/baseline.h"
#include "runner/display/output.h"
#include "runner/run/new_run.h"
#include "runner/run/ready.h"
#include "runner/run/run_suite.h"
#include "runner/site/series.h"

namespace compat::nightly {

namespace {

using config::Setting;

struct CellCommand {
    run::RunRequest request;
    config::Invocation invocation;
    bool on_slurm = false;
};

// Errors: the cell asks for the newest torch, and nobody knows it.
Expected<void> check_torch(const suites::NightlyCell& cell, const NightSettings& night) {
    const bool is_unknown = cell.torch == suites::kNewestTorch && night.no_newest_torch;
    return is_unknown ? tl::unexpected(*night.no_newest_torch) : Expected<void>{};
}

CellCommand command_of(const suites::NightlyCell& cell, const NightSettings& night) {
    CellCommand command;
    command.request.suite = cell.suite;
    command.request.targets = cell.targets;
    command.request.column = cell.column;
    command.request.verbosity = night.verbosity;
    command.invocation = night.invocation;
    command.invocation.passed_on = cell.options;
    command.invocation.suite = cell.suite;
    config::Flags& flags = command.invocation.flags;
    for (const auto& row : config::kSettings)
        if (const auto given = cell.settings.find(std::string(row.key));
            !row.key.empty() && given != cell.settings.end())
            flags[row.setting] = given->second;
    flags[Setting::results] = night.results.string();
    flags[Setting::name] = cell.series;
    flags.emplace(Setting::isolation, night.isolation);
    command.on_slurm = cell.settings.contains("on");
    return command;
}

Expected<std::optional<store::RunSummary>> stored_run(const store::Store& store,
                                                      const std::string& id) {
    auto runs = TRY(store.runs());
    const auto found =
        std::find_if(runs.begin(), runs.end(), [&](const auto& run) { return run.id == id; });
    if (found == runs.end()) return std::nullopt;
    return std::move(*found);
}

// Where the night is resumed and the cell had begun.
Expected<std::optional<store::RunSummary>> earlier_run(const std::string& begun,
                                                       const NightSettings& night) {
    if (begun.empty() || !archive::has_database(night.results)) return std::nullopt;
    const auto store = TRY(archive::open_results(night.results));
    return stored_run(store, begun);
}

struct Executed {
    ExitCode code = ExitCode::ok;
    std::string run{};  // empty: none is stored
};

Expected<Executed> execute(CellCommand command, const NightSettings& night,
                           const std::string& begun) {
    const auto earlier = TRY(earlier_run(begun, night));
    if (const auto& run = earlier; run && run->end && run->end->complete) {
        if (night.verbosity >= 0) display::print("complete already: {}\n", run->id);
        return Executed{static_cast<ExitCode>(run->end->exit_code), run->id};
    }
    if (earlier && !command.on_slurm) {
        config::Invocation resumed = night.invocation;
        resumed.flags[Setting::results] = night.results.string();
        return run::resume_run({begun, night.verbosity}, resumed, night.parse)
            .map([&](ExitCode code) {
                return Executed{code, begun};
            });
    }
    const auto ran = command.on_slurm ? cluster::run_on_slurm(command.request, command.invocation)
                                      : run::run_once(command.request, command.invocation);
    return ran.map([](const run::RunResult& result) { return Executed{result.code, result.id}; });
}

// The ids of the tests whose results nothing expects.
struct Unexpected {
    std::vector<std::pair<std::string, parsers::State>> broken;
    std::size_t passes = 0;
};

Expected<Unexpected> unexpected_of(const store::Store& store, const store::StoredRun& run) {
    const auto verdicts = TRY(store.verdicts(run.info.id));
    const auto expectations = analysis::expectations_of(run.info);
    Unexpected found;
    for (const auto& verdict : verdicts) {
        const auto judged =
            expectations.judge_state(verdict.test, verdict.state, run.info.framework);
        if (judged.fit == analysis::Fit::unexpected_failure)
            found.broken.emplace_back(verdict.test, verdict.state);
        if (judged.fit == analysis::Fit::unexpected_pass) ++found.passes;
    }
    return found;
}

// New ones first, then by id.
void sort_tests(std::vector<UnexpectedTest>& tests) {
    std::stable_sort(tests.begin(), tests.end(),
                     [](const UnexpectedTest& a, const UnexpectedTest& b) {
                         return std::pair(!a.is_new, a.id) < std::pair(!b.is_new, b.id);
                     });
}

// `series`: of the run, up to it. Empty: the run is not complete, so it is judged by itself and
// nothing is flaky.
Expected<void> add_broken(const store::Store& store, const std::optional<site::Series>& series,
                          const store::StoredRun& run, CellResult& result) {
    const auto unexpected = TRY(unexpected_of(store, run));
    const auto& broken = unexpected.broken;
    result.all_broken = broken.size();
    if (broken.empty()) return {};
    std::vector<std::string> ids;
    for (const auto& [id, state] : broken) ids.push_back(id);
    const auto flaky = TRY(series ? site::quarantined(store, *series, ids)
                                  : Expected<std::vector<std::string>>(std::vector<std::string>{}));
    result.flaky = flaky.size();
    const bool only_flaky = result.code == ExitCode::unexpected_results &&
                            flaky.size() == ids.size() && unexpected.passes == 0;
    if (only_flaky) result.code = ExitCode::ok;
    for (const auto& [id, state] : broken) {
        if (result.broken.size() == kBlamedTests) break;
        UnexpectedTest& test = result.broken.emplace_back();
        test.id = id;
        test.state = state;
        test.is_flaky = std::binary_search(flaky.begin(), flaky.end(), id);
        if (!series) continue;
        test.blame = TRY(site::blame_in(store, *series, id));
        test.is_new =
            test.blame && test.blame->first_bad && test.blame->first_bad->id == result.run;
    }
    sort_tests(result.broken);
    return {};
}

// Leaves out flaky tests, whose changes are no news.
Expected<void> add_changes(const store::Store& store, const std::optional<site::Series>& series,
                           const reports::Comparison& compared, CellResult& result) {
    using analysis::ChangeClass;
    result.changes = compared.counts;
    for (const auto& [change, count] : {std::pair(ChangeClass::regressed, &CellResult::regressed),
                                        std::pair(ChangeClass::fixed, &CellResult::fixed)}) {
        result.*count = compared.count(change);
        std::vector<std::string> ids;
        for (const auto& test : compared.tests)
            if (test.change == change) ids.push_back(test.id);
        if (ids.empty() || !series) continue;
        const auto flaky = TRY(site::quarantined(store, *series, ids));
        result.*count -= static_cast<std::int64_t>(flaky.size());
    }
    return {};
}

Expected<void> describe(const NightSettings& night, CellResult& result) {
    const auto store = TRY(archive::open_results(night.results));
    auto found = TRY(stored_run(store, result.run));
    if (!found)
        return fail(ErrorKind::nothing_selected, "no test was selected, so no run is stored");
    result.stored = std::move(found);
    const auto run = TRY(store.load_run(result.run));
    return store.snapshot([&]() -> Expected<void> {
        const auto series = TRY(site::series_until(store, result.run));
        const auto compared = TRY(compare::compare_with_past({&store, result.run}));
        if (compared && !compared->columns.empty()) {
            result.baseline = compared->baseline.id;
            TRY(add_changes(store, series, compared->columns.front(), result));
        }
        return add_broken(store, series, run, result);
    });
}

}  // namespace

CellResult run_cell(const suites::NightlyCell& cell, const NightSettings& night, std::string begun,
                    const std::function<void(const std::string& id)>& on_begin) {
    const SystemClock clock;
    CellResult result{cell};
    result.begun = true;
    CellCommand command = command_of(cell, night);
    command.request.on_begin = [&](const std::string& id) {
        begun = id;
        on_begin(id);
    };
    const SteadyTime start = clock.steady();
    const auto ran = check_torch(cell, night).and_then([&] {
        return execute(std::move(command), night, std::string(begun));
    });
    result.seconds = std::chrono::duration<double>(clock.steady() - start).count();
    result.began = begun;
    if (!ran) {
        result.code = exit_code_of(ran.error().kind);
        result.problem = to_line(ran.error());
        return result;
    }
    result.code = ran->code;
    result.run = ran->run;
    if (const auto described = describe(night, result); !described) {
        result.code = worst(std::array{result.code, exit_code_of(described.error().kind)});
        result.problem = to_line(described.error());
    }
    return result;
}

Expected<CellPlan> plan_cell(const suites::NightlyCell& cell, const NightSettings& night) {
    TRY(check_torch(cell, night));
    const CellCommand command = command_of(cell, night);
    const auto say = [](std::string_view) {};
    auto fresh = TRY(run::open_new_run(command.request, command.invocation, say));
    TRY(run::make_ready(fresh.ready, run::Need::modules, say));
    std::vector<std::string> notes;
    const auto past = run::past_of_results(night.results, fresh.ready.suite.name, notes);
    const auto plan = TRY(run::plan_whole_run(fresh, past, false));
    CellPlan planned{plan.jobs.size(), 0, 0, fresh.ready.settings.jobs()};
    for (const auto& job : plan.jobs) {
        const auto known = past.seconds.find(job.module);
        if (known == past.seconds.end())
            ++planned.unknown;
        else
            planned.seconds += known->second;
    }
    return planned;
}

}  // namespace compat::nightly
