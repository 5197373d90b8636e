// Failures for tests and benchmarks of the diagnosis rules: those of a corpus and random variations
// of them. Not for stored failures (runner/store).
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
    std::string cause;     // the expected cause; "a|b": either; empty: unknown
    std::string not_rule;  // the id of a rule that it resembles and is no case of

    [[nodiscard]] bool agrees(parsers::Cause found) const;
};

// One failure per line: {"traceback": "text" or ["line", …], "status": "FAIL"|"ERROR"|a state,
// "cause", "not": as above}, and optionally "type", "message" and "frames" ([[file, line,
// function], …]) as in the store.
[[nodiscard]] std::vector<Sample> read_failures(const std::filesystem::path& jsonl);

// Random variations of the samples: of numbers, names, parts of paths, quoted text, shapes, words
// (invented or from other samples, so that rules meet words of other rules), the depth of the
// traceback and chained exceptions. All differ; the same seed gives the same sequence.
class VariedFailures {
  public:
    // `samples` must not be empty and must outlive this object.
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
