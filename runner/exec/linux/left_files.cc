#include "runner/exec/linux/left_files.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "runner/base/isolation/file_tree.h"
#include "runner/exec/linux/sandbox_messages.h"

namespace compat::exec {

namespace {

// Files that are named; all are counted.
constexpr size_t kNamedFiles = 100;
constexpr size_t kNamesBytes = kLongestMessage / 2;  // as they are sent

std::string as_text(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string left_files_as_text(const fs::path& folder) {
    nlohmann::json files = nlohmann::json::array();
    size_t room = kNamesBytes;
    std::int64_t count = 0, bytes = 0;
    walk_files(folder, {.one_file_system = true, .most = kMostWalked}, [&](const auto& found) {
        ++count;
        bytes += static_cast<std::int64_t>(found.status.st_blocks) * 512;
        if (files.size() >= kNamedFiles || found.path.size() > room) return;
        const nlohmann::json entry{found.path, static_cast<std::int64_t>(found.status.st_size)};
        const size_t bytes_sent = as_text(entry).size() + 1;
        if (bytes_sent > room) return;
        room -= bytes_sent;
        files.push_back(entry);
    });
    return as_text({{"count", count}, {"bytes", bytes}, {"files", std::move(files)}});
}

}  // namespace compat::exec
