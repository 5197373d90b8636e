#include "runner/porting/columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/display/output.h"
#include "runner/run/collect.h"
#include "runner/run/fingerprint.h"
#include "runner/run/ready.h"
#include "runner/run/variables.h"

namespace compat::porting {

using config::Setting;
using display::print;
using reports::ColumnRow;
using reports::kColumns;

namespace {

// With n streams, the chance that a test breaks on a device by its numbers alone and then with none
// of the streams is p (1 - p)^n for a test that a share p of all streams breaks: at most 1.8 %.
constexpr int kDefaultSeeds = 20;

// Lets the zygote of a run import while the run before it uses its own. Where anything is wrong
// with that run, it says so itself.
void start_early(const run::RunRequest& request, const config::Invocation& invocation,
                 const run::Preload& preload, run::SharedByRuns& shared) {
    const auto silent = [](std::string_view) {};
    auto ready = run::open_suite(request.suite, invocation, silent);
    auto from_user = run::parse_variables(request.env);
    if (!ready || !from_user || ready->settings.jobs() < 2) return;
    ready->child.from_user = std::move(*from_user);
    if (run::make_ready(*ready, run::Need::children, silent, shared.prepared))
        shared.zygote = run::early_zygote(*ready, run::series_of(*ready), preload);
}

// Plain CPU lacks these tests. Another column may have them; a name that no column has is
// misspelled, and the other runs would only repeat that.
Expected<void> check_names(std::vector<std::string> ids, const run::RunRequest& request,
                           const config::Invocation& invocation, const run::SharedByRuns& shared) {
    const auto silent = [](std::string_view) {};
    const auto from_user = TRY(run::parse_variables(request.env));
    for (const ColumnRow& column : kColumns) {
        // The same tests as with fallback.
        const bool repeats =
            column.device().has_fallback && !column.fallback && !column.redirects();
        if (column.column == reports::kBaseline || repeats) continue;
        if (ids.empty()) return {};
        auto ready = TRY(run::open_suite(request.suite, invocation_of(invocation, column), silent));
        ready.child.from_user = from_user;
        TRY(run::make_ready(ready, run::Need::children, silent, shared.prepared));
        ids = TRY(run::ids_without_tests(ids, ready));
    }
    if (ids.empty()) return {};
    return fail(ErrorKind::usage,
                fmt::format("porting: {} on plain CPU or a simulated device",
                            ids.size() == 1 ? "no such test" : "no such tests"),
                "correct the name; the other columns were not run",
                fmt::format("{}", fmt::join(ids, ", ")));
}

// The command line that makes a column, as the user asked for it.
std::string command_of(const run::RunRequest& request, const config::Invocation& invocation) {
    std::vector<std::string> words{"runner", request.suite};
    words.insert(words.end(), request.targets.begin(), request.targets.end());
    if (!request.keyword.empty()) words.insert(words.end(), {"-k", request.keyword});
    for (const auto& row : config::kSettings) {
        const auto flag = invocation.flags.find(row.setting);
        if (flag == invocation.flags.end()) continue;
        const std::string name(config::long_flag(row));
        if (config::is_switch(row))
            words.push_back(flag->second == "on" ? name : "--no-" + name.substr(2));
        else
            words.insert(words.end(), {name, flag->second});
    }
    for (const std::string& variable : request.env) words.insert(words.end(), {"--env", variable});
    if (!invocation.passed_on.empty()) words.emplace_back("--");
    words.insert(words.end(), invocation.passed_on.begin(), invocation.passed_on.end());
    return shell_quoted(run::masked(words));
}

}  // namespace

config::Invocation invocation_of(const config::Invocation& invocation, const ColumnRow& column) {
    config::Invocation own = invocation;
    if (!column.shim) own.flags[Setting::shim] = "off";
    own.flags[Setting::simulate] = column.simulated.empty() ? "off" : column.simulated;
    own.flags[Setting::policy] = column.shim ? column.policy : "missing";
    if (column.policy != "missing") own.flags.erase(Setting::masquerade);
    if (column.device().has_fallback) own.flags[Setting::fallback] = column.fallback ? "on" : "off";
    for (const auto& row : config::kSettings)
        if (!config::is_taken_with(row, column.simulated)) own.flags.erase(row.setting);
    return own;
}

const ColumnRow& hardest_column() {
    return *std::max_element(kColumns.begin(), kColumns.end(), [](const auto& a, const auto& b) {
        const auto own = [](const ColumnRow& row) {
            return std::ranges::count_if(config::kSettings, [&](const auto& setting) {
                return row.device().takes(setting.key);
            });
        };
        return own(a) < own(b);
    });
}

run::RunRequest request_of(const run::RunRequest& request,
                           std::shared_ptr<run::SharedByRuns> shared) {
    run::RunRequest own = request;
    own.shared = std::move(shared);
    own.keep_empty = true;
    own.diagnose = false;
    own.discovery_printed = true;
    return own;
}

Expected<ColumnSettings> prepare_columns(const run::RunRequest& request,
                                         const config::Invocation& invocation,
                                         run::SharedByRuns& shared) {
    const auto say = [&](std::string_view line) {
        if (request.verbosity >= 0) print("{}\n", printable(line));
    };
    TRY(run::parse_variables(request.env));
    auto ready =
        TRY(run::open_suite(request.suite, invocation_of(invocation, hardest_column()), say));
    TRY(run::make_ready(ready, run::Need::children, say));
    shared.prepared = ready.prepared;
    const auto is_default = [&](Setting setting) {
        return ready.settings[setting].source == config::Source::fallback;
    };
    ColumnSettings columns{invocation,
                           is_default(Setting::seeds) ? kDefaultSeeds : ready.settings.seeds()};
    // The columns have torch's own numbers, also where a variable or a file names seeds.
    columns.invocation.flags.erase(Setting::seeds);
    if (!is_default(Setting::seeds) &&
        ready.settings[Setting::seeds].source != config::Source::flag)
        columns.invocation.flags[Setting::seeds] = "0";
    if (is_default(Setting::retries)) columns.invocation.flags[Setting::retries] = "1";
    return columns;
}

Expected<Columns> run_columns(const run::RunRequest& request, const config::Invocation& invocation,
                              const std::shared_ptr<run::SharedByRuns>& shared) {
    Columns columns;
    std::string stopped;
    for (size_t i = 0; i < kColumns.size(); ++i) {
        ColumnRun& run = columns.runs[i];
        if (!stopped.empty()) {
            run.why_missing = stopped;
            run.command = command_of(request, invocation_of(invocation, kColumns[i]));
            continue;
        }
        if (request.verbosity >= 0)
            print("{}{} ({} of {})\n", i == 0 ? "" : "\n", reports::format_column(kColumns[i]),
                  i + 1, kColumns.size());
        run::RunRequest own = request_of(request, shared);
        own.options_checked = i > 0;
        shared->start_next = nullptr;
        if (i + 1 < kColumns.size())
            shared->start_next = [&, next = invocation_of(invocation, kColumns[i + 1])](
                                     const run::Preload& preload) {
                start_early(request, next, preload, *shared);
            };
        const auto result = run::run_once(own, invocation_of(invocation, kColumns[i]));
        if (!result && i == 0) return tl::unexpected(result.error());
        if (!result) {
            columns.error = result.error();
            stopped = run.why_missing = to_line(result.error());
            run.command = command_of(request, invocation_of(invocation, kColumns[i]));
            continue;
        }
        run.id = result->id;
        if (i == 0) TRY(check_names(result->unmatched, request, invocation, *shared));
        if (result->code == ExitCode::interrupted) {
            columns.interrupted = true;
            stopped = "interrupted before it began";
        }
    }
    return columns;
}

}  // namespace compat::porting
