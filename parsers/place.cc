#include "parsers/place.h"

#include <array>
#include <optional>

namespace compat::parsers {

namespace {

constexpr std::array<std::string_view, 6> kOwnerNames{"suite",   "torch",   "shim",
                                                      "harness", "package", "python"};

// Folders that make their content somebody's, wherever they lie.
struct Folder {
    std::string_view name;
    Owner owner;
};
constexpr std::array<Folder, 3> kFolders{{{"/compat_shim/", Owner::shim},
                                          {"/TorchDevice/", Owner::shim},
                                          {"/_compat_harness/", Owner::harness}}};

std::optional<std::string_view> after_last(std::string_view text, std::string_view what) {
    const size_t at = text.rfind(what);
    if (at == std::string_view::npos) return std::nullopt;
    return text.substr(at + what.size());
}

// What follows "/lib/python3.11/", "/Lib/" of Windows left out: we do not run there.
std::optional<std::string_view> in_standard_library(std::string_view file) {
    const size_t at = file.rfind("/lib/python");
    if (at == std::string_view::npos) return std::nullopt;
    const size_t slash = file.find('/', at + 5);
    const std::string_view version = file.substr(at + 11, slash - at - 11);
    if (slash == std::string_view::npos || version.empty() ||
        version.find_first_not_of("0123456789.t") != std::string_view::npos)
        return std::nullopt;
    return file.substr(slash + 1);
}

std::string_view last_two_parts(std::string_view file) {
    const size_t name = file.rfind('/');
    if (name == std::string_view::npos || name == 0) return file;
    const size_t folder = file.rfind('/', name - 1);
    return folder == std::string_view::npos ? file : file.substr(folder + 1);
}

}  // namespace

std::string Place::text() const {
    std::string text(kOwnerNames[static_cast<size_t>(owner)]);
    text += ':';
    text += path;
    return text;
}

Place place_of(std::string_view file) {
    for (const Folder& folder : kFolders)
        // A checkout may bear the package's name: its tests are a suite's.
        if (const auto inside = after_last(file, folder.name);
            inside && !inside->starts_with("test"))
            return {folder.owner, *inside};
    for (const std::string_view packages : {"/site-packages/", "/dist-packages/"})
        if (const auto inside = after_last(file, packages)) {
            if (inside->starts_with("torch/")) return {Owner::torch, inside->substr(6)};
            return {Owner::package, *inside};
        }
    if (const auto inside = in_standard_library(file)) return {Owner::python, *inside};
    if (file.starts_with('<')) return {Owner::python, file};
    return {Owner::suite, last_two_parts(file)};
}

}  // namespace compat::parsers
