#include "parsers/diagnosis/place.h"

#include <array>

namespace compat::parsers {

namespace {

constexpr std::array<std::string_view, 6> kOwnerNames{"suite",   "torch",   "shim",
                                                      "harness", "package", "python"};

// Folders that make their content somebody's, wherever they lie; the first of these that a path has
// decides, and of several of one name the innermost.
struct Folder {
    std::string_view name;
    Owner owner;
    bool with_tests;  // a checkout may bear the package's name: its tests are a suite's
};
constexpr std::array<Folder, 8> kFolders{{{"/compat_shim/", Owner::shim, false},
                                          {"/TorchDevice/", Owner::shim, false},
                                          {"/_compat_harness/", Owner::harness, false},
                                          {"/site-packages/torch/", Owner::torch, true},
                                          {"/site-packages/", Owner::package, true},
                                          {"/dist-packages/torch/", Owner::torch, true},
                                          {"/dist-packages/", Owner::package, true},
                                          {"/lib/python", Owner::python, true}}};

// Where the last such name is. rfind compares at every byte, and paths are looked at a dozen times
// a failure.
size_t last_place(std::string_view file, std::string_view name) {
    size_t last = std::string_view::npos;
    for (size_t at = file.find(name); at != file.npos; at = file.find(name, at + 1)) last = at;
    return last;
}

}  // namespace

std::string Place::text() const {
    return std::string(kOwnerNames[static_cast<size_t>(owner)]) + ':' + std::string(path);
}

Place place_of(std::string_view file) {
    for (const Folder& folder : kFolders) {
        const size_t at = last_place(file, folder.name);
        if (at == std::string_view::npos) continue;
        const std::string_view path = file.substr(at + folder.name.size());
        if (!folder.with_tests && path.starts_with("test")) continue;
        if (folder.owner != Owner::python) return {folder.owner, path};
        // "3.11/"; "/Lib/" of Windows left out: we do not run there.
        const size_t version = path.find_first_not_of("0123456789.t");
        if (version != std::string_view::npos && version > 0 && path[version] == '/')
            return {Owner::python, path.substr(version + 1)};
    }
    if (file.starts_with('<')) return {Owner::python, file};
    const size_t name = file.substr(0, file.rfind('/')).rfind('/');
    return {Owner::suite, file.substr(name + 1)};  // npos + 1: the whole
}

}  // namespace compat::parsers
