// A new folder for temporary files, removed with the value. Not for files that outlive a command.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/isolation/file_tree.h"

namespace compat::run {

class TemporaryFolder {
  public:
    // `name` is part of the folder's: "runner-NAME-XXXXXX". Errors: io.
    [[nodiscard]] static Expected<TemporaryFolder> create(std::string_view name) {
        namespace fs = std::filesystem;
        std::error_code error;
        std::string pattern =
            (fs::temp_directory_path(error) / fmt::format("runner-{}-XXXXXX", name)).string();
        if (error || !::mkdtemp(pattern.data()))
            return fail(ErrorKind::io, "cannot make a temporary folder",
                        "set TMPDIR to a folder that can be written", pattern);
        const fs::path real = fs::canonical(pattern, error);
        return TemporaryFolder(error ? fs::path(pattern) : real);
    }
    TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder() {
        if (!path_.empty()) remove_tree(path_);
    }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

}  // namespace compat::run
