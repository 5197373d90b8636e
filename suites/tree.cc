#include "suites/tree.h"

#include <algorithm>
#include <system_error>

#include "runner/base/files.h"

namespace compat::suites {

namespace fs = std::filesystem;

namespace {

bool is_skipped(const fs::path& folder, bool at_root) {
    const std::string name = folder.filename().string();
    if (name.starts_with('.') || name.ends_with(".egg-info")) return true;
    if (name == "__pycache__" || name == "node_modules") return true;
    if (at_root && (name == "build" || name == "dist")) return true;
    std::error_code error;
    return fs::exists(folder / "pyvenv.cfg", error);
}

bool leads_inside(const fs::path& path, const fs::path& canonical_root) {
    std::error_code error;
    const fs::path target = fs::canonical(path, error);
    if (error) return false;
    return compat::is_inside(target, canonical_root);
}

void walk(const fs::path& root, const fs::path& canonical_root, const fs::path& relative,
          std::vector<TreeFile>& files) {
    std::error_code error;
    fs::directory_iterator entry(root / relative, error);
    for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
        std::error_code unreadable;
        const fs::path inner = relative / entry->path().filename();
        const bool link = entry->is_symlink(unreadable);
        if (entry->is_directory(unreadable)) {
            if (!link && !is_skipped(entry->path(), relative.empty()))
                walk(root, canonical_root, inner, files);
        } else if (entry->is_regular_file(unreadable)) {
            if (link && !leads_inside(entry->path(), canonical_root)) continue;
            const std::uintmax_t bytes = entry->file_size(unreadable);
            const bool executable = (entry->status(unreadable).permissions() &
                                     fs::perms::owner_exec) != fs::perms::none;
            files.push_back({inner.generic_string(), unreadable ? 0 : bytes, executable});
        }
    }
    if (error && error != std::errc::no_such_file_or_directory &&
        error != std::errc::not_a_directory)
        files.push_back({relative.generic_string(), 0, false, error.value()});
}

}  // namespace

std::vector<TreeFile> list_tree(const fs::path& root, const fs::path& folder) {
    std::vector<TreeFile> files;
    std::error_code error;
    const fs::path canonical_root = fs::canonical(root, error);
    if (error) return files;
    fs::path start = folder.lexically_normal();
    if (start == ".") start.clear();
    if (!start.has_filename()) start = start.parent_path();
    if (!leads_inside(root / start, canonical_root)) return files;
    walk(root, canonical_root, start, files);
    std::sort(files.begin(), files.end(),
              [](const TreeFile& a, const TreeFile& b) { return a.path < b.path; });
    return files;
}

}  // namespace compat::suites
