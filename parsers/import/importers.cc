#include "parsers/import/importers.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "parsers/import/ctrf/ctrf.h"
#include "parsers/import/finished_run.h"
#include "parsers/import/gtest/googletest.h"
#include "parsers/import/junit/junit_xml.h"
#include "parsers/import/pytest/report_log.h"
#include "parsers/import/pytest/text.h"
#include "parsers/import/torchdevice/torchdevice.h"
#include "parsers/import/unittest/text.h"
#include "parsers/outcomes.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

template <void (*each_run)(const RunsText&, const SeeRun&)>
std::vector<Diagnostic> read_runs(const ResultFile& file, const SeePart& see) {
    each_run({file.bytes, {}, file.name}, [&](FinishedRun run) {
        const ProcessEnd end = run.end;
        see(resolved(std::move(run), end));
    });
    return {};
}

// A reader of one dialect. `likeness`: how many signs of the dialect the text shows; the
// dialect with the most is the file's, the earlier of two that show as many.
struct DialectReader {
    Dialect dialect;
    int (*likeness)(std::string_view beginning, std::string_view end);
    std::vector<Diagnostic> (*read)(const ResultFile& file, const SeePart& see);
};

constexpr std::array kReaders{
    DialectReader{Dialect::unittest_text, unittest_text_likeness, read_runs<each_unittest_run>},
    DialectReader{Dialect::pytest_text, pytest_text_likeness, read_runs<each_pytest_session>},
    DialectReader{Dialect::pytest_reportlog, pytest_reportlog_likeness, read_pytest_reportlog},
    DialectReader{Dialect::googletest_text, googletest_text_likeness, read_googletest_text},
    DialectReader{Dialect::googletest_json, googletest_json_likeness, read_googletest_json},
    DialectReader{Dialect::junit_xml, junit_xml_likeness, read_junit_xml},
    DialectReader{Dialect::torchdevice_log, torchdevice_log_likeness, read_torchdevice_log},
    DialectReader{Dialect::torchdevice_json, torchdevice_json_likeness, read_torchdevice_json},
    DialectReader{Dialect::ctrf, ctrf_likeness, read_ctrf},
};

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

// Looks at the first letter: of "_Private" the P.
bool begins_class(std::string_view word) {
    const size_t letter = word.find_first_not_of('_');
    return letter != std::string_view::npos && is_capital(word[letter]);
}

}  // namespace

std::optional<Dialect> dialect_of(std::string_view name) {
    const auto* const it = std::find(kDialectNames.begin(), kDialectNames.end(), name);
    if (it == kDialectNames.end()) return std::nullopt;
    return static_cast<Dialect>(it - kDialectNames.begin());
}

Signs signs_in(std::string_view bytes) {
    const std::string_view beginning = bytes.substr(0, kSniffedBytes);
    const std::string_view end = bytes.substr(bytes.size() - std::min(bytes.size(), kSniffedBytes));
    Signs signs{};
    for (const DialectReader& reader : kReaders)
        signs[static_cast<size_t>(reader.dialect)] = reader.likeness(beginning, end);
    return signs;
}

std::optional<Dialect> recognise(const Signs& signs) {
    const auto* const most = std::max_element(signs.begin(), signs.end());
    if (*most == 0) return std::nullopt;
    return static_cast<Dialect>(most - signs.begin());
}

std::vector<Dialect> others_in(const Signs& signs, Dialect dialect) {
    constexpr int kSure = 10;
    std::vector<Dialect> others;
    for (size_t i = 0; i < signs.size(); ++i) {
        const auto other = static_cast<Dialect>(i);
        if (signs[i] >= kCertain) return {};
        if (signs[i] >= kSure && other != dialect) others.push_back(other);
    }
    return others;
}

