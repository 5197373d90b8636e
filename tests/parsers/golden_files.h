// The golden logs by module, for tests that go through them. Not for how they are kept
// (golden_archives.h).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "parsers/record.h"
#include "tests/parsers/golden_archives.h"

namespace compat::parsers::testing {

struct Golden {
    std::filesystem::path stem;  // unittest-3.13.0/test_states, to which the suffixes are added
    std::string framework;
    std::string version;
    std::string module;  // "test_states.py"

    [[nodiscard]] bool has(const std::string& suffix) const {
        return golden_archives().contains(stem.string() + suffix);
    }
    // The file's bytes; empty where there is none.
    [[nodiscard]] std::string read(const std::string& suffix) const {
        const auto at = golden_archives().find(stem.string() + suffix);
        return at == golden_archives().end() ? std::string() : at->second;
    }
    // As the shell saw the framework's process end: 128 + n for a signal.
    [[nodiscard]] ProcessEnd end() const { return end_of(stem.string()); }
    // The same of the harness's process: unlike unittest it takes SkipTest at import for a skip.
    [[nodiscard]] ProcessEnd harness_end() const { return end_of(stem.string() + ".harness"); }

  private:
    [[nodiscard]] static ProcessEnd end_of(const std::string& name) {
        static const auto kStatuses =
            nlohmann::json::parse(file_bytes(golden_root() / "manifest.json"));
        const int status = kStatuses.at(name);
        if (status > 128) return {ProcessEnd::Kind::signaled, status - 128, "SIGSEGV"};
        return {ProcessEnd::Kind::exited, status, {}};
    }
};

inline std::ostream& operator<<(std::ostream& out, const Golden& golden) {
    return out << golden.framework << " " << golden.version << " " << golden.module;
}

inline std::string golden_bytes(const std::string& file) {
    const auto at = golden_archives().find(file);
    EXPECT_NE(at, golden_archives().end()) << file;
    return at == golden_archives().end() ? std::string() : at->second;
}

// The paths of the golden files with that extension, in folders whose names begin so.
inline std::vector<std::filesystem::path> golden_paths(std::string_view folders,
                                                       std::string_view extension) {
    std::vector<std::filesystem::path> all;
    for (const auto& [name, bytes] : golden_archives())
        if (name.starts_with(folders) && name.ends_with(extension)) all.emplace_back(name);
    return all;
}

// Every module under every version of `framework`.
inline std::vector<Golden> goldens(const std::string& framework) {
    std::vector<Golden> all;
    for (const auto& file : golden_paths(framework + "-", ".log")) {
        const std::string stem = file.stem().string();
        const std::string version = file.parent_path().string().substr(framework.size() + 1);
        if (!stem.ends_with(".harness"))
            all.push_back({file.parent_path() / stem, framework, version, stem + ".py"});
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
