// `runner merge`: merges shards into one run.
#include "runner/cluster/merge.h"

#include "runner/cli/commands.h"

namespace compat::cli {

namespace {

Action add_merge(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<cluster::MergeRequest>();
    auto* const folders =
        app.add_option("FOLDER", request->folders,
                       "a shard's folder, or a results folder with shards; not needed with --plan")
            ->required();
    auto* const plan =
        app.add_option("--plan", request->plan, "merge the shards of the plan in FILE")
            ->type_name("FILE")
            ->each([folders](const std::string&) { folders->required(false); });
    auto* const missing = app.add_flag("--allow-missing", request->allow_missing,
                                       "also merge if shards did not run, or not to their end");
    app.add_option("--reasons", request->reasons, "file that says why shards ended early")
        ->type_name("FILE")
        ->needs(plan)
        ->needs(missing);
    return exits_with_code(
        [request, &invocation] { return cluster::merge_shards(*request, invocation); });
}

}  // namespace

Command merge_command() {
    return {"merge shards into one run",
            {Setting::results},
            "Examples:\n"
            "  runner merge shard-*/results --results merged\n"
            "  runner merge --plan plan.json --allow-missing",
            add_merge};
}

}  // namespace compat::cli
