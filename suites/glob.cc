#include "suites/glob.h"

#include <fnmatch.h>

#include <string>
#include <utility>

namespace compat::suites {

namespace {

std::pair<std::string_view, std::string_view> first_component(std::string_view path) {
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) return {path, {}};
    return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

bool glob_matches(std::string_view glob, std::string_view path) {
    if (glob.empty() || path.empty()) return glob.empty() && path.empty();
    const auto [pattern, more_globs] = first_component(glob);
    const auto [component, more_path] = first_component(path);
    if (pattern == "**") {
        if (more_globs.empty()) return true;
        return glob_matches(more_globs, path) ||
               (!more_path.empty() && glob_matches(glob, more_path));
    }
    return ::fnmatch(std::string(pattern).c_str(), std::string(component).c_str(), FNM_NOESCAPE) ==
               0 &&
           glob_matches(more_globs, more_path);
}

bool glob_covers(std::string_view glob, std::string_view path) {
    if (glob_matches(glob, path)) return true;
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
         slash = path.find('/', slash + 1))
        if (glob_matches(glob, path.substr(0, slash))) return true;
    return false;
}

bool is_glob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

}  // namespace compat::suites