std::vector<Diagnostic> read_result_file(Dialect dialect, const ResultFile& file,
                                         const SeePart& see) {
    bool empty = true;
    const SeePart seen = [&](ModuleRecord part) {
        empty = false;
        see(std::move(part));
    };
    std::vector<Diagnostic> diagnostics;
    for (const DialectReader& reader : kReaders)
        if (reader.dialect == dialect) diagnostics = reader.read(file, seen);
    if (empty && diagnostics.empty())
        diagnostics.push_back(
            {"log", 0, "no result of " + std::string(name_of(dialect)) + " in it"});
    return diagnostics;
}

ModuleRecord read_attempt_log(Framework framework, std::string_view log, const ProcessEnd& end,
                              std::string_view module) {
    std::vector<FinishedRun> runs;
    const auto each = framework == Framework::pytest ? each_pytest_session : each_unittest_run;
    each({log, module, module}, [&](FinishedRun run) { runs.push_back(std::move(run)); });
    FinishedRun own = own_run(std::move(runs), name_of(framework));
    own.record.path = valid_utf8(module);
    return resolved(std::move(own), end);
}

std::vector<ModuleRecord> split_modules(ModuleRecord part) {
    std::vector<ModuleRecord> modules;
    if (!part.path.empty() || part.cases.empty()) {
        modules.push_back(std::move(part));
        return modules;
    }
    std::vector<CaseRecord> cases = std::move(part.cases);
    part.cases.clear();
    part.closing.reset();
    std::unordered_map<std::string, size_t> known;
    for (CaseRecord& test : cases) {
        const std::string path(module_of(test));
        const auto [at, is_new] = known.emplace(path, modules.size());
        if (is_new) {
            modules.push_back(part);
            modules.back().path = path;
            // Said once, with the first.
            part.diagnostics.clear();
        }
        modules[at->second].cases.push_back(std::move(test));
    }
    for (ModuleRecord& module : modules) module.collected = tests_in(module.cases);
    return modules;
}

std::vector<ModuleRecord> split_attempts(ModuleRecord module) {
    size_t most = 0;
    for (const CaseRecord& test : module.cases) most = std::max(most, test.earlier.size());
    if (most == 0) return {std::move(module)};
    std::vector<CaseRecord> cases = std::exchange(module.cases, {});
    // The totals are those of all attempts.
    module.closing.reset();
    // Said once, with the first.
    const auto diagnostics = std::exchange(module.diagnostics, {});
    std::vector<ModuleRecord> attempts(most + 1, module);
    attempts.front().diagnostics = diagnostics;
    for (CaseRecord& test : cases) {
        auto earlier = std::exchange(test.earlier, {});
        for (size_t i = 0; i < earlier.size(); ++i) {
            CaseRecord& attempt = attempts[i].cases.emplace_back(std::move(earlier[i]));
            attempt.id = test.id;
            attempt.name = test.name;
            attempt.location = test.location;
        }
        attempts[earlier.size()].cases.push_back(std::move(test));
    }
    for (ModuleRecord& attempt : attempts) attempt.collected = tests_in(attempt.cases);
    return attempts;
}

std::string_view module_of(const CaseRecord& test) {
    return std::string_view(test.id).substr(0, test.id.find("::"));
}

ClassPlace place_of_class(std::string_view dotted) {
    std::vector<std::string_view> words;
    for (size_t begin = 0; begin <= dotted.size();) {
        const size_t end = std::min(dotted.find('.', begin), dotted.size());
        words.push_back(dotted.substr(begin, end - begin));
        begin = end + 1;
    }
    size_t first = words.size() - 1;  // of the classes
    for (size_t i = words.size() - 1; i > 0; --i)
        if (begins_class(words[i]) && !begins_class(words[i - 1])) {
            first = i;
            break;
        }
    ClassPlace place;
    for (size_t i = 0; i < words.size(); ++i) {
        std::string& to = i < first ? place.path : place.classes;
        if (!to.empty()) to += i < first ? '/' : '.';
        to += words[i];
    }
    if (place.path == "__main__") place.path.clear();
    if (!place.path.empty()) place.path += ".py";
    return place;
}

}  // namespace compat::parsers
