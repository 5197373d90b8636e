// `runner merge`: the shards of a run as one run.
#include "runner/run/merge.h"

#include "runner/cli/commands.h"

namespace compat::cli {

using config::Setting;

namespace {

Action add_merge(CLI::App& app, config::Invocation& invocation) {
    auto databases = std::make_shared<std::vector<std::string>>();
    app.add_option("DB", *databases, "results folder, or the runner.db in it")->required();
    return exits_with_code(
        [databases, &invocation] { return run::merge_shards(*databases, invocation); });
}

}  // namespace

Command merge_command() {
    return {"merge shards into one run",
            {Setting::results},
            "Example:\n  runner merge shard-*/results --results merged",
            add_merge};
}

}  // namespace compat::cli
