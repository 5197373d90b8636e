#include "runner/nightly/nightly.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "runner/archive/prune.h"
#include "runner/archive/results.h"
#include "runner/base/files.h"
#include "runner/base/files/temporary_folder.h"
#include "runner/base/process/termination.h"
#include "runner/base/text.h"
#include "runner/display/output.h"
#include "runner/exec/signals.h"
#include "runner/nightly/cell.h"
#include "runner/nightly/night.h"
#include "runner/nightly/torch_pairs.h"
#include "runner/prepare/prepare.h"
#include "runner/prepare/share.h"
#include "runner/prepare/tool.h"
#include "runner/run/isolation/sandbox.h"
#include "runner/run/prune_runs.h"
#include "runner/site/last_night.h"
#include "runner/site/write_site.h"
#include "suites/nightly.h"

namespace compat::nightly {

using config::Setting;
using display::print;

namespace {

constexpr unsigned kNotifyLimitS = 600;

// Whatever the working folder has under such a name is another suite.
Expected<void> find_shipped_suites(suites::Nightly& file) {
    const auto share = TRY(prepare::find_share());
    for (auto& cell : file.cells)
        if (fs::path(cell.suite).is_relative())
            cell.suite = prepare::shipped_suite(cell.suite, share)
                             .value_or(file.file.parent_path() / cell.suite);
    return {};
}

Expected<void> write_summary(const Night& night) {
    return write_file(night.folder / site::kNightSummary, summary_json(night));
}

// Errors: environment, if pip finds none.
Expected<std::string> find_newest_torch(const config::Invocation& invocation,
                                        const fs::path& folder) {
    prepare::Options options;
    options.base_python = config::text_before_suite(invocation, Setting::base_python);
    const prepare::Cache cache(config::text_before_suite(invocation, Setting::cache));
    return prepare::newest_torch(options, cache, folder);
}

// Gives the file's cells the newest torch: `known`, in a night that goes on. `folder` gets what pip
// says of it. Empty: no cell asks for it.
std::optional<NewestTorch> set_newest_torch(suites::Nightly& file, const std::string& known,
                                            const config::Invocation& invocation,
                                            const fs::path& folder) {
    if (!suites::asks_for_newest_torch(file)) return std::nullopt;
    auto found = known.empty() ? find_newest_torch(invocation, folder) : known;
    if (!found) {
        found.error().message = "the newest torch is not known: " + found.error().message;
        return NewestTorch{{}, {}, std::move(found.error())};
    }
    std::string listed = suites::set_newest_torch(file, *found);
    return NewestTorch{std::move(*found), std::move(listed)};
}

void say_newest_torch(const NewestTorch& newest, const std::function<void(std::string_view)>& say) {
    if (newest.problem) return;  // each cell says it
    say(fmt::format("torch newest: {}{}", newest.version,
                    newest.listed.empty()
                        ? ""
                        : fmt::format("; the listed {} is the same release and has no cells of "
                                      "its own",
                                      newest.listed)));
}

struct BegunNight {
    Night night;
    EarlierNight earlier;  // that goes on; empty: the night is new
};

// The newest night, if it was interrupted.
Expected<BegunNight> earlier_night(const suites::Nightly& file) {
    const auto none = [&](std::string message) {
        return fail(ErrorKind::usage, std::move(message), "leave --resume out",
                    (file.results / site::kNights).string());
    };
    BegunNight begun;
    begun.night.folder = site::newest_night(file.results);
    if (begun.night.folder.empty()) return none("there is no night to resume");
    begun.earlier = TRY(read_summary(begun.night.folder / site::kNightSummary));
    if (begun.earlier.file != file.file.string())
        return none(fmt::format("the latest night is of {}", begun.earlier.file));
    if (begun.earlier.finished) return none("the latest night has ended");
    begun.night.started = begun.earlier.started;
    return begun;
}

Expected<BegunNight> new_night(const suites::Nightly& file) {
    Night night;
    night.started = SystemClock().wall();
    const fs::path name = file.results / site::kNights / file_timestamp(night.started);
    night.folder = name;
    std::error_code error;
    for (int i = 2; fs::exists(night.folder, error); ++i)  // a night of less than a second
        night.folder = fmt::format("{}-{}", name.string(), i);
    return make_directories(night.folder).map([&] { return BegunNight{night, {}}; });
}

// The newest torch decides which cells there are.
Night with_cells(BegunNight begun, suites::Nightly& file, const config::Invocation& invocation) {
    Night& night = begun.night;
    night.file = file.file;
    night.newest_torch =
        set_newest_torch(file, begun.earlier.newest_torch, invocation, night.folder);
    for (const auto& cell : file.cells) {
        night.cells.push_back({cell});
        if (const auto run = begun.earlier.runs.find(cell.series); run != begun.earlier.runs.end())
            night.cells.back().began = run->second;
    }
    return std::move(night);
}

// The isolation for cells that choose none: the sandbox if it works, because nights run other
// people's code.
std::string usual_isolation(const suites::Nightly& file,
                            const std::function<void(std::string_view)>& say) {
    const bool needed = std::any_of(file.cells.begin(), file.cells.end(), [](const auto& cell) {
        return !cell.settings.contains("isolation");
    });
    if (!needed) return "off";
    const auto works = run::check_sandbox();
    if (works) return "sandbox";
    say(fmt::format("isolation: tree, because the sandbox does not work here: {}",
                    to_line(works.error())));
    return "tree";
}

Expected<void> prune_series(const suites::Nightly& file) {
    if (!file.keep_runs && !file.keep_days) return {};
    auto store = TRY(archive::open_results(file.results));
    std::set<std::string> series;
    for (const auto& cell : file.cells) series.insert(cell.series);
    std::vector<archive::PruneRule> rules;
    for (const std::string& name : series) {
        if (file.keep_runs) rules.push_back({file.keep_runs, {}, name});
        if (file.keep_days)
            rules.push_back(
                {{}, SystemClock().wall() - std::chrono::hours(24) * *file.keep_days, name});
    }
    std::map<std::string, archive::RunToDelete> old;
    for (const auto& rule : rules) {
        auto plan = TRY(archive::plan_prune(store, file.results, rule));
        for (auto& run : plan.runs) old.emplace(run.run.id, std::move(run));
    }
    std::vector<archive::RunToDelete> runs;
    for (auto& [id, run] : old) runs.push_back(std::move(run));
    return runs.empty() ? Expected<void>{} : run::delete_runs(store, file.results, runs);
}

// `folder` has the summary and gets the program's output.
Expected<void> notify(const suites::Nightly& file, const fs::path& folder) {
    prepare::Tool tool;
    tool.argv = file.notify;
    if (tool.argv.front().find('/') != std::string::npos)
        tool.argv.front() = (file.file.parent_path() / tool.argv.front()).lexically_normal();
    tool.cwd = file.file.parent_path();
    tool.limit_s = kNotifyLimitS;
    tool.input = folder / site::kNightSummary;
    return prepare::run_tool(tool, folder / "notify.log");
}

// For a night whose disk is full: that is news.
Expected<void> notify_from_elsewhere(const suites::Nightly& file, const Night& night) {
    const auto folder = TRY(TemporaryFolder::create("night"));
    return write_file(folder.path() / site::kNightSummary, summary_json(night))
        .and_then([&] { return notify(file, folder.path()); })
        .map_error([](Error error) {
            error.advice.clear();  // where its output was
            return error;
        });
}

// After the cells; a step that fails does not keep the others from their work.
void close_night(const suites::Nightly& file, Night& night) {
    const auto step = [&](std::string_view what, const Expected<void>& done) {
        if (done) return;
        night.problems.push_back(fmt::format("{}: {}", what, to_line(done.error())));
        night.code = worst(std::array{night.code, exit_code_of(done.error().kind)});
    };
    auto pairs = torch_pairs(file.results, night.cells);
    step("the versions of torch could not be compared", pairs.map([](const auto&) {}));
    if (pairs) night.torch_pairs = std::move(*pairs);
    step("old runs could not be deleted", prune_series(file));
    (void)write_summary(night);  // for the site; the write below reports errors
    if (archive::has_database(file.results)) {
        const auto site = site::write_site(file.results, file.site);
        step("the site could not be written",
             site.map([&](const site::WrittenSite& written) { night.site = written.index; }));
    }
    night.finished = SystemClock().wall();
    const auto written = write_summary(night);
    step("the summary could not be written", written);
    if (file.notify.empty() || is_termination_pending()) return;
    const auto told = written ? notify(file, night.folder) : notify_from_elsewhere(file, night);
    if (told || told.error().kind == ErrorKind::interrupted) return;
    // Whatever the program's fault is: nobody was told.
    step("notify", fail(ErrorKind::spawn, told.error().message, told.error().advice));
    if (written) step("the summary could not be written", write_summary(night));
}

// `took`: of this command, by a clock that nobody sets.
void print_night(const Night& night, std::chrono::nanoseconds took) {
    print("\n{}", summary_text(night));
    for (const auto& problem : night.problems) print("{}\n", printable(problem));
    print("\n{} in {}\nsummary: {}\n", counted(static_cast<long>(night.cells.size()), "cell"),
          format_duration(took), printable((night.folder / site::kNightSummary).string()));
    if (!night.site.empty()) print("site: {}\n", printable(night.site.string()));
}

// A plan keeps nothing, also of what pip says.
Expected<void> find_torch_for_plan(suites::Nightly& file, NightSettings& settings,
                                   const config::Invocation& invocation) {
    const auto folder = TRY(TemporaryFolder::create("night"));
    auto newest = set_newest_torch(file, {}, invocation, folder.path());
    if (!newest) return {};
    if (newest->problem) newest->problem->advice.clear();  // where its output was
    say_newest_torch(*newest, [](std::string_view line) { print("{}\n", printable(line)); });
    settings.no_newest_torch = newest->problem;
    return {};
}

ExitCode print_plan(const suites::Nightly& file, const NightSettings& settings) {
    std::vector<ExitCode> codes;
    double all = 0;
    std::size_t unknown = 0;
    for (const auto& cell : file.cells) {
        const auto plan = plan_cell(cell, settings);
        const std::string name = fmt::format("{}, {}", cell.name, cell.title());
        if (!plan) {
            print("{}: cannot run: {}\n", printable(name), printable(to_line(plan.error())));
            codes.push_back(exit_code_of(plan.error().kind));
            continue;
        }
        const double seconds = plan->seconds / plan->jobs;
        all += seconds;
        unknown += plan->unknown;
        print("{}: {}, {}\n", printable(name), counted(static_cast<long>(plan->modules), "module"),
              plan->unknown == plan->modules
                  ? "no earlier durations"
                  : "about " + format_duration(std::chrono::duration<double>(seconds)));
    }
    print("{}{}{}; dry run, nothing was started\n",
          counted(static_cast<long>(file.cells.size()), "cell"),
          all > 0 ? "; about " + format_duration(std::chrono::duration<double>(all)) : "",
          unknown == 0 ? ""
                       : fmt::format("; {} without earlier durations",
                                     counted(static_cast<long>(unknown), "module")));
    return worst(codes);
}

// Stops after an interruption. The rest can be resumed.
ExitCode run_cells(const suites::Nightly& file, const NightSettings& settings, Night& night,
                   const std::function<void(std::string_view)>& say) {
    std::vector<ExitCode> codes;
    for (std::size_t i = 0; i < file.cells.size(); ++i) {
        const auto& cell = file.cells[i];
        say("");
        say(fmt::format("cell {} of {}: {}, {}", i + 1, file.cells.size(), cell.name,
                        cell.title()));
        const auto keep = [&] {
            if (auto written = write_summary(night); !written) say(to_line(written.error()));
        };
        const auto on_begin = [&](const std::string& id) {
            night.cells[i].began = id;
            keep();
        };
        night.cells[i] = run_cell(cell, settings, night.cells[i].began, on_begin);
        if (night.cells[i].run.empty()) say(night.cells[i].verdict());
        codes.push_back(night.cells[i].code);
        keep();
        // Between its run's loop and the next one nothing handles a signal.
        if (is_termination_pending()) codes.push_back(ExitCode::interrupted);
        if (codes.back() == ExitCode::interrupted) break;
    }
    return worst(codes);
}

}  // namespace

Expected<ExitCode> run_nightly(const NightlyRequest& request, const config::Invocation& invocation,
                               const run::ParseCommand& parse) {
    const auto say = [&](std::string_view line) {
        if (request.verbosity >= 0) print("{}\n", printable(line));
    };
    auto file = TRY(suites::load_nightly(request.file));
    TRY(find_shipped_suites(file));
    if (file.results.empty() || invocation.flags.contains(Setting::results)) {
        const auto folder = TRY(config::results_folder(invocation));
        file.results = folder;
    }
    if (file.site.empty()) file.site = file.results.parent_path() / "site";
    // A plan isolates nothing.
    NightSettings settings{file.results, "off", invocation, parse, request.verbosity};
    if (request.dry_run)
        return find_torch_for_plan(file, settings, invocation).map([&] {
            return print_plan(file, settings);
        });
    const SteadyTime since = SystemClock().steady();
    TRY(make_directories(file.results / site::kNights));
    const auto lock = archive::RunLock::acquire(file.results / site::kNights);
    if (!lock && lock.error().kind == ErrorKind::usage)
        return fail(ErrorKind::usage, "another night is running in this results folder",
                    "wait for it to end", file.results.string());
    if (!lock) return tl::unexpected(lock.error());
    auto begun = TRY(request.resume ? earlier_night(file) : new_night(file));
    Night night = with_cells(std::move(begun), file, invocation);
    if (night.newest_torch) {
        say_newest_torch(*night.newest_torch, say);
        settings.no_newest_torch = night.newest_torch->problem;
    }
    settings.isolation = usual_isolation(file, say);
    TRY(write_summary(night));
    site::mark_newest(night.folder);
    night.code = run_cells(file, settings, night, say);
    bool interrupted = night.code == ExitCode::interrupted;
    if (!interrupted) {
        exec::block_termination_signals();
        close_night(file, night);
        print_night(night, SystemClock().steady() - since);
        interrupted = is_termination_pending();
    }
    if (!interrupted) return night.code;
    night.finished.reset();  // to be resumed, which also tells whoever was not told
    print("interrupted; `runner nightly {} --resume` goes on with what is left\n",
          printable(request.file.string()));
    return write_summary(night).map([] { return ExitCode::interrupted; });
}

}  // namespace compat::nightly
