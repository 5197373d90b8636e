// Things that cost minutes to make and are kept: sources, environments, shims. Each lies under a
// key made from what went into it, is made under a lock by one process while others wait, and is
// complete or absent.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"

namespace compat::prepare {

// A stable name for what `inputs` say, in their order: 32 hex digits.
[[nodiscard]] std::string content_key(const std::vector<std::string_view>& inputs);

// The folder's name of an entry: "name-key", of bounded length.
[[nodiscard]] std::string entry_name(std::string_view name, std::string_view key);

class Cache {
  public:
    explicit Cache(std::filesystem::path root) : root_(std::move(root)) {}

    // $COMPAT_CACHE, else $XDG_CACHE_HOME/runner, else ~/.cache/runner.
    [[nodiscard]] static std::filesystem::path default_root();

    using Make = std::function<Expected<std::string>(const std::filesystem::path& folder,
                                                     const std::filesystem::path& log)>;
    struct Entry {
        std::filesystem::path folder;
        std::string note;   // what `make` returned when the entry was made
        bool made = false;  // by this call
    };

    // The entry `kind/name-key` where it is complete.
    [[nodiscard]] std::optional<Entry> find(std::string_view kind, std::string_view name,
                                            std::string_view key) const;

    // The entry `kind/name-key`. Where it is absent or half-made, `make` fills its empty folder and
    // returns a note to keep with it; `log` beside the folder takes the output of what it runs.
    // What `make` leaves behind when it fails is thrown away by the next call.
    [[nodiscard]] Expected<Entry> get(std::string_view kind, std::string_view name,
                                      std::string_view key, const Make& make) const;
    [[nodiscard]] const std::filesystem::path& root() const { return root_; }

  private:
    std::filesystem::path root_;
};

}  // namespace compat::prepare
