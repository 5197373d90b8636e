// `runner blame`: since when a test is broken, and what changed then.
#include "runner/site/blame.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/results.h"
#include "runner/cli/results/show_test.h"
#include "runner/display/history_strip.h"
#include "runner/display/output.h"
#include "runner/display/terminal.h"

namespace compat::cli {

namespace {

constexpr std::size_t kChangesShown = 12;

std::string format_run(const site::BlameRun& run) {
    return fmt::format("{}  {}{}{}", run.id, iso8601(run.started),
                       run.torch.empty() ? "" : "  torch " + printable(run.torch),
                       run.commit.empty() ? "" : "  commit " + printable(run.commit));
}

std::string describe_standing(const site::BlameColumn& column) {
    using analysis::Standing;
    const analysis::Ledger& ledger = column.ledger;
    switch (ledger.standing) {
        case Standing::flaky:
            return fmt::format("flaky: {} of its last {} runs show it", ledger.flaky,
                               ledger.window);
        case Standing::broken:
            return ledger.last_good ? "broken" : "broken in all runs";
        case Standing::passing:
            return ledger.first_bad ? "passing again" : "passing in all runs";
        case Standing::idle:
            break;
    }
    return "does not run";
}

void print_changes(const site::ChangedBetween& changed) {
    if (!changed.known) {
        print("    changed    not known: a run has no fingerprint\n");
    } else if (changed.environment.empty()) {
        print("    changed    nothing that the fingerprint holds\n");
    }
    const auto& all = changed.environment;
    for (std::size_t i = 0; i < std::min(all.size(), kChangesShown); ++i)
        print("    {:<10} {}: {} -> {}\n", i == 0 ? "changed" : "", printable(all[i].name),
              printable(all[i].baseline.value_or("none")), printable(all[i].run.value_or("none")));
    if (all.size() > kChangesShown)
        print("    {:<10} and {} more: `runner compare` lists them\n", "",
              all.size() - kChangesShown);
}

void print_column(const site::BlameColumn& column, bool color) {
    constexpr std::size_t kIndent = 4;
    const std::size_t width = display::terminal_size().columns;
    print("\n{}: {}\n", printable(column.column), describe_standing(column));
    print("    {}\n",
          display::history_strip(column.states, width - std::min(width, kIndent), color));
    if (!column.first_bad) return;
    if (column.changed) print_changes(*column.changed);
    print("    last good  {}\n",
          column.last_good ? format_run(*column.last_good) : "none is stored");
    print("    first bad  {}\n", format_run(*column.first_bad));
    print("    flips      {} in {}; {} only when retried\n", column.ledger.flips,
          counted(column.ledger.ran, "run"), counted(column.ledger.retried, "pass", "passes"));
    if (!column.error.empty())
        print("    error      {}\n               in {}\n", printable(column.error),
              column.error_run);
}

Expected<ExitCode> print_blame(const site::BlameRequest& request,
                               const config::Invocation& invocation) {
    const auto results = TRY(open_existing(invocation));
    auto views = site::blame(results.store, request);
    if (!views && views.error().kind == ErrorKind::usage) {
        // The rest of the names are read only now.
        const auto only = TRY(only_test_with(results, request.test, {}, views.error()));
        if (only == request.test) return tl::unexpected(views.error());
        views = site::blame(results.store, {only, request.series, request.column});
    }
    if (!views) return tl::unexpected(views.error());
    const bool color = display::use_color(config::text_before_suite(invocation, Setting::color));
    std::set<parsers::State> used;
    for (const site::BlameView& view : *views) {
        print("{}  ({})\n", printable(view.test), printable(view.suite));
        for (const site::BlameColumn& column : view.columns) {
            print_column(column, color);
            used.insert(column.states.begin(), column.states.end());
        }
        print("\n");
    }
    print("{}\n", display::history_legend(used, color));
    return ExitCode::ok;
}

Action add_blame(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<site::BlameRequest>();
    app.add_option("TEST", request->test, "id of a test, or a part that only it has")->required();
    app.add_option("--series", request->series, "only runs of this series")->type_name("NAME");
    app.add_option("--column", request->column,
                   "only this column of a nightly matrix, or device: \"cuda (simulated)\"")
        ->type_name("NAME");
    return exits_with_code([request, &invocation] { return print_blame(*request, invocation); });
}

}  // namespace

Command blame_command() {
    return {"show since when a test is broken, and what changed",
            {Setting::results, Setting::color},
            "Reads the complete runs of each series: the first bad run, the last good run\n"
            "before it, and what differs between their environments.\n"
            "Examples:\n"
            "  runner blame 'tests/test_ops.py::Ops::test_add'\n"
            "  runner blame test_add --column 'cuda (simulated)'",
            add_blame};
}

}  // namespace compat::cli
