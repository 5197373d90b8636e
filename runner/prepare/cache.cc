#include "runner/prepare/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runner/base/files.h"
#include "runner/base/names.h"

namespace compat::prepare {

namespace {

// Held while an entry is checked or created; the kernel releases it when the process ends.
class Lock {
  public:
    explicit Lock(const fs::path& file)
        : fd_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
        while (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
        }
    }
    ~Lock() {
        if (fd_ >= 0) ::close(fd_);
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    [[nodiscard]] bool ok() const { return fd_ >= 0; }

  private:
    int fd_;
};

}  // namespace

std::string content_key(const std::vector<std::string_view>& inputs) {
    std::string all;
    for (const auto input : inputs) all += fmt::format("{}:{}", input.size(), input);
    boost::uuids::name_generator_sha1 generate(boost::uuids::ns::oid());
    std::string key = boost::uuids::to_string(generate(all));
    std::erase(key, '-');
    return key;
}

std::string entry_name(std::string_view name, std::string_view key) {
    return fmt::format("{}-{}", escaped_component(name), key.substr(0, 16));
}

fs::path Cache::default_root() {
    if (const char* own = std::getenv("COMPAT_CACHE"); own && *own) return own;
    if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg)
        return fs::path(xdg) / "runner";
    const char* home = std::getenv("HOME");
    return fs::path(home && *home ? home : "/tmp") / ".cache" / "runner";
}

std::optional<Cache::Entry> Cache::find(std::string_view kind, std::string_view name,
                                        std::string_view key) const {
    const std::string base = entry_name(name, key);
    Entry entry{root_ / kind / base, {}, false};
    std::error_code error;
    // `complete` is written last and by rename.
    auto note = read_file(root_ / kind / (base + ".complete"));
    if (!note || !fs::exists(entry.folder, error)) return std::nullopt;
    entry.note = std::move(*note);
    return entry;
}

Expected<Cache::Entry> Cache::get(std::string_view kind, std::string_view name,
                                  std::string_view key, const Make& make) const {
    const fs::path shelf = root_ / kind;
    const std::string base = entry_name(name, key);
    const fs::path complete = shelf / (base + ".complete");
    std::error_code error;

    // A complete entry needs no lock.
    if (auto entry = find(kind, name, key)) return *entry;
    TRY(make_directories(shelf));
    const Lock lock(shelf / (base + ".lock"));
    if (!lock.ok())
        return fail(ErrorKind::io, fmt::format("cannot lock the cache: {}", std::strerror(errno)),
                    "set COMPAT_CACHE to a writable folder", shelf.string());
    if (auto entry = find(kind, name, key)) return *entry;
    Entry entry{shelf / base, {}, true};
    fs::remove(complete, error);
    fs::remove_all(entry.folder, error);
    const fs::path log = shelf / (base + ".log");
    fs::remove(log, error);
    TRY(make_directories(entry.folder));
    auto note = make(entry.folder, log);
    if (!note) {
        fs::remove_all(entry.folder, error);
        return tl::unexpected(note.error());
    }
    entry.note = std::move(*note);
    TRY(write_file(complete, entry.note));
    return entry;
}

}  // namespace compat::prepare
