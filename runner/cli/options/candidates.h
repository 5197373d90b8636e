// Candidates for the last word of an unfinished command line, for shells' completion. They come
// from the description of the command line, so that there is no second list of commands and
// options. Not for the shells' scripts (completions.cc).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace compat::cli {

struct Candidate {
    std::string word;
    std::string help;  // one line; may be empty

    friend bool operator==(const Candidate&, const Candidate&) = default;
};

enum class Paths { none, files, folders };

struct Candidates {
    std::vector<Candidate> words;  // those that begin with the unfinished word
    Paths paths = Paths::none;     // which the shell adds
};

// Where values come from that the description does not have.
struct ValueSources {
    std::function<std::vector<Candidate>()> suites, runs;
};

// `words`: those after the program's name, the unfinished one last. `app`: of the whole program.
[[nodiscard]] Candidates candidates_for(const CLI::App& app, std::vector<std::string> words,
                                        const ValueSources& sources);

}  // namespace compat::cli
