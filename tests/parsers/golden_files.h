// The real logs under tests/parsers/golden (made by regenerate.sh), for tests that go through them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "parsers/record.h"
#include "tests/paths.h"

namespace compat::parsers::testing {

struct Golden {
    std::filesystem::path stem;  // …/unittest-3.12.1/test_states, to which the suffixes are added
    std::string framework;
    std::string version;
    std::string module;  // "test_states.py"

    [[nodiscard]] bool has(const std::string& suffix) const {
        return std::filesystem::exists(stem.string() + suffix);
    }
    // The file's bytes; empty where there is none.
    [[nodiscard]] std::string read(const std::string& suffix) const {
        std::ifstream in(stem.string() + suffix, std::ios::binary);
        std::ostringstream out;
        out << in.rdbuf();
        return out.str();
    }
    // As the shell saw the framework's process end: 128 + n for a signal.
    [[nodiscard]] ProcessEnd end() const { return end_of(read(".status")); }
    // The same of the harness's process: unlike unittest it takes SkipTest at import for a skip.
    [[nodiscard]] ProcessEnd harness_end() const { return end_of(read(".harness.status")); }

  private:
    [[nodiscard]] static ProcessEnd end_of(const std::string& text) {
        const int status = std::stoi(text);
        if (status > 128) return {ProcessEnd::Kind::signaled, status - 128, "SIGSEGV"};
        return {ProcessEnd::Kind::exited, status, {}};
    }
};

inline std::ostream& operator<<(std::ostream& out, const Golden& golden) {
    return out << golden.framework << " " << golden.version << " " << golden.module;
}

inline std::filesystem::path golden_folder() {
    return std::filesystem::path(COMPAT_SOURCE_DIR) / "tests/parsers/golden";
}

// The bytes of a file under the folder.
inline std::string golden_bytes(const std::string& file) {
    std::ifstream in(golden_folder() / file, std::ios::binary);
    EXPECT_TRUE(in) << file;
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

// Every module under every version of `framework`.
inline std::vector<Golden> goldens(const std::string& framework) {
    std::vector<Golden> all;
    for (const auto& folder : std::filesystem::directory_iterator(golden_folder())) {
        const std::string name = folder.path().filename().string();
        if (!name.starts_with(framework + "-")) continue;
        for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
            if (file.path().extension() != ".log") continue;
            const std::string stem = file.path().stem().string();
            if (stem.ends_with(".harness")) continue;
            all.push_back(
                {folder.path() / stem, framework, name.substr(framework.size() + 1), stem + ".py"});
        }
    }
    std::sort(all.begin(), all.end(),
              [](const Golden& a, const Golden& b) { return a.stem < b.stem; });
    return all;
}

inline std::string golden_name(const ::testing::TestParamInfo<Golden>& info) {
    std::string name = info.param.version + "_" + info.param.stem.filename().string();
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return name;
}

}  // namespace compat::parsers::testing
