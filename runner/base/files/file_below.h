// Opens files below a folder that a test or another machine may have filled, a run's above all: no
// link is followed below it, and nothing is opened but regular files. So a name that was planted
// there leads neither to a file of the user nor to a pipe that blocks. Not for files that the user
// names (files.h).
#pragma once

#include <string_view>

#include "runner/base/error.h"
#include "runner/base/files/fd.h"
#include "runner/base/files/fs.h"

namespace compat {

struct FileBelow {
    FileBelow() = default;
    FileBelow(fs::path below, fs::path relative)
        : folder(std::move(below)), name(std::move(relative)) {}
    // A file of its own folder: the folder is trusted, what stands for the file is not.
    FileBelow(const fs::path& file)  // NOLINT: any path is one
        : folder(file.parent_path()), name(file.filename()) {}
    // A file that the user names: links are followed.
    [[nodiscard]] static FileBelow followed(const fs::path& file);

    [[nodiscard]] fs::path path() const { return folder / name; }
    [[nodiscard]] bool empty() const { return folder.empty() && name.empty(); }

    fs::path folder;  // trusted: links in its own path are followed
    fs::path name;    // relative to it, without ".."
    bool follows_links = false;
};

// All errors name the file. io: it is not there, or the machine refuses. usage: what stands there
// or above is a link, a pipe, a device, or was removed in between.

// To read. Never blocks.
[[nodiscard]] Expected<Fd> open_file(const FileBelow& file);
// To append, to a new one where there is none.
[[nodiscard]] Expected<Fd> open_to_append(const FileBelow& file);
// A new file to read and write, with the folders above it. Takes the place of a regular file whose
// other names (hard links) keep their content.
[[nodiscard]] Expected<Fd> create_file(const FileBelow& file);
// The two are in one folder.
[[nodiscard]] Expected<void> rename_file(const FileBelow& from, const FileBelow& to);
// If it is there.
void remove_file(const FileBelow& file);
// An empty folder, with those above it. An existing folder is emptied.
[[nodiscard]] Expected<void> make_empty_folder(const FileBelow& folder);

// "a link", "a named pipe": for messages. `mode` is that of stat(2).
[[nodiscard]] std::string_view file_kind(unsigned mode);

}  // namespace compat
