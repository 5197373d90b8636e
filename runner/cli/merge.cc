// `runner merge`: merges shards into one run.
#include "runner/run/merge.h"

#include "runner/cli/commands.h"

namespace compat::cli {

using config::Setting;

namespace {

Action add_merge(CLI::App& app, config::Invocation& invocation) {
    auto folders = std::make_shared<std::vector<std::string>>();
    app.add_option("FOLDER", *folders, "a shard's folder, or a results folder with shards")
        ->required();
    return exits_with_code(
        [folders, &invocation] { return run::merge_shards(*folders, invocation); });
}

}  // namespace

Command merge_command() {
    return {"merge shards into one run",
            {Setting::results},
            "Example:\n  runner merge shard-*/results --results merged",
            add_merge};
}

}  // namespace compat::cli
