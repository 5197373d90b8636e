// hub.lock.json: the repositories and addresses that were recorded, with the digests of their
// content (docs/reference/file-formats.md). Read strictly: it decides which bytes tests get. Not
// for generated content, which no lock has, nor for the content itself (blobs.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runner/base/error.h"
#include "runner/base/files/fd.h"
#include "runner/base/files/fs.h"
#include "runner/hub/store/model.h"

namespace compat::hub {

inline constexpr int kLockFormat = 1;
// A longer one is neither read nor written.
inline constexpr std::uint64_t kLockBytes = 64 << 20;

// Errors: suite, with file:line:column; io.
[[nodiscard]] Expected<Catalog> read_lock(const fs::path& file);
// Changes when the file does; empty: there is none.
[[nodiscard]] std::string lock_identity(const fs::path& file);
// Until it is closed, no other run holds the lock, by its folder. Waits for half a second at most.
[[nodiscard]] Fd hold_lock(const fs::path& file);
// In one step, with the folder. Errors: io; what it would have is too long.
[[nodiscard]] Expected<void> write_lock(const fs::path& file, const Catalog& catalog);
// `file`: its name in errors.
[[nodiscard]] Expected<Catalog> parse_lock(std::string_view text, const fs::path& file);

// Sorted, a line for each file, so that a difference reads well. Can always be read again.
[[nodiscard]] std::string lock_text(const Catalog& catalog);

// A file as a lock has it. The cache of generated content has it too.
[[nodiscard]] nlohmann::json json_of(const File& file);
[[nodiscard]] Expected<File> file_of(const nlohmann::json& json);

// The members that are kept of what the hub says of a repository, of the types that clients expect,
// small and shallow, so that nothing which came from elsewhere can make a lock unreadable.
[[nodiscard]] nlohmann::json kept_info(const nlohmann::json& info);

}  // namespace compat::hub
