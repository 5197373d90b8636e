// The replacements that `runner scan --fix` writes by itself, made by LibCST in an environment of
// the runner's own. Not for finding sites (scan_sources.h), nor for testing them (verify_fixes.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runner/config/settings.h"
#include "runner/prepare/prepare.h"

namespace compat::run {

struct Replacement {
    std::string file;            // as the paths name it
    std::filesystem::path real;  // without symbolic links
    std::string place;           // in the file; unique there
    int line = 0;
    std::string symbol;  // what is replaced: "torch.cuda.synchronize"
    std::string write;   // by what, for people
};

struct FixResult {
    std::string patch;
    std::vector<Replacement> changes;  // by file and line
    bool own_cuda = false;             // a class of the code has a .cuda() of its own
    std::vector<std::string> skipped;  // "file:line: reason"
    bool conflict = false;             // a file was edited while it was to be written: skipped

    [[nodiscard]] long files() const;
};

struct FixOptions {
    std::string torch;                               // version that the code runs with
    bool write = false;                              // into the files
    const std::vector<Replacement>* only = nullptr;  // null: all
    std::string device = {};                         // expression for a device; empty: the default
};

class Fixer {
  public:
    // Makes the environment. Errors: environment, for example if there is no network.
    [[nodiscard]] static Expected<Fixer> create(const config::Settings& settings,
                                                const prepare::Share& share,
                                                const prepare::Say& say);
    [[nodiscard]] Expected<FixResult> fix(const std::vector<std::string>& paths,
                                          const FixOptions& options) const;

  private:
    Fixer(std::filesystem::path python, std::filesystem::path scanner);
    std::filesystem::path python_, scanner_;
};

}  // namespace compat::run
