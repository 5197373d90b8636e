// Opens the results folder of the settings for reading. Not for writing (archive/results.h).
#pragma once

#include "runner/archive/results.h"
#include "runner/base/files/fs.h"
#include "runner/cluster/unpacked.h"
#include "runner/config/settings.h"
#include "runner/store/store.h"

namespace compat::cli {

struct Results {
    fs::path folder;
    store::Store store;
};

// Errors of all: usage, if nothing is stored there.
[[nodiscard]] inline Expected<Results> open_existing(const fs::path& results) {
    return archive::existing_results(results).and_then([](const fs::path& folder) {
        return store::Store::open(folder / "runner.db", store::Store::Mode::read_only)
            .map([&](store::Store&& store) {
                return Results{folder, std::move(store)};
            });
    });
}
[[nodiscard]] inline Expected<Results> open_existing(const config::Invocation& invocation) {
    return cluster::place_of({}, invocation).and_then([](const cluster::RunPlace& place) {
        return open_existing(place.results);
    });
}
// Also where `run` is an archive of one, which is then replaced by the run's name.
[[nodiscard]] inline Expected<Results> open_existing(const config::Invocation& invocation,
                                                     std::string& run) {
    return cluster::place_of(run, invocation).and_then([&](cluster::RunPlace&& place) {
        run = std::move(place.run);
        return open_existing(place.results);
    });
}

}  // namespace compat::cli
