// Content by its SHA-256: the files "blobs/<sha256>" of the store. They are checked before a test
// gets them, and no link is followed. Not for which repository has which content (model.h).
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fd.h"
#include "runner/base/files/file_below.h"
#include "runner/http/address.h"
#include "runner/http/body.h"

namespace compat::hub {

inline constexpr std::uint64_t kGeneratedFileBytes = 64 << 20;

// Changes when the file does.
[[nodiscard]] std::string identity_of(const struct stat& status);

struct Content {
    std::string sha256;
    std::string oid;  // git's id of it
    std::uint64_t size = 0;
};

class Blobs {
  public:
    // Makes the folders of the store. Errors: io.
    [[nodiscard]] static Expected<std::unique_ptr<Blobs>> open(const fs::path& store);

    [[nodiscard]] const fs::path& store() const { return store_; }
    // Whether a regular file of this name and size is there.
    [[nodiscard]] bool has(const std::string& sha256, std::uint64_t size) const;

    // To send. Small content is hashed here; large content while it is sent whole: its last piece
    // is withheld from the client if the rest is not what it should be, and `on_damage` is called;
    // a client that asks for the rest then gets an error. Call `check` before a part of content
    // that `needs_check`.
    // Errors (io): lacking or damaged, in words.
    using OnDamage = std::function<void(const std::string& why)>;
    [[nodiscard]] Expected<std::function<std::unique_ptr<http::Body>(http::ByteRange)>> body_of(
        const std::string& sha256, std::uint64_t size, OnDamage on_damage);

    // Whether it is too large to be hashed at once, and was not read whole since it changed.
    [[nodiscard]] bool needs_check(const std::string& sha256, std::uint64_t size);
    // Hashes it, for `body_of`. Takes seconds; ends early once `is_stopped`.
    void check(const std::string& sha256, std::uint64_t size, const std::atomic<bool>& is_stopped);

    // Reads and hashes all of it. Errors (io): lacking or damaged.
    [[nodiscard]] Expected<void> verify(const std::string& sha256, std::uint64_t size) const;

    // Copies a file that another program wrote, and may still change, into the store. Errors: it is
    // no regular file below that folder, or too large; io.
    [[nodiscard]] Expected<Content> keep(const FileBelow& from, std::uint64_t most);
    [[nodiscard]] Expected<Content> keep(std::string_view bytes);

  private:
    explicit Blobs(fs::path store) : store_(std::move(store)) {}
    [[nodiscard]] FileBelow file(const std::string& sha256) const;
    [[nodiscard]] Expected<Fd> open_blob(const std::string& sha256, std::uint64_t size) const;
    enum class Verdict { unknown, right, damaged };
    [[nodiscard]] Verdict verdict_of(const std::string& sha256, const std::string& identity);
    void set_verdict(const std::string& sha256, const std::string& identity, bool is_right);
    [[nodiscard]] Expected<Content> keep_pieces(
        const std::function<Expected<std::string_view>()>& next);

    fs::path store_;
    std::mutex mutex_;
    std::map<std::string, std::pair<std::string, bool>> verdicts_;  // SHA-256 -> which file, right
    std::uint64_t made_ = 0;
};

}  // namespace compat::hub
