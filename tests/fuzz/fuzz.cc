// One of libFuzzer's programs: COMPAT_FUZZ_TARGET names its target.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const compat::fuzz::Target& target = *compat::fuzz::target_of(COMPAT_FUZZ_TARGET);
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (const std::string broken = target.broken(bytes); !broken.empty()) {
        std::fprintf(stderr, "%s\n", broken.c_str());
        std::abort();
    }
    return 0;
}
