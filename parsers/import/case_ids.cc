#include "parsers/import/case_ids.h"

#include <fmt/format.h>

namespace compat::parsers {

std::string CaseIds::unique(const std::string& id) {
    int& n = repeats_[id];
    std::string own;
    do own = ++n == 1 ? id : fmt::format("{}#{}", id, n);
    while (!taken_.insert(own).second);
    return own;
}

}  // namespace compat::parsers
