// A new folder for temporary files, removed with the value. Not for files that outlive a command.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/base/isolation/file_tree.h"

namespace compat {

class TemporaryFolder {
  public:
    // `name` is part of the folder's: "runner-NAME-XXXXXX". Errors: io.
    [[nodiscard]] static Expected<TemporaryFolder> create(std::string_view name) {
        namespace fs = std::filesystem;
        std::error_code error;
        std::string pattern =
            (fs::temp_directory_path(error) / (start_of_name(name) + "XXXXXX")).string();
        if (error || !::mkdtemp(pattern.data()))
            return fail(ErrorKind::io, "cannot make a temporary folder",
                        "set TMPDIR to a folder that can be written", pattern);
        const fs::path real = fs::canonical(pattern, error);
        return TemporaryFolder(error ? fs::path(pattern) : real);
    }
    // Whether a path from an untrusted file can be that of a folder from `create(name)`.
    [[nodiscard]] static bool may_have_made(const fs::path& path, std::string_view name) {
        namespace fs = std::filesystem;
        std::error_code error;
        const fs::path parent = fs::canonical(fs::temp_directory_path(error), error);
        return !error && path.parent_path() == parent &&
               path.filename().string().starts_with(start_of_name(name));
    }
    TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder() {
        if (!path_.empty()) remove_tree(path_);
    }
    [[nodiscard]] const fs::path& path() const { return path_; }

  private:
    static std::string start_of_name(std::string_view name) {
        return fmt::format("runner-{}-", name);
    }
    explicit TemporaryFolder(fs::path path) : path_(std::move(path)) {}
    fs::path path_;
};

}  // namespace compat
