// Compares the store of a hub with its locks: checks content, fetches in advance, and finds what
// nobody names. For commands; a run's hub needs none of it (hub.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/hub/hub.h"
#include "runner/hub/store/blobs.h"
#include "runner/hub/store/model.h"

namespace compat::hub {

// Content that a lock names and that the store lacks, or has damaged.
[[nodiscard]] std::vector<Named> find_damage(const Blobs& blobs, const Catalog& catalog);

struct Wanted {
    Kind kind = Kind::model;
    std::string name, revision = "main";
    std::vector<std::string> files{};  // empty: all
    std::string authorization{};       // a secret
};
struct Fetched {
    std::vector<Named> failed;
    std::size_t files = 0;  // that are there now
    std::uint64_t bytes = 0;
};
// Fetches what is lacking, and adds it to the lock of the settings. Errors: the repository cannot
// be had; those of Hub::start.
[[nodiscard]] Expected<Fetched> fetch(const Settings& settings, const Wanted& wanted);

struct Unnamed {
    std::string name;  // relative to the store
    std::uint64_t bytes = 0;
};
// Content that no catalog names, generated results that are older than `generated_before` (seconds
// since 1970), and interrupted downloads of that age. Follows no link.
[[nodiscard]] std::vector<Unnamed> find_unnamed(const fs::path& store,
                                                const std::vector<Catalog>& catalogs,
                                                std::int64_t generated_before);
// Links are removed, not what they point to.
void remove_unnamed(const fs::path& store, const std::vector<Unnamed>& files);

}  // namespace compat::hub
