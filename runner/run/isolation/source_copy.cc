#include "runner/run/isolation/source_copy.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <tuple>

#include "runner/base/isolation/file_tree.h"
#include "runner/base/files.h"
#include "runner/base/host.h"

namespace compat::run {

namespace {

// Written by Python for every module that it imports.
constexpr WalkLimits kWithoutPythonsOwn{.skipped = "__pycache__", .most = kMostWalked};

tl::unexpected<Error> cannot_copy(const fs::path& file, const std::string& why) {
    return fail(ErrorKind::io, "cannot copy the suite's source: " + why,
                "free some space, or run with --isolate off", file.string());
}

std::array<timespec, 2> written_times(const struct stat& file) {
    const FileTimes times = times_of(file);
    return {times.accessed, times.modified};
}

bool later(const timespec& a, const timespec& b) {
    return std::tie(a.tv_sec, a.tv_nsec) > std::tie(b.tv_sec, b.tv_nsec);
}

class Copying {
  public:
    explicit Copying(SourceCopy& copy) : copy_(copy) {}

    Expected<void> run() {
        TRY(make_directories(copy_.to));
        WalkVisitor visitor;
        visitor.file = [&](const FoundFile& found) {
            if (copied_) copied_ = one(place(found), found.status);
            return copied_.has_value();
        };
        visitor.folder = [&](const FoundFile& found) {
            if (copied_) copied_ = folder(place(found));
            return copied_ && is_entered(place(found).from);
        };
        visitor.unread = [&](const FoundFile& found, int error) {
            ++copy_.skipped;
            if (error == ENAMETOOLONG && copied_)
                copied_ = cannot_copy(place(found).from, std::strerror(error));
        };
        if (walk_files(copy_.from, {}, visitor)) ++copy_.skipped;
        if (copied_) keep_status_of_folders();
        return copied_;
    }

  private:
    struct Place {
        fs::path from, to;
    };
    [[nodiscard]] Place place(const FoundFile& found) const {
        return {copy_.from / found.path, copy_.to / found.path};
    }
    [[nodiscard]] bool is_link(const fs::path& from) const {
        return std::find(copy_.links.begin(), copy_.links.end(), from) != copy_.links.end();
    }
    // The copy itself may lie below the source.
    [[nodiscard]] bool is_entered(const fs::path& from) const {
        return !is_link(from) && from != copy_.to.parent_path() && !is_inside(copy_.to, from);
    }

    Expected<void> folder(const Place& at) const {
        std::error_code error;
        if (is_link(at.from) && !copy_.is_mounted)
            fs::create_symlink(at.from, at.to, error);
        else if (is_link(at.from) || is_entered(at.from))
            fs::create_directory(at.to, error);
        if (error) return cannot_copy(at.to, error.message());
        return {};
    }

    // After their files, which change a folder's time.
    void keep_status_of_folders() const {
        const auto keep = [&](const Place& at, const struct stat& status) {
            ::chmod(at.to.c_str(), (status.st_mode & 07777) | S_IRWXU);
            ::utimensat(AT_FDCWD, at.to.c_str(), written_times(status).data(), 0);
        };
        struct stat top {};
        if (::stat(copy_.from.c_str(), &top) == 0) keep({copy_.from, copy_.to}, top);
        WalkVisitor visitor;
        visitor.file = [](const FoundFile&) { return true; };
        visitor.folder = [&](const FoundFile& found) {
            if (!is_entered(place(found).from)) return false;
            keep(place(found), found.status);
            return true;
        };
        walk_files(copy_.from, {}, visitor);
    }

    Expected<void> one(const Place& at, const struct stat& status) {
        if (S_ISLNK(status.st_mode)) return link(at.from, at.to);
        if (S_ISREG(status.st_mode)) return file(at.from, at.to, status);
        ++copy_.skipped;
        return {};
    }

