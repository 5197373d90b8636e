#include "parsers/diagnosis/place.h"

#include <array>
#include <optional>

namespace compat::parsers {

namespace {

constexpr std::array<std::string_view, 6> kOwnerNames{"suite",   "torch",   "shim",
                                                      "harness", "package", "python"};

// Folders that make their content somebody's, wherever they lie; the first of these that a path has
// decides, and of several of one name the innermost.
struct Folder {
    std::string_view name;  // after a '/'
    Owner owner;
    bool with_tests;  // a checkout may bear the package's name: its tests are a suite's
};
constexpr std::array<Folder, 6> kFolders{{{"compat_shim/", Owner::shim, false},
                                          {"TorchDevice/", Owner::shim, false},
                                          {"_compat_harness/", Owner::harness, false},
                                          {"site-packages/", Owner::package, true},
                                          {"dist-packages/", Owner::package, true},
                                          {"lib/python", Owner::python, true}}};
constexpr std::string_view kTorch = "torch/";
constexpr size_t kNowhere = std::string_view::npos;

// What lies in each folder, as an offset in the path. One pass: paths are looked at a dozen times a
// failure.
std::array<size_t, kFolders.size()> insides(std::string_view file) {
    std::array<size_t, kFolders.size()> inside;
    inside.fill(kNowhere);
    for (size_t i = file.size(); i-- > 0;) {
        if (file[i] != '/') continue;
        const std::string_view rest = file.substr(i + 1);
        for (size_t f = 0; f < kFolders.size(); ++f)
            if (inside[f] == kNowhere && rest.starts_with(kFolders[f].name))
                inside[f] = i + 1 + kFolders[f].name.size();
    }
    return inside;
}

// What follows "3.11/" of "/lib/python3.11/"; "/Lib/" of Windows left out: we do not run there.
std::optional<std::string_view> after_version(std::string_view text) {
    const size_t slash = text.find('/');
    if (slash == 0 || slash == kNowhere ||
        text.substr(0, slash).find_first_not_of("0123456789.t") != kNowhere)
        return std::nullopt;
    return text.substr(slash + 1);
}

std::string_view last_two_parts(std::string_view file) {
    const size_t name = file.rfind('/');
    if (name == kNowhere || name == 0) return file;
    const size_t folder = file.rfind('/', name - 1);
    return folder == kNowhere ? file : file.substr(folder + 1);
}

}  // namespace

std::string Place::text() const {
    std::string text(kOwnerNames[static_cast<size_t>(owner)]);
    text += ':';
    text += path;
    return text;
}

Place place_of(std::string_view file) {
    const auto inside = insides(file);
    for (size_t f = 0; f < kFolders.size(); ++f) {
        if (inside[f] == kNowhere) continue;
        const Folder& folder = kFolders[f];
        const std::string_view path = file.substr(inside[f]);
        if (!folder.with_tests && path.starts_with("test")) continue;
        if (folder.owner == Owner::package && path.starts_with(kTorch))
            return {Owner::torch, path.substr(kTorch.size())};
        if (folder.owner != Owner::python) return {folder.owner, path};
        if (const auto module = after_version(path)) return {Owner::python, *module};
    }
    if (file.starts_with('<')) return {Owner::python, file};
    return {Owner::suite, last_two_parts(file)};
}

}  // namespace compat::parsers
