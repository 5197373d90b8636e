// Failures for tests and benchmarks of the rules: those of a corpus, and others made of them that
// are never the same twice. Not for what the store holds (runner/store).
#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "parsers/record.h"

namespace compat::test {

struct Sample {
    parsers::Failure failure;
    parsers::State state = parsers::State::errored;
    std::string cause;  // as it should be, "a|b": either; empty: nobody says

    [[nodiscard]] bool agrees(parsers::Cause found) const;
};

// One failure a line: {"traceback": "text" or ["line", …], "status": "FAIL"|"ERROR"|a state,
// "cause": as above}; "type", "message" and "frames" ([[file, line, function], …]) where they are
// known apart, as the store has them.
[[nodiscard]] std::vector<Sample> read_failures(const std::filesystem::path& jsonl);

// Failures like the samples in which everything differs that may: numbers, names, parts of paths,
// what is quoted, shapes, words (invented, or another sample's: so what one rule looks for stands
// among another's), how deep the traceback is and what is chained to it. No two are equal; the same
// seed makes the same ones.
class VariedFailures {
  public:
    // `samples` outlive it and are not empty.
    VariedFailures(const std::vector<Sample>& samples, std::uint64_t seed);
    [[nodiscard]] Sample next();

  private:
    bool chance(int percent);
    template <class T>
    const T& any(const std::vector<T>& of);
    std::string number();
    std::string word();
    std::string varied(std::string_view text);
    parsers::Frame frame();
    std::string traceback(const parsers::Failure& failure);

    const std::vector<Sample>& samples_;
    std::mt19937_64 random_;
    std::vector<std::string> words_;  // of all messages
    std::vector<parsers::Frame> frames_;
    std::unordered_set<std::uint64_t> made_;  // hashes
};

}  // namespace compat::test