    Expected<void> link(const fs::path& from, const fs::path& to) {
        std::error_code error;
        fs::path target = fs::read_symlink(from, error);
        const fs::path leads_to = (from.parent_path() / target).lexically_normal();
        const bool inside = is_inside(leads_to, copy_.from);
        if (!copy_.is_mounted && target.is_absolute() && inside)
            target = copy_.to / leads_to.lexically_relative(copy_.from);
        else if (!copy_.is_mounted && target.is_relative() && !inside)
            target = leads_to;
        fs::create_symlink(target, to, error);
        return {};
    }

    Expected<void> file(const fs::path& from, const fs::path& to, const struct stat& status) {
        std::error_code error;
        if (clone_file(from, to)) {
            ++copy_.shared;
        } else {
            fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
            if (error == std::errc::permission_denied ||
                error == std::errc::no_such_file_or_directory) {
                ++copy_.skipped;
                return {};
            }
            if (error) return cannot_copy(from, error.message());
        }
        ::chmod(to.c_str(), status.st_mode & 07777);
        ::utimensat(AT_FDCWD, to.c_str(), written_times(status).data(), 0);
        ++copy_.files;
        copy_.bytes += status.st_size;
        return {};
    }

    SourceCopy& copy_;
    Expected<void> copied_;
};

// Its first files by path, of which tests may write any number.
class FirstFiles {
  public:
    explicit FirstFiles(std::string place) : files_{std::move(place)} {}

    void add(const std::string& path, const char* change, std::int64_t bytes) {
        ++files_.count;
        files_.bytes += bytes;
        if (path.size() > PATH_MAX) return;  // it opens nothing
        if (first_.size() == kNamedWrites && path > first_.rbegin()->first) return;
        first_.insert_or_assign(path, WrittenFile{path, change, bytes});
        if (first_.size() > kNamedWrites) first_.erase(std::prev(first_.end()));
    }
    WrittenFiles take() {
        for (auto& [path, file] : first_) files_.files.push_back(std::move(file));
        return std::move(files_);
    }

  private:
    WrittenFiles files_;
    std::map<std::string, WrittenFile> first_;
};

}  // namespace

Expected<void> copy_source(SourceCopy& copy) {
    TRY(Copying(copy).run());
    struct stat status {};
    ::chmod(copy.to.c_str(), 0700);  // sets the time of change, by the file system's clock
    if (::stat(copy.to.c_str(), &status) == 0) {
        copy.finished = times_of(status).changed;
        struct stat own {};
        if (::stat(copy.from.c_str(), &own) == 0) ::chmod(copy.to.c_str(), own.st_mode & 07777);
    }
    return {};
}

WrittenFiles writes_to(const SourceCopy& copy) {
    FirstFiles found("source");
    walk_files(copy.to, kWithoutPythonsOwn, [&](const FoundFile& file) {
        if (!later(times_of(file.status).changed, copy.finished)) return;
        struct stat original {};
        const bool known = ::lstat((copy.from / file.path).c_str(), &original) == 0;
        found.add(file.path, known ? "changed" : "new", file.status.st_size);
    });
    walk_files(copy.from, kWithoutPythonsOwn, [&](const FoundFile& file) {
        const fs::path path = copy.from / file.path;
        struct stat copied {};
        const bool linked = std::any_of(copy.links.begin(), copy.links.end(),
                                        [&](const auto& link) { return is_inside(path, link); });
        if (linked || is_inside(path, copy.to) || !S_ISREG(file.status.st_mode) ||
            later(times_of(file.status).changed, copy.finished) ||
            ::lstat((copy.to / file.path).c_str(), &copied) == 0 || errno != ENOENT)
            return;
        found.add(file.path, "deleted", 0);
    });
    return found.take();
}

WrittenFiles files_below(const fs::path& folder, std::string place) {
    FirstFiles found(std::move(place));
    walk_files(folder, kWithoutPythonsOwn, [&](const FoundFile& file) {
        found.add(file.path, "new", file.status.st_size);
    });
    return found.take();
}

}  // namespace compat::run
