#include "runtime/macho_slots.h"

#include <cstring>
#include <optional>

namespace compat::shim::macho {
namespace {

// Structures and numbers of <mach-o/loader.h>, <mach-o/nlist.h> and <mach/machine.h>, by their
// names there.
struct Header {  // mach_header_64
    std::uint32_t magic, cputype, cpusubtype, filetype, ncmds, sizeofcmds, flags, reserved;
};
constexpr std::uint32_t kMagic = 0xFEEDFACF;    // MH_MAGIC_64
constexpr std::uint32_t kInCache = 0x80000000;  // MH_DYLIB_IN_CACHE
constexpr std::uint32_t kArm64 = 0x0100000C;    // CPU_TYPE_ARM64
constexpr std::uint32_t kArm64e = 2;            // CPU_SUBTYPE_ARM64E
constexpr std::uint32_t kSubtypeMask = 0x00FFFFFF;

struct Command {  // load_command
    std::uint32_t cmd, cmdsize;
};
constexpr std::uint32_t kSymtab = 0x2;    // LC_SYMTAB
constexpr std::uint32_t kDysymtab = 0xB;  // LC_DYSYMTAB
constexpr std::uint32_t kSegment = 0x19;  // LC_SEGMENT_64

struct Segment {  // segment_command_64
    Command command;
    char segname[16];
    std::uint64_t vmaddr, vmsize, fileoff, filesize;
    std::uint32_t maxprot, initprot, nsects, flags;
};
struct Section {  // section_64
    char sectname[16], segname[16];
    std::uint64_t addr, size;
    std::uint32_t offset, align, reloff, nreloc, flags, reserved1, reserved2, reserved3;
};
constexpr std::uint32_t kSectionType = 0xFF;  // SECTION_TYPE
constexpr std::uint32_t kNonLazy = 6;         // S_NON_LAZY_SYMBOL_POINTERS: __got
constexpr std::uint32_t kLazy = 7;            // S_LAZY_SYMBOL_POINTERS: __la_symbol_ptr

struct Symtab {  // symtab_command
    Command command;
    std::uint32_t symoff, nsyms, stroff, strsize;
};
struct Dysymtab {  // dysymtab_command, up to the last field that is read
    Command command;
    std::uint32_t ilocalsym, nlocalsym, iextdefsym, nextdefsym, iundefsym, nundefsym, tocoff, ntoc,
        modtaboff, nmodtab, extrefsymoff, nextrefsyms, indirectsymoff, nindirectsyms;
};
struct Symbol {  // nlist_64
    std::uint32_t n_strx;
    std::uint8_t n_type, n_sect;
    std::uint16_t n_desc;
    std::uint64_t n_value;
};
static_assert(sizeof(Header) == 32 && sizeof(Segment) == 72 && sizeof(Section) == 80 &&
              sizeof(Symtab) == 24 && sizeof(Symbol) == 16);
// INDIRECT_SYMBOL_LOCAL, INDIRECT_SYMBOL_ABS: slots without a symbol.
constexpr std::uint32_t kNoSymbol = 0xC0000000;

template <class T>
T read(std::uintptr_t address) {
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
}

// Calls `see(command, its address)` for each load command.
template <class See>
void each_command(std::uintptr_t header, See see) {
    const auto commands = read<Header>(header);
    std::uintptr_t at = header + sizeof(Header);
    const std::uintptr_t end = at + commands.sizeofcmds;
    for (std::uint32_t i = 0; i < commands.ncmds && at + sizeof(Command) <= end; ++i) {
        const auto command = read<Command>(at);
        if (command.cmdsize < sizeof(Command) || at + command.cmdsize > end) return;
        see(command, at);
        at += command.cmdsize;
    }
}

// Where the image's symbol tables are in memory: all are in the segment __LINKEDIT, and load
// commands name them by their offsets in the file.
struct Tables {
    std::uintptr_t symbols = 0, names = 0, indirect = 0;
    std::uint32_t symbols_count = 0, names_bytes = 0, indirect_count = 0;
};

std::optional<Tables> tables_of(std::uintptr_t header, std::uintptr_t slide) {
    std::optional<Segment> linkedit;
    std::optional<Symtab> symtab;
    std::optional<Dysymtab> dysymtab;
    each_command(header, [&](const Command& command, std::uintptr_t at) {
        if (command.cmd == kSymtab) symtab = read<Symtab>(at);
        if (command.cmd == kDysymtab) dysymtab = read<Dysymtab>(at);
        if (command.cmd != kSegment) return;
        const auto segment = read<Segment>(at);
        if (std::strncmp(segment.segname, "__LINKEDIT", sizeof segment.segname) == 0)
            linkedit = segment;
    });
    if (!linkedit || !symtab || !dysymtab) return std::nullopt;
    const std::uintptr_t base = slide + linkedit->vmaddr - linkedit->fileoff;
    return Tables{base + symtab->symoff, base + symtab->stroff, base + dysymtab->indirectsymoff,
                  symtab->nsyms,         symtab->strsize,       dysymtab->nindirectsyms};
}

// The name of the symbol whose address the slot with this number in the indirect symbol table has;
// empty if it has none.
std::string_view name_of(const Tables& tables, std::uint64_t number) {
    if (number >= tables.indirect_count) return {};
    const auto index = read<std::uint32_t>(tables.indirect + number * sizeof(std::uint32_t));
    if ((index & kNoSymbol) != 0 || index >= tables.symbols_count) return {};
    const auto symbol = read<Symbol>(tables.symbols + index * sizeof(Symbol));
    if (symbol.n_strx >= tables.names_bytes) return {};
    const auto* name = reinterpret_cast<const char*>(tables.names + symbol.n_strx);
    return {name, strnlen(name, tables.names_bytes - symbol.n_strx)};
}

bool is_left_alone(const Header& header) {
    const bool is_signed =
        header.cputype == kArm64 && (header.cpusubtype & kSubtypeMask) == kArm64e;
    return header.magic != kMagic || (header.flags & kInCache) != 0 || is_signed;
}

}  // namespace

// dyld binds the pointers of these sections by other tables (LC_DYLD_INFO_ONLY or
// LC_DYLD_CHAINED_FIXUPS). In both forms the linker also writes the indirect symbol table, in which
// a section's reserved1 is the number of its first slot.
void each_slot(const void* image, std::uintptr_t slide, const SeeSlot& see) {
    const auto header = reinterpret_cast<std::uintptr_t>(image);
    if (is_left_alone(read<Header>(header))) return;
    const auto tables = tables_of(header, slide);
    if (!tables) return;
    each_command(header, [&](const Command& command, std::uintptr_t at) {
        if (command.cmd != kSegment) return;
        const auto segment = read<Segment>(at);
        for (std::uint32_t i = 0; i < segment.nsects; ++i) {
            const auto section = read<Section>(at + sizeof(Segment) + i * sizeof(Section));
            const auto type = section.flags & kSectionType;
            if (type != kNonLazy && type != kLazy) continue;
            for (std::uint64_t n = 0; n < section.size / sizeof(void*); ++n)
                if (const auto name = name_of(*tables, section.reserved1 + n); !name.empty())
                    see(name, slide + section.addr + n * sizeof(void*));
        }
    });
}

}  // namespace compat::shim::macho
