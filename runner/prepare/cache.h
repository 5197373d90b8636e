// A cache for sources, environments and shims, which take minutes to create. An entry's key is a
// hash of its inputs; one process creates it under a lock while others wait; it is complete or
// absent. Not here: the content of entries (environment.cc, source.cc, shim.cc).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"

namespace compat::prepare {

// A hash of `inputs` in their order: 32 hex digits.
[[nodiscard]] std::string content_key(const std::vector<std::string_view>& inputs);

// The folder of an entry: "name-key", with a bounded length.
[[nodiscard]] std::string entry_name(std::string_view name, std::string_view key);

class Cache {
  public:
    explicit Cache(const fs::path& root) : root_(fs::absolute(root)) {}

    // $COMPAT_CACHE, else $XDG_CACHE_HOME/runner, else ~/.cache/runner.
    [[nodiscard]] static fs::path default_root();

    using Make = std::function<Expected<std::string>(const fs::path& folder, const fs::path& log)>;
    struct Entry {
        fs::path folder;
        std::string note;   // what `make` returned
        bool made = false;  // by this call
    };

    // The entry `kind/name-key` if it is complete.
    [[nodiscard]] std::optional<Entry> find(std::string_view kind, std::string_view name,
                                            std::string_view key) const;

    // The entry `kind/name-key`. If it is absent or incomplete, `make` fills its empty folder and
    // returns a note to store with it; `log`, beside the folder, is for the output of tools. A
    // failed `make` leaves no entry.
    [[nodiscard]] Expected<Entry> get(std::string_view kind, std::string_view name,
                                      std::string_view key, const Make& make) const;
    [[nodiscard]] const fs::path& root() const { return root_; }

  private:
    fs::path root_;
};

}  // namespace compat::prepare
