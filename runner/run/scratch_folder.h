// A temporary folder, removed by the destructor.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace compat::run {

class ScratchFolder {
  public:
    ScratchFolder() {
        std::error_code error;
        std::string name = (std::filesystem::temp_directory_path(error) / "runner-XXXXXX").string();
        if (!error && ::mkdtemp(name.data())) path_ = name;
    }
    ~ScratchFolder() {
        std::error_code error;
        if (!path_.empty()) std::filesystem::remove_all(path_, error);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    // Empty: it could not be made.
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace compat::run
