// Files that a test left in its TMPDIR, as an init reports them to the runner (sandbox_messages.h).
// Not for the folders that outlive a sandbox (runner/run/isolation).
#pragma once

#include <string>

#include "runner/base/files/fs.h"

namespace compat::exec {

// A JSON object: the number of files below `folder`, without what is mounted there, their bytes on
// it, and the paths and sizes of the first. It fits into a message.
[[nodiscard]] std::string left_files_as_text(const fs::path& folder);

}  // namespace compat::exec
