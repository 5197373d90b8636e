// `runner plan`: plans a run once, for many machines.

#include "runner/base/files/fs.h"
#include "runner/cli/commands.h"
#include "runner/cli/options/checks.h"
#include "runner/cli/options/run_options.h"
#include "runner/cluster/plan_shards.h"
#include "runner/plan/cut.h"
#include "suites/units.h"

namespace compat::cli {

namespace {

Action add_plan(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<cluster::PlanRequest>();
    app.add_option("SUITE", request->run.suite, kSuiteHelp)->required();
    add_selection(app, request->run, invocation.flags);
    add_conditions(app, request->run);
    auto* const shards = app.add_option("--shards", request->shards, "cut into N shards")
                             ->type_name("N")
                             ->check(in_range(1, plan::kMaxShards));
    app.add_option_function<std::string>(
           "--target-time",
           [request](const std::string& text) {
               request->target = suites::parse_duration(text);
               if (!request->target)
                   throw CLI::ValidationError("--target-time",
                                              "write a duration, as in 90s, 30m or 1h30m");
           },
           "cut into shards that take at most TIME each")
        ->type_name("TIME")
        ->excludes(shards);
    app.add_option_function<std::string>(
           "--out", [request](const std::string& file) { request->out = fs::absolute(file); },
           "file to write")
        ->type_name("FILE")
        ->required();
    return exits_with_code(
        [request, &invocation] { return cluster::plan_shards(*request, invocation); });
}

}  // namespace

Command plan_command() {
    auto settings = run_settings();
    // Those of a run's output.
    for (const auto shown : {Setting::progress, Setting::color}) std::erase(settings, shown);
    std::erase_if(settings, [](Setting one) {
        const auto& row = config::row_of(one);
        return config::is_of_place(row) || config::is_of_reports(row);
    });
    return {"split a run into shards for many machines", std::move(settings),
            "Each machine runs `runner run --plan FILE --shard I`, I from 1 to N;\n"
            "`runner merge --plan FILE` makes one run of them.\n"
            "Example:\n"
            "  runner plan suites/gpytorch --target-time 10m --out plan.json",
            add_plan, true};
}

}  // namespace compat::cli
