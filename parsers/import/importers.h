// Results that others made, in any of the known dialects: the one entry for whoever imports them.
// Not for an attempt that a runner of ours made (attempt.h), nor for what is done with the results.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "parsers/record.h"
#include "runner/base/framework.h"

namespace compat::parsers {

enum class Dialect {
    unittest_text,
    pytest_text,
    pytest_reportlog,
    googletest_text,
    googletest_json,
    junit_xml,
    torchdevice_log,
    torchdevice_json,
    ctrf,
};
inline constexpr std::array<std::string_view, 9> kDialectNames{
    "unittest",  "pytest",          "pytest-reportlog", "googletest", "googletest-json",
    "junit-xml", "torchdevice-log", "torchdevice-json", "ctrf"};
[[nodiscard]] constexpr std::string_view name_of(Dialect d) {
    return kDialectNames[static_cast<size_t>(d)];
}
[[nodiscard]] std::optional<Dialect> dialect_of(std::string_view name);

struct ResultFile {
    std::string_view name;   // names the module where nothing in the file does
    std::string_view bytes;  // whole; need only live for the call
};

// Receives one run of a framework, as one summary counts it. Its `path` is empty where the run
// was of several modules; its cases' ids name their modules then (split_modules). `from_text` is
// true, `collected` what the file says was collected, `closing` its own totals, diagnostics are of
// "log" with byte offsets in the file; failures have no diagnosis yet.
using SeePart = std::function<void(ModuleRecord part)>;

// The unit of a dialect's `likeness`: how many signs of it a text shows, ten for a line that no
// other dialect writes and one for a lesser sign, about; kCertain where the file begins as only
// this one does, whatever it quotes.
inline constexpr int kCertain = 1'000'000;

// How many signs of each dialect a file shows, by Dialect. Looks at this much of its beginning and
// its end alone, whatever its size.
inline constexpr size_t kSniffedBytes = 1 << 18;
using Signs = std::array<int, kDialectNames.size()>;
[[nodiscard]] Signs signs_in(std::string_view bytes);

// The dialect in which a file is written; nothing where it is in none that is known.
[[nodiscard]] std::optional<Dialect> recognise(const Signs& signs);

// The other dialects of which a file shows signs that no other than they have: a log of several
// frameworks. None for a file that begins as only its own dialect does.
[[nodiscard]] std::vector<Dialect> others_in(const Signs& signs, Dialect dialect);

// Hands on the file's parts in its order and keeps none. Gives what is to be said of the file as a
// whole: a message that begins with kTotalsDiffer (text.h) is of its own totals over several of its
// parts, which are not those of its tests. Never fails, on any bytes.
[[nodiscard]] std::vector<Diagnostic> read_result_file(Dialect dialect, const ResultFile& file,
                                                       const SeePart& see);

// The results of one attempt of ours at a module of pytest or unittest, from the text of its log
// (LogReader of attempt.h).
[[nodiscard]] ModuleRecord read_attempt_log(Framework framework, std::string_view log,
                                            const ProcessEnd& end, std::string_view module);

// A part of several modules as one record a module, in the order of their first cases. A record of
// one module comes back as it is; of several, each has its own cases, and no closing.
[[nodiscard]] std::vector<ModuleRecord> split_modules(ModuleRecord part);

// The record of one module as one record an attempt. The first has each test's first attempt, the
// next has the tests that were tried again.
[[nodiscard]] std::vector<ModuleRecord> split_attempts(ModuleRecord module);

// "tests/test_a.py" of "tests/test_a.py::A::test_x".
[[nodiscard]] std::string_view module_of(const CaseRecord& test);

// The place of a class by its dotted name: "tests.test_a.Outer.Inner" is the class
// "Outer.Inner" in "tests/test_a.py". Python does not tell where the module ends: classes are taken
// to begin with a capital, else the last word is the class. `path` is empty for a class of
// `__main__` and for one without a module.
struct ClassPlace {
    std::string path;
    std::string classes;
};
[[nodiscard]] ClassPlace place_of_class(std::string_view dotted);

}  // namespace compat::parsers
