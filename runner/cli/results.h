// Opens the results folder of the settings for reading. Not for writing (archive/results.h).
#pragma once

#include <filesystem>

#include "runner/config/settings.h"
#include "runner/store/store.h"

namespace compat::cli {

struct Results {
    std::filesystem::path folder;
    store::Store store;
};

// Errors: usage, if nothing is stored there.
[[nodiscard]] Expected<Results> open_existing(const config::Invocation& invocation);

}  // namespace compat::cli
