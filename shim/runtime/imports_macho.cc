// replace_imports for Mach-O images, as on macOS. Torch's libraries call each other through slots
// that dyld has bound (runtime/macho_slots.h).
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach/mach.h>

#include <cstdint>

#include "runtime/imports.h"
#include "runtime/macho_slots.h"

namespace compat::shim {
namespace {

// dyld makes __DATA_CONST read-only once it has bound its slots. With VM_PROT_COPY the page becomes
// this process's own.
bool write_slot(std::uintptr_t slot, void* value) {
    constexpr vm_prot_t kWritable = VM_PROT_READ | VM_PROT_WRITE;
    const vm_map_t task = mach_task_self();
    if (vm_protect(task, slot, sizeof value, 0, kWritable) != KERN_SUCCESS &&
        vm_protect(task, slot, sizeof value, 0, kWritable | VM_PROT_COPY) != KERN_SUCCESS)
        return false;
    __atomic_store_n(reinterpret_cast<void**>(slot), value, __ATOMIC_SEQ_CST);
    return true;
}

// The image that has `address`; null if none has.
const void* image_of(const void* address) {
    Dl_info found{};
    return dladdr(address, &found) != 0 ? found.dli_fbase : nullptr;
}

}  // namespace

std::vector<int> replace_imports(std::span<const Import> imports) {
    std::vector<int> replaced(imports.size(), 0);
    if (imports.empty()) return replaced;
    const void* ours = image_of(imports.front().replacement);
    for (std::uint32_t i = 0; i < _dyld_image_count(); ++i) {
        const void* image = _dyld_get_image_header(i);
        if (!image || image == ours) continue;
        const auto slide = static_cast<std::uintptr_t>(_dyld_get_image_vmaddr_slide(i));
        macho::each_slot(image, slide, [&](std::string_view symbol, std::uintptr_t slot) {
            for (std::size_t n = 0; n < imports.size(); ++n)
                if (symbol.substr(1) == imports[n].symbol &&
                    write_slot(slot, imports[n].replacement))
                    ++replaced[n];
        });
    }
    return replaced;
}

}  // namespace compat::shim
