#include "suites/tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string_view>
#include <system_error>

#include "runner/base/files.h"
#include "runner/base/isolation/file_tree.h"

namespace compat::suites {

namespace {

// `relative`: to the root.
bool is_skipped(const fs::path& root, const std::string& relative) {
    const size_t slash = relative.rfind('/');
    const auto name = std::string_view(relative).substr(slash + 1);
    if (name.starts_with('.') || name.ends_with(".egg-info")) return true;
    if (name == "__pycache__" || name == "node_modules") return true;
    if (slash == relative.npos && (name == "build" || name == "dist")) return true;
    std::error_code error;
    return fs::exists(root / relative / "pyvenv.cfg", error) || holds_results(root / relative);
}

bool leads_inside(const fs::path& path, const fs::path& canonical_root) {
    std::error_code error;
    const fs::path target = fs::canonical(path, error);
    if (error) return false;
    return compat::is_inside(target, canonical_root);
}

TreeFile tree_file(const std::string& path, const struct stat& status) {
    return {path, static_cast<std::uintmax_t>(status.st_size), (status.st_mode & S_IXUSR) != 0};
}

}  // namespace

bool holds_results(const fs::path& folder) {
    std::error_code error;
    return fs::exists(folder / "runner.db", error) || fs::exists(folder / "record.jsonl", error);
}

std::vector<TreeFile> list_tree(const fs::path& root, const fs::path& folder) {
    std::vector<TreeFile> files;
    std::error_code error;
    const fs::path canonical_root = fs::canonical(root, error);
    if (error) return files;
    fs::path start = folder.lexically_normal();
    if (start == ".") start.clear();
    if (!start.has_filename()) start = start.parent_path();
    if (!leads_inside(root / start, canonical_root)) return files;
    const std::string before = start.empty() ? "" : start.generic_string() + "/";
    WalkVisitor visitor;
    visitor.file = [&](const FoundFile& file) {
        const std::string path = before + file.path;
        struct stat target {};
        if (S_ISREG(file.status.st_mode))
            files.push_back(tree_file(path, file.status));
        else if (S_ISLNK(file.status.st_mode) && leads_inside(root / path, canonical_root) &&
                 ::stat((root / path).c_str(), &target) == 0 && S_ISREG(target.st_mode))
            files.push_back(tree_file(path, target));
        return true;
    };
    visitor.folder = [&](const FoundFile& folder) {
        return !is_skipped(root, before + folder.path);
    };
    visitor.unread = [&](const FoundFile& folder, int why) {
        if (why != ENOENT && why != ENOTDIR)
            files.push_back({before + folder.path, 0, false, why});
    };
    const WalkLimits limits{.longest = PATH_MAX - root.native().size() - before.size() - 1};
    const std::error_code top = walk_files(root / start, limits, visitor);
    if (top && top != std::errc::no_such_file_or_directory && top != std::errc::not_a_directory)
        files.push_back({start.generic_string(), 0, false, top.value()});
    std::sort(files.begin(), files.end(),
              [](const TreeFile& a, const TreeFile& b) { return a.path < b.path; });
    return files;
}

}  // namespace compat::suites
