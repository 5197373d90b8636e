// Writes a site: static pages of all stored runs, in a folder that any web server, or a browser
// from disk, shows as it is. Unchanged pages keep their bytes and their time; pages of what is gone
// are removed. Not for what is on the pages (read_site.h).
#pragma once

#include <cstdint>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"

namespace compat::site {

struct WrittenSite {
    fs::path index;
    std::size_t files = 0, changed = 0, removed = 0;
    std::uint64_t bytes = 0;
};

// From the results in a folder into `out`, which is made, is empty, or holds a site. Errors: usage,
// if nothing is stored, `out` holds something else or the runner was built without HTML; those of
// the store; io.
[[nodiscard]] Expected<WrittenSite> write_site(const fs::path& results, const fs::path& out);

}  // namespace compat::site
