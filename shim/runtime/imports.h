// Replaces a function that torch's libraries import from each other, for what no hook, kernel or
// registry of torch reaches. Which calls inside the library that defines the function are affected
// depends on the platform: on Linux those that may be interposed, on macOS none.
//
// imports_elf.cc is for Linux, imports_macho.cc for macOS; CMakeLists.txt chooses.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/export.h"

namespace compat::shim {

struct Import {
    std::string_view symbol;  // mangled, without the underscore that Mach-O puts before it
    void* replacement;
};

// Patches the import tables of every loaded object except the one that contains the replacements.
// Returns for each symbol how often it was replaced: 0 if no object imports it. Once for each
// process, with the GIL held; other threads may be calling the functions.
[[nodiscard]] COMPAT_EXPORT std::vector<int> replace_imports(std::span<const Import> imports);

}  // namespace compat::shim
