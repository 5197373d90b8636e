// Puts a function of ours in the place of one that torch's libraries import from one another. For
// what no hook, kernel or registry of torch reaches. Not for functions that are called inside the
// library that defines them: those calls pass no import table.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace compat::shim {

struct Import {
    std::string_view symbol;  // mangled
    void* replacement;
};

// Every object in the process now, but the one that the replacements lie in, calls them where it
// imported the symbols. Returns for each how often it was replaced: 0 where no object imports it,
// or where the platform has no 64-bit ELF tables in the GNU tools' form. Once a process, with the
// GIL held; other threads may be calling the functions meanwhile.
[[nodiscard]] std::vector<int> replace_imports(std::span<const Import> imports);

}  // namespace compat::shim
