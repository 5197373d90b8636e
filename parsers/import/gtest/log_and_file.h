// A GoogleTest binary's log beside the XML or JSON of the same run, in one import: they complete
// each other. Not for runs of the same tests with other results, which are attempts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/import/importers.h"

namespace compat::parsers {

// The runs of XML and JSON files until the logs are read.
class GoogletestFiles {
  public:
    // `file`: the name of the file among those of the import, `number` its place there.
    void hold(ModuleRecord part, std::string_view file, size_t number, Dialect dialect);

    // The run of a log: with the tests of the held file of each dialect that has the same tests with
    // the same results, which is held no more. The log keeps what failed outside of tests. Among
    // several such files the one counts that is named as the log is; if none is, the only one.
    [[nodiscard]] ModuleRecord completed(ModuleRecord log, std::string_view file);

    // The runs of which there was no log, each with its file's number.
    [[nodiscard]] std::vector<std::pair<ModuleRecord, size_t>> take_rest();

  private:
    struct Held {
        ModuleRecord part;
        std::string file;
        size_t number;
        Dialect dialect;
    };
    std::vector<Held> held_;
};

}  // namespace compat::parsers
