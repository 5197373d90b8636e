#include "runner/hub/source/source.h"

#include <fmt/format.h>

namespace compat::hub {

std::string Need::key() const {
    if (what == What::address) return url;
    if (what == What::file) return fmt::format("{}\n{}\n{}", title_of(kind, name), commit, path);
    return fmt::format("{}\n{}", title_of(kind, name), revision);
}

}  // namespace compat::hub
