// replace_imports for ELF objects of the GNU tools (64 bits), as on Linux.
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "runtime/imports.h"

static_assert(__SIZEOF_POINTER__ == 8);

namespace compat::shim {
namespace {

// The tables of an object's dynamic section (ELF gABI, "Dynamic Section").
struct Tables {
    const ElfW(Sym) * symbols = nullptr;
    const char* names = nullptr;
    const std::uint32_t* hash = nullptr;
    const ElfW(Rela) * calls = nullptr;      // through the procedure linkage table
    const ElfW(Rela) * addresses = nullptr;  // all others
    std::size_t calls_bytes = 0;
    std::size_t addresses_bytes = 0;
    std::size_t nameless = 0;  // first entries of `addresses`, without a symbol
};

struct Search {
    std::span<const Import> imports;
    std::vector<int> replaced;  // for each of `imports`
};

// glibc stores addresses; other C libraries store offsets from the object's base.
template <class T>
const T* located(const dl_phdr_info& object, ElfW(Addr) value) {
    return reinterpret_cast<const T*>(value < object.dlpi_addr ? value + object.dlpi_addr : value);
}

Tables tables_of(const dl_phdr_info& object, const ElfW(Dyn) * entry) {
    Tables tables;
    for (; entry->d_tag != DT_NULL; ++entry) {
        switch (entry->d_tag) {
            case DT_SYMTAB:
                tables.symbols = located<ElfW(Sym)>(object, entry->d_un.d_ptr);
                break;
            case DT_STRTAB:
                tables.names = located<char>(object, entry->d_un.d_ptr);
                break;
            case DT_GNU_HASH:
                tables.hash = located<std::uint32_t>(object, entry->d_un.d_ptr);
                break;
            case DT_RELACOUNT:
                tables.nameless = entry->d_un.d_val;
                break;
            case DT_JMPREL:
                tables.calls = located<ElfW(Rela)>(object, entry->d_un.d_ptr);
                break;
            case DT_PLTRELSZ:
                tables.calls_bytes = entry->d_un.d_val;
                break;
            case DT_RELA:
                tables.addresses = located<ElfW(Rela)>(object, entry->d_un.d_ptr);
                break;
            case DT_RELASZ:
                tables.addresses_bytes = entry->d_un.d_val;
                break;
            default:
                break;
        }
    }
    return tables;
}

// The symbol's index in the object's symbol table, or 0. Imported symbols come before those in the
// hash table and are few. The layout is that of the GNU tools: counts of buckets, of symbols
// before, of filter words; a shift; filter, buckets, chains.
std::size_t index_of(const Tables& tables, std::string_view name) {
    const std::uint32_t buckets_count = tables.hash[0];
    const std::uint32_t first_hashed = tables.hash[1];
    for (std::size_t i = 1; i < first_hashed; ++i)
        if (name == tables.names + tables.symbols[i].st_name) return i;
    std::uint32_t hash = 5381;
    for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
    constexpr std::size_t kHeader = 4;
    const std::uint32_t* buckets = tables.hash + kHeader + std::size_t{tables.hash[2]} * 2;
    const std::uint32_t* chains = buckets + buckets_count;
    for (std::size_t i = buckets_count ? buckets[hash % buckets_count] : 0;
         i != 0 && i >= first_hashed; ++i) {
        const std::uint32_t found = chains[i - first_hashed];
        if ((found | 1) == (hash | 1) && name == tables.names + tables.symbols[i].st_name) return i;
        if (found & 1) break;  // end of its chain
    }
    return 0;
}

// The slot may be in memory that became read-only after loading.
bool write_slot(std::uintptr_t address, void* value) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    if (mprotect(reinterpret_cast<void*>(address & ~(page - 1)), page, PROT_READ | PROT_WRITE) != 0)
        return false;
    std::atomic_ref<void*>(*reinterpret_cast<void**>(address)).store(value);
    return true;
}

int replace_in(const Tables& tables, ElfW(Addr) base, std::size_t wanted, void* replacement) {
    int replaced = 0;
    const auto walk = [&](const ElfW(Rela) * entry, std::size_t bytes, std::size_t skipped) {
        if (!entry) return;
        const auto* end = entry + bytes / sizeof(*entry);
        for (entry += skipped; entry < end; ++entry) {
            // The upper half is the symbol's index: ELF64_R_SYM.
            if (static_cast<std::size_t>(entry->r_info >> 32) == wanted &&
                write_slot(base + entry->r_offset, replacement))
                ++replaced;
        }
    };
    walk(tables.calls, tables.calls_bytes, 0);
    walk(tables.addresses, tables.addresses_bytes, tables.nameless);
    return replaced;
}

bool holds(const dl_phdr_info& object, const void* address) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    for (ElfW(Half) i = 0; i < object.dlpi_phnum; ++i) {
        const auto& segment = object.dlpi_phdr[i];
        const std::uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && begin <= wanted && wanted < begin + segment.p_memsz)
            return true;
    }
    return false;
}

// The loader holds its lock here: do not call the loader.
int visit(dl_phdr_info* object, std::size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    if (holds(*object, search.imports.front().replacement)) return 0;
    for (ElfW(Half) i = 0; i < object->dlpi_phnum; ++i) {
        const auto& header = object->dlpi_phdr[i];
        if (header.p_type != PT_DYNAMIC) continue;
        const auto* dynamic =
            reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + header.p_vaddr);
        const Tables tables = tables_of(*object, dynamic);
        if (!tables.symbols || !tables.names || !tables.hash) continue;
        for (std::size_t n = 0; n < search.imports.size(); ++n)
            if (const std::size_t symbol = index_of(tables, search.imports[n].symbol))
                search.replaced[n] +=
                    replace_in(tables, object->dlpi_addr, symbol, search.imports[n].replacement);
    }
    return 0;
}

}  // namespace

std::vector<int> replace_imports(std::span<const Import> imports) {
    Search search{imports, std::vector<int>(imports.size(), 0)};
    if (!imports.empty()) dl_iterate_phdr(&visit, &search);
    return search.replaced;
}

}  // namespace compat::shim
