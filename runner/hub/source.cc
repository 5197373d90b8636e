#include "runner/hub/source.h"

#include <fmt/format.h>

namespace compat::hub {

std::string Need::key() const {
    if (what == What::address) return url;
    const std::string repository = fmt::format("{}\n{}", title_of(kind, name), revision);
    return what == What::repository ? repository
                                    : fmt::format("{}\n{}\n{}", repository, commit, path);
}

}  // namespace compat::hub
