// The targets of fuzzing: a body for each reader, and real files to begin with. Shared by
// libFuzzer's programs (fuzz.cc), what writes their first corpus (write_seeds.cc) and the tests
// that go through it (replay_test.cc). Not for hostile input made by hand
// (tests/parsers/hostile_test.cc).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace compat::fuzz {

struct Target {
    std::string_view name;
    // The first invariant that does not hold of what is read; empty where all do.
    std::string (*broken)(std::string_view bytes);
    std::vector<std::string> (*seeds)();
};
[[nodiscard]] std::span<const Target> targets();
// Null: there is none of this name.
[[nodiscard]] const Target* target_of(std::string_view name);

}  // namespace compat::fuzz
