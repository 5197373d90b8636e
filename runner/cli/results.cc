#include "runner/cli/results.h"

#include "runner/archive/results.h"

namespace compat::cli {

namespace fs = std::filesystem;

Expected<Results> open_existing(const config::Invocation& invocation) {
    return config::results_folder(invocation)
        .and_then(archive::existing_results)
        .and_then([](const fs::path& folder) {
            return store::Store::open(folder / "runner.db", store::Store::Mode::read_only)
                .map([&](store::Store&& store) {
                    return Results{folder, std::move(store)};
                });
        });
}

}  // namespace compat::cli
