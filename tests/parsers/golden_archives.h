// The golden files as they stand in the archives under tests/parsers/golden (goldens.py makes
// them). Not for what a test wants of them (golden_files.h).
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "tests/paths.h"

namespace compat::parsers::testing {

inline std::string file_bytes(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline std::filesystem::path golden_root() {
    return std::filesystem::path(COMPAT_SOURCE_DIR) / "tests/parsers/golden";
}

// Adds the files of one archive: a line "-- NAME --" before each, a newline after it.
inline void add_archive(const std::filesystem::path& archive,
                        std::map<std::string, std::string>& files) {
    const std::string folder = archive.parent_path().filename().string() + "/";
    std::vector<std::string*> added;
    std::ifstream in(archive, std::ios::binary);
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("-- ") && line.ends_with(" --"))
            added.push_back(&files[folder + line.substr(3, line.size() - 6)]);
        else
            added.back()->append(line) += '\n';
    for (std::string* const file : added) file->pop_back();
}

// The bytes of each by its path: "unittest-3.13.0/test_states.log".
inline const std::map<std::string, std::string>& golden_archives() {
    static const auto kFiles = [] {
        std::map<std::string, std::string> files;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(golden_root()))
            if (entry.path().extension() == ".archive") add_archive(entry.path(), files);
        return files;
    }();
    return kFiles;
}

}  // namespace compat::parsers::testing
