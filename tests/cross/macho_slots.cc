// Runs the shim's search for slots of imported functions (shim/runtime/macho_slots.h) on libraries
// for macOS, without a Mac: each file is put into memory as dyld does, but not bound.
//
//   macho_slots FILE…
//
// Prints for each file and each function of torch that the shim replaces: the file's name, the
// symbol, and the addresses of its slots in the image.
#include "runtime/macho_slots.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/torch_symbols.h"

namespace {

using compat::shim::kWithLibcxx;

// The fields of <mach-o/loader.h> that say where a segment lies. Independent of those in
// macho_slots.cc.
constexpr std::size_t kHeaderBytes = 32, kCommandsCount = 16;
constexpr std::uint32_t kSegment = 0x19;

template <class T>
T field(const std::vector<char>& file, std::size_t at) {
    T value;
    if (at + sizeof value > file.size()) std::abort();
    std::memcpy(&value, file.data() + at, sizeof value);
    return value;
}

std::vector<char> content(const char* path) {
    std::vector<char> bytes;
    std::FILE* file = std::fopen(path, "rb");
    if (!file) return bytes;
    std::array<char, 1 << 16> buffer;
    for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;)
        bytes.insert(bytes.end(), buffer.data(), buffer.data() + n);
    std::fclose(file);
    return bytes;
}

struct Loaded {
    const void* header = nullptr;
    std::uintptr_t slide = 0;
};

// dyld puts every segment at its address plus one slide. The first one, __TEXT, has the header.
Loaded load(const std::vector<char>& file) {
    struct Segment {
        std::uint64_t address, size, offset, bytes;
    };
    std::vector<Segment> segments;
    std::uint64_t end = 0;
    std::size_t at = kHeaderBytes;
    for (auto left = field<std::uint32_t>(file, kCommandsCount); left > 0; --left) {
        if (field<std::uint32_t>(file, at) == kSegment) {
            const auto word = [&](std::size_t n) { return field<std::uint64_t>(file, at + n); };
            segments.push_back({word(24), word(32), word(40), word(48)});
            end = std::max(end, segments.back().address + segments.back().size);
        }
        at += field<std::uint32_t>(file, at + 4);
    }
    void* memory = mmap(nullptr, end, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return {};
    for (const auto& [address, size, offset, bytes] : segments)
        std::memcpy(static_cast<char*>(memory) + address, file.data() + offset, bytes);
    // A library's first segment has the address 0, so that the slide is where it was put.
    return {memory, reinterpret_cast<std::uintptr_t>(memory)};
}

}  // namespace

int main(int count, char** arguments) {
    for (int i = 1; i < count; ++i) {
        const auto file = content(arguments[i]);
        if (file.size() < kHeaderBytes) {
            std::fprintf(stderr, "%s: cannot be read\n", arguments[i]);
            return 1;
        }
        const Loaded image = load(file);
        if (!image.header) return 1;
        const std::string path = arguments[i];
        const auto name = path.substr(path.rfind('/') + 1);
        for (const auto symbol : {kWithLibcxx.device_parser, kWithLibcxx.device_printer,
                                  kWithLibcxx.out_check, kWithLibcxx.default_generator,
                                  kWithLibcxx.default_device}) {
            std::printf("%s %.*s", name.c_str(), static_cast<int>(symbol.size()), symbol.data());
            compat::shim::macho::each_slot(
                image.header, image.slide, [&](std::string_view found, std::uintptr_t slot) {
                    if (found.substr(1) == symbol)
                        std::printf(" %#llx", static_cast<unsigned long long>(slot - image.slide));
                });
            std::printf("\n");
        }
    }
}
