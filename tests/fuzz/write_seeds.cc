// write_seeds TARGET FOLDER: a fuzzer's first corpus, a file a seed.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/fuzz/targets.h"

int main(int argc, char** argv) {
    const auto* const target = argc == 3 ? compat::fuzz::target_of(argv[1]) : nullptr;
    if (!target) {
        std::cerr << "write_seeds TARGET FOLDER\nTARGET is one of";
        for (const auto& known : compat::fuzz::targets()) std::cerr << ' ' << known.name;
        std::cerr << '\n';
        return 2;
    }
    const std::filesystem::path folder = argv[2];
    std::filesystem::create_directories(folder);
    int count = 0;
    for (const std::string& seed : target->seeds())
        std::ofstream(folder / fmt::format("seed-{}", count++), std::ios::binary) << seed;
    return 0;
}
