// Files that a run's tests wrote into the run's own folders, for its record and reports. Not here:
// finding it (runner/run/isolation).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace compat {

struct WrittenFile {
    std::string path;    // relative to the place
    std::string change;  // new, changed, deleted
    std::int64_t bytes = 0;

    friend bool operator==(const WrittenFile&, const WrittenFile&) = default;
};

// The most files that are named of each place; all are counted.
inline constexpr std::size_t kNamedWrites = 200;
// source: the suite's; home: HOME; tmp: TMPDIR.
inline constexpr std::array<std::string_view, 3> kWritePlaces{"source", "home", "tmp"};

struct WrittenFiles {
    std::string place;
    std::int64_t count = 0;
    std::int64_t bytes = 0;
    std::vector<WrittenFile> files{};  // by path, at most kNamedWrites

    void add(WrittenFile file) {
        ++count;
        bytes += file.bytes;
        if (files.size() < kNamedWrites) files.push_back(std::move(file));
    }
    friend bool operator==(const WrittenFiles&, const WrittenFiles&) = default;
};

// Those of another part of the run. A file that both name is named once.
inline void add_writes(std::vector<WrittenFiles>& to, const std::vector<WrittenFiles>& more) {
    for (const WrittenFiles& other : more) {
        const auto known = std::find_if(to.begin(), to.end(),
                                        [&](const auto& own) { return own.place == other.place; });
        if (known == to.end()) {
            to.push_back(other);
            continue;
        }
        known->count += other.count;
        known->bytes += other.bytes;
        for (const WrittenFile& file : other.files)
            if (std::find(known->files.begin(), known->files.end(), file) != known->files.end())
                --known->count, known->bytes -= file.bytes;
            else if (known->files.size() < kNamedWrites)
                known->files.push_back(file);
    }
}

// For nlohmann_json, which this library does not know.
template <class Json>
void to_json(Json& json, const WrittenFile& file) {
    json = Json{{"path", file.path}, {"change", file.change}, {"bytes", file.bytes}};
}
template <class Json>
void from_json(const Json& json, WrittenFile& file) {
    json.at("path").get_to(file.path);
    json.at("change").get_to(file.change);
    json.at("bytes").get_to(file.bytes);
}
template <class Json>
void to_json(Json& json, const WrittenFiles& files) {
    json = Json{{"place", files.place},
                {"count", files.count},
                {"bytes", files.bytes},
                {"files", files.files}};
}
template <class Json>
void from_json(const Json& json, WrittenFiles& files) {
    json.at("place").get_to(files.place);
    json.at("count").get_to(files.count);
    json.at("bytes").get_to(files.bytes);
    json.at("files").get_to(files.files);
}

}  // namespace compat
