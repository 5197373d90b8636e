#include "runner/base/isolation/file_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace compat {

namespace {

// Folders that are open at once: 32 KiB each.
constexpr std::size_t kMostOpen = 32;

struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

OpenFolder open_folder(int at, const char* name, int also = O_NOFOLLOW) {
    const int fd = ::openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | also);
    if (fd < 0) return nullptr;
    OpenFolder folder(::fdopendir(fd));
    if (!folder) ::close(fd);
    return folder;
}

// Depth first. Only the deepest folders on the way from the top are open. One that is needed again
// is opened as `..`, read up to its old position, and must be the same folder.
class TreeWalk {
  public:
    struct Entry {
        int folder;  // a descriptor
        const char* name;
        const FoundFile& found;
    };
    // Whether the entry stays where it is.
    using Handle = std::function<bool(const Entry&)>;

    Handle file, folder_before, folder_after;  // folder_before: whether to enter it
    std::function<void(const FoundFile&, int)> unread;
    std::size_t longest = kLongestWalked;
    bool is_over = false;  // set by one of these: nothing more is read

    void run(OpenFolder top) {
        enter(std::move(top));
        while (!levels_.empty() && !is_over) next();
    }

  private:
    struct Level {
        OpenFolder open;
        std::int64_t passed = 0;  // entries that were read and are still there
        std::size_t path_bytes = 0;
        dev_t device = 0;
        ino_t inode = 0;
    };

    void enter(OpenFolder folder) {
        struct stat status {};
        if (!folder || ::fstat(::dirfd(folder.get()), &status) != 0) return;
        levels_.push_back({std::move(folder), 0, path_.size(), status.st_dev, status.st_ino});
        if (levels_.size() > kMostOpen) levels_[levels_.size() - kMostOpen - 1].open.reset();
    }

    void next() {
        Level& level = levels_.back();
        path_.resize(level.path_bytes);
        const dirent* entry = ::readdir(level.open.get());
        if (!entry) return leave();
        ++level.passed;
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") return;
        if (!path_.empty()) path_ += '/';
        path_ += name;
        const int folder = ::dirfd(level.open.get());
        struct stat status {};
        if (::fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
        const FoundFile found{path_, status};
        const Entry seen{folder, entry->d_name, found};
        if (!S_ISDIR(status.st_mode)) {
            if (!file(seen)) --level.passed;
        } else if (folder_before(seen)) {
            const bool is_long = path_.size() >= longest;
            const auto depth = levels_.size();
            if (!is_long) enter(open_folder(folder, entry->d_name));
            if (levels_.size() > depth) return;
            if (unread) unread(found, is_long ? ENAMETOOLONG : errno);
            if (!is_long && !folder_after(seen)) --level.passed;
        }
    }

    void leave() {
        const OpenFolder done = std::move(levels_.back().open);
        levels_.pop_back();
        if (levels_.empty()) return;
        Level& parent = levels_.back();
        if (!parent.open && !open_again(parent, ::dirfd(done.get()))) return levels_.clear();
        const std::size_t name = parent.path_bytes == 0 ? 0 : parent.path_bytes + 1;
        struct stat status {};
        const FoundFile found{path_, status};
        if (!folder_after({::dirfd(parent.open.get()), path_.c_str() + name, found}))
            --parent.passed;
    }

    static bool open_again(Level& level, int below) {
        OpenFolder folder = open_folder(below, "..");
        struct stat status {};
        if (!folder || ::fstat(::dirfd(folder.get()), &status) != 0 ||
            status.st_dev != level.device || status.st_ino != level.inode)
            return false;
        for (std::int64_t i = 0; i < level.passed; ++i) ::readdir(folder.get());
        level.open = std::move(folder);
        return true;
    }

    std::vector<Level> levels_;
    std::string path_;
};

}  // namespace

std::error_code walk_files(const fs::path& folder, const WalkLimits& limits,
                           const WalkVisitor& visitor) {
    struct stat top {};
    OpenFolder opened = open_folder(AT_FDCWD, folder.c_str(), 0);
    if (!opened || ::fstat(::dirfd(opened.get()), &top) != 0)
        return {errno, std::generic_category()};
    std::int64_t left = limits.most;
    TreeWalk walk;
    walk.longest = limits.longest;
    walk.unread = visitor.unread;
    const auto is_walked = [&](const TreeWalk::Entry& entry) {
        walk.is_over = --left < 0;
        return !walk.is_over &&
               (!limits.one_file_system || entry.found.status.st_dev == top.st_dev);
    };
    walk.file = [&](const TreeWalk::Entry& entry) {
        if (is_walked(entry)) walk.is_over = !visitor.file(entry.found);
        return true;
    };
    walk.folder_before = [&](const TreeWalk::Entry& entry) {
        return is_walked(entry) && (limits.skipped.empty() || entry.name != limits.skipped) &&
               (!visitor.folder || visitor.folder(entry.found));
    };
    walk.folder_after = [](const TreeWalk::Entry&) { return true; };
    walk.run(std::move(opened));
    return {};
}

void walk_files(const fs::path& folder, const WalkLimits& limits,
                const std::function<void(const FoundFile&)>& see) {
    walk_files(folder, limits, WalkVisitor{[&](const FoundFile& file) {
                   see(file);
                   return true;
               }});
}

std::error_code remove_tree(const fs::path& folder) {
    int first = 0;
    const auto stays = [&](int at, const char* name, int how) {
        if (::unlinkat(at, name, how) == 0 || errno == ENOENT) return false;
        if (first == 0) first = errno;
        return true;
    };
    if (::unlink(folder.c_str()) == 0 || errno == ENOENT) return {};  // no folder
    ::chmod(folder.c_str(), S_IRWXU);
    constexpr std::size_t kLongestRemoved = 1 << 22;
    TreeWalk walk;
    walk.longest = kLongestRemoved;
    walk.file = [&](const TreeWalk::Entry& entry) { return stays(entry.folder, entry.name, 0); };
    walk.folder_before = [](const TreeWalk::Entry& entry) {
        if ((entry.found.status.st_mode & S_IRWXU) != S_IRWXU)
            ::fchmodat(entry.folder, entry.name, S_IRWXU, 0);
        return true;
    };
    walk.folder_after = [&](const TreeWalk::Entry& entry) {
        return stays(entry.folder, entry.name, AT_REMOVEDIR);
    };
    walk.run(open_folder(AT_FDCWD, folder.c_str()));
    if (!stays(AT_FDCWD, folder.c_str(), AT_REMOVEDIR)) return {};
    return {first, std::generic_category()};
}

}  // namespace compat
