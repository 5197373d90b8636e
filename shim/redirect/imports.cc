#include "redirect/imports.h"

#if defined(__ELF__) && __SIZEOF_POINTER__ == 8

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace compat::shim {
namespace {

// The tables of one object's dynamic section (ELF gABI, "Dynamic Section").
struct Tables {
    const ElfW(Sym) * symbols = nullptr;
    const char* names = nullptr;
    const ElfW(Rela) * relocations[2] = {nullptr, nullptr};  // of calls, of addresses
    std::size_t bytes[2] = {0, 0};
};

struct Search {
    std::string_view symbol;
    void* replacement;
    const void* own_object;
    int replaced = 0;
};

// glibc stores these as addresses, other C libraries as offsets from where the object lies.
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
            case DT_JMPREL:
                tables.relocations[0] = located<ElfW(Rela)>(object, entry->d_un.d_ptr);
                break;
            case DT_PLTRELSZ:
                tables.bytes[0] = entry->d_un.d_val;
                break;
            case DT_RELA:
                tables.relocations[1] = located<ElfW(Rela)>(object, entry->d_un.d_ptr);
                break;
            case DT_RELASZ:
                tables.bytes[1] = entry->d_un.d_val;
                break;
            default:
                break;
        }
    }
    return tables;
}

// The slot may lie in memory that was made read-only after the object was loaded.
bool write_slot(std::uintptr_t address, void* value) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    if (mprotect(reinterpret_cast<void*>(address & ~(page - 1)), page, PROT_READ | PROT_WRITE) != 0)
        return false;
    std::atomic_ref<void*>(*reinterpret_cast<void**>(address)).store(value);
    return true;
}

int visit(dl_phdr_info* object, std::size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    Dl_info own{};
    for (ElfW(Half) i = 0; i < object->dlpi_phnum; ++i) {
        const auto& header = object->dlpi_phdr[i];
        if (header.p_type != PT_DYNAMIC) continue;
        const auto* dynamic =
            reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + header.p_vaddr);
        if (dladdr(dynamic, &own) == 0 || own.dli_fbase == search.own_object) continue;
        const Tables tables = tables_of(*object, dynamic);
        if (!tables.symbols || !tables.names) continue;
        for (int table = 0; table < 2; ++table) {
            const auto* entry = tables.relocations[table];
            const auto* end = entry + tables.bytes[table] / sizeof(*entry);
            for (; entry && entry != end; ++entry) {
                // The symbol's index: ELF64_R_SYM.
                const auto symbol = static_cast<std::size_t>(entry->r_info >> 32);
                if (symbol == 0 || search.symbol != tables.names + tables.symbols[symbol].st_name)
                    continue;
                if (write_slot(object->dlpi_addr + entry->r_offset, search.replacement))
                    ++search.replaced;
            }
        }
    }
    return 0;
}

}  // namespace

int replace_import(std::string_view symbol, void* replacement) {
    Dl_info own{};
    if (dladdr(replacement, &own) == 0) return 0;
    Search search{symbol, replacement, own.dli_fbase};
    dl_iterate_phdr(&visit, &search);
    return search.replaced;
}

}  // namespace compat::shim

#else

namespace compat::shim {
int replace_import(std::string_view, void*) { return 0; }
}  // namespace compat::shim

#endif
