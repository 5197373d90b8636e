// Puts a function of ours in the place of one that torch's libraries import from one another. For
// what no hook, kernel or registry of torch reaches. Not for functions that are called inside the
// library that defines them: those calls pass no import table.
#pragma once

#include <string_view>

namespace compat::shim {

// Every object in the process now, but the one that `replacement` lies in, calls `replacement`
// where it imported `symbol` (a mangled name). Returns how many imports were replaced: 0 where no
// object imports it, or where the platform has no 64-bit ELF import tables. Once a process, with
// the GIL held; other threads may be calling the function meanwhile.
int replace_import(std::string_view symbol, void* replacement);

}  // namespace compat::shim
