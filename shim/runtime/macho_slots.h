// Finds the slots of a Mach-O image (64 bits, as a Mac's dyld loads it) in which the addresses of
// imported functions are. It only reads, and includes no header of macOS, so that it runs on the
// libraries of torch's macOS wheels on any system (tests/cross). imports_macho.cc writes the slots.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace compat::shim::macho {

// Called for each slot with the symbol as in the image's symbol table, with its first underscore,
// and the slot's address in memory.
using SeeSlot = std::function<void(std::string_view symbol, std::uintptr_t slot)>;

// `header`: where the image's first byte lies in memory. `slide`: how far it is from the address
// that the image names. Nothing is seen of an image whose imports could not be replaced: of the
// system's shared cache, whose libraries import none of torch, or with signed pointers (arm64e).
void each_slot(const void* header, std::uintptr_t slide, const SeeSlot& see);

}  // namespace compat::shim::macho
