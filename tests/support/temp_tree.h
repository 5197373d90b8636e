// A temporary folder for one test, removed with it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace compat::test {

class TempTree {
  public:
    TempTree() {
        std::string pattern = (std::filesystem::temp_directory_path() / "compat-XXXXXX").string();
        if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp");
        root_ = pattern;
    }
    TempTree(const TempTree&) = delete;
    TempTree& operator=(const TempTree&) = delete;
    ~TempTree() {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }

    [[nodiscard]] const std::filesystem::path& root() const { return root_; }

    // Creates parent folders; returns the whole path.
    std::filesystem::path write(const std::filesystem::path& path,
                                std::string_view text = {}) const {
        const std::filesystem::path whole = root_ / path;
        std::filesystem::create_directories(whole.parent_path());
        std::ofstream file(whole, std::ios::binary);
        file << text;
        if (!file.flush()) throw std::runtime_error("cannot write " + whole.string());
        return whole;
    }

  private:
    std::filesystem::path root_;
};

}  // namespace compat::test
