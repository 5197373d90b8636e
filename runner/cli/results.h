// The stored results that the settings name, opened to read. Not here: opening them to write
// (archive/results.h).
#pragma once

#include <filesystem>

#include "runner/config/settings.h"
#include "runner/store/store.h"

namespace compat::cli {

struct Results {
    std::filesystem::path folder;
    store::Store store;
};

// Errors: usage, where nothing is stored there.
[[nodiscard]] Expected<Results> open_existing(const config::Invocation& invocation);

}  // namespace compat::cli
