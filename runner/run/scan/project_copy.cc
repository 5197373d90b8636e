#include "runner/run/scan/project_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "runner/base/isolation/file_tree.h"

namespace compat::run {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 11> kNotCopied{
    ".git",          ".hg",         ".svn", ".tox", ".nox",        ".mypy_cache",
    ".pytest_cache", ".ruff_cache", ".eggs", "__pycache__", "node_modules"};

bool is_left_out(const fs::path& folder, const std::vector<fs::path>& without) {
    std::error_code error;
    return std::find(kNotCopied.begin(), kNotCopied.end(), folder.filename().string()) !=
               kNotCopied.end() ||
           std::find(without.begin(), without.end(), folder) != without.end() ||
           fs::exists(folder / "pyvenv.cfg", error);
}

tl::unexpected<Error> cannot_copy_project(const fs::path& path, const std::error_code& error) {
    return fail(ErrorKind::io, fmt::format("cannot copy the project: {}", error.message()), {},
                path.string());
}

class ProjectCopy {
  public:
    ProjectCopy(const fs::path& from, const fs::path& to, const std::vector<fs::path>& without)
        : from_(from), to_(to), without_(without) {}

    Expected<CopiedFiles> copy() {
        std::error_code error;
        fs::create_directories(to_, error);
        if (error) return cannot_copy_project(to_, error);
        Expected<void> done;
        WalkVisitor visitor;
        visitor.file = [&](const FoundFile& found) {
            if (done) done = copy_entry(from_ / found.path, to_ / found.path, found.status);
            return done.has_value();
        };
        visitor.folder = [&](const FoundFile& found) {
            const fs::path path = from_ / found.path;
            if (!done || is_left_out(path, without_)) return false;
            done = copy_folder(path, to_ / found.path);
            return done.has_value();
        };
        visitor.unread = [&](const FoundFile& found, int why) {
            if (done) done = cannot_copy_project(from_ / found.path, {why, std::generic_category()});
        };
        error = walk_files(from_, {}, visitor);
        if (error) return cannot_copy_project(from_, error);
        return done.map([&] { return copied_; });
    }

  private:
    Expected<void> copy_folder(const fs::path& path, const fs::path& copy) const {
        std::error_code error;
        fs::create_directory(copy, path, error);
        // A folder that nobody may write would keep its files from being copied.
        if (!error) fs::permissions(copy, fs::perms::owner_all, fs::perm_options::add, error);
        if (error) return cannot_copy_project(path, error);
        return {};
    }

    Expected<void> copy_entry(const fs::path& path, const fs::path& copy,
                              const struct stat& status) {
        std::error_code error;
        if (S_ISLNK(status.st_mode)) return copy_link(path, copy);
        if (S_ISREG(status.st_mode)) {
            ++copied_.files;
            copied_.bytes += fs::file_size(path, error);
            if (copied_.bytes > kMaxCopyBytes)
                return fail(ErrorKind::usage,
                            fmt::format("the project has more than {} GiB to copy",
                                        kMaxCopyBytes >> 30),
                            "name a smaller folder that has the tests with --project",
                            from_.string());
            if (!error) fs::copy_file(path, copy, error);
            if (!error) fs::permissions(copy, fs::perms::owner_write, fs::perm_options::add, error);
        }
        if (error) return cannot_copy_project(path, error);
        return {};
    }

    Expected<void> copy_link(const fs::path& path, const fs::path& copy) const {
        std::error_code error;
        const fs::path target = fs::read_symlink(path, error);
        if (error) return cannot_copy_project(path, error);
        const fs::path whole = (path.parent_path() / target).lexically_normal();
        const fs::path inside = whole.lexically_relative(from_);
        const bool leads_out = inside.empty() || *inside.begin() == "..";
        fs::create_symlink(leads_out ? whole : to_ / inside, copy, error);
        if (error) return cannot_copy_project(path, error);
        return {};
    }

    const fs::path &from_, &to_;
    const std::vector<fs::path>& without_;
    CopiedFiles copied_;
};

}  // namespace

Expected<CopiedFiles> copy_project(const fs::path& from, const fs::path& to,
                                   const std::vector<fs::path>& without) {
    return ProjectCopy(from, to, without).copy();
}

}  // namespace compat::run
