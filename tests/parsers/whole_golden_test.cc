// Whole runs as the frameworks print them in each of their forms (golden/regenerate_whole.sh),
// against what their own objects say of the same run: every test and its state, named or not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "parsers/import/importers.h"
#include "parsers/outcomes.h"
#include "parsers/text.h"
#include "runner/analysis/accounting.h"
#include "tests/parsers/golden_files.h"

namespace compat::parsers::whole_golden_test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string content(const fs::path& file) { return testing::golden_bytes(file.string()); }

constexpr std::string_view kEnd = "end-";

std::vector<fs::path> logs(std::string_view folders) {
    std::vector<fs::path> all = testing::golden_paths(folders, ".log");
    std::erase_if(all,
                  [](const fs::path& file) { return file.filename().string().starts_with(kEnd); });
    return all;
}

std::string test_name(const ::testing::TestParamInfo<fs::path>& info) {
    std::string name =
        info.param.parent_path().filename().string() + "_" + info.param.stem().string();
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return name;
}

std::vector<ModuleRecord> read(std::string_view text, Dialect dialect) {
    std::vector<ModuleRecord> parts;
    EXPECT_EQ(recognise(signs_in(text)), dialect);
    const auto said = read_result_file(
        dialect, {"run.log", text}, [&](ModuleRecord part) { parts.push_back(std::move(part)); });
    for (const Diagnostic& one : said) ADD_FAILURE() << one.message;
    return parts;
}

// Each test's state: by its id, and of the tests of the row without names how many are in which.
struct States {
    std::map<std::string, std::string> named;
    std::map<std::string, int> unnamed;
    bool counts_more = false;  // than tests: it says so
};

States states_of(const ModuleRecord& part) {
    static const re2::RE2 count(R"((\d+) (not run|\w+))");
    States states;
    for (const CaseRecord& c : part.cases) {
        if (!is_unnamed(c)) states.named[c.id] = name_of(c.state);
        re2::StringPiece words(c.reason.data(), std::min(c.reason.find(';'), c.reason.size()));
        int number = 0;
        for (std::string word;
             is_unnamed(c) && re2::RE2::FindAndConsume(&words, count, &number, &word);)
            states.unnamed[word] += number;
    }
    for (const Diagnostic& said : part.diagnostics)
        states.counts_more =
            states.counts_more || said.message.find("counts as one more") != std::string::npos;
    return states;
}

void expect_states(const ModuleRecord& part, const json& model) {
    States found = states_of(part);
    // unittest's line does not tell whether tests passed or were skipped, nor of what the skips
    // are.
    int passed_or_skipped = found.unnamed["ran"];
    found.unnamed.erase("ran");
    for (const auto& [id, wanted] : model["cases"].items()) {
        const std::string state = wanted["state"];
        const auto it = found.named.find(id);
        if (it != found.named.end()) {
            EXPECT_EQ(it->second, state) << id;
            found.named.erase(it);
        } else if (found.unnamed[state] > 0) {
            --found.unnamed[state];
        } else if (state == "passed") {
            EXPECT_GT(passed_or_skipped--, 0) << id;
        } else {
            EXPECT_EQ(state, "skipped") << id;  // under a fixture that skips
        }
    }
    for (const auto& [id, state] : found.named) ADD_FAILURE() << id << " is not in the model";
    if (found.counts_more) return;
    for (const auto& [state, count] : found.unnamed)
        if (state != "not run" && state != "skipped") EXPECT_EQ(count, 0) << "more are " << state;
}

// The failures of those that have a name, as the model has them.
void expect_failures(const ModuleRecord& part, const json& model) {
    for (const CaseRecord& c : part.cases) {
        const auto it = model["cases"].find(c.id);
        if (it == model["cases"].end() || c.pseudo) continue;
        size_t found = c.failure.has_value() + c.also.size();
        EXPECT_EQ(found, (*it)["failures"].size()) << c.id;
        if (!c.failure || (*it)["failures"].empty()) continue;
        const std::string type = (*it)["failures"][0]["type"];
        EXPECT_EQ(c.failure->type.substr(c.failure->type.rfind('.') + 1),
                  type.substr(type.rfind('.') + 1))
            << c.id;
    }
}

void expect_adds_up(const ModuleRecord& part) {
    for (const auto& mismatch : analysis::account(part).mismatches)
        ADD_FAILURE() << mismatch.text();
}

bool is_ambiguous(const std::vector<ModuleRecord>& parts) {
    return std::any_of(parts.begin(), parts.end(), [](const ModuleRecord& part) {
        const auto mismatches = analysis::account(part).mismatches;
        return std::any_of(mismatches.begin(), mismatches.end(), [](const auto& mismatch) {
            return mismatch.text().find(kAmbiguous) != std::string::npos;
        });
    });
}

constexpr const char* kTwice = "test_states.py::Fixtures::test_fail_and_teardown_error";

class WholeUnittest : public ::testing::TestWithParam<fs::path> {};

TEST_P(WholeUnittest, IsWhatUnittestSays) {
    const std::string text = content(GetParam());
    auto parts = read(text, Dialect::unittest_text);
    ASSERT_FALSE(parts.empty());
    // Where a fixture closes what -b has put in place of stdout, unittest 3.12.1 itself breaks off.
    if (text.find("has no attribute 'getvalue'") != std::string::npos) {
        EXPECT_FALSE(parts[0].finished);
        return;
    }
    // A test prints a closing line: among dots nothing tells whose it is.
    if (GetParam().stem() == "quiet") {
        EXPECT_TRUE(is_ambiguous(parts));
        return;
    }
    ASSERT_EQ(parts.size(), 1u);
    json model = json::parse(content(GetParam().parent_path() / "model.json"));
    EXPECT_EQ(parts[0].path, "");
    expect_adds_up(parts[0]);
    // unittest-xml-reporting says of a test that failed and whose tear-down broke the latter alone.
    if (GetParam().stem() == "xmlrunner") {
        model["cases"].erase(kTwice);
        std::erase_if(parts[0].cases, [](const CaseRecord& c) { return c.id == kTwice; });
    }
    expect_states(parts[0], model);
    expect_failures(parts[0], model);
    EXPECT_EQ(parts[0].closing->ran, model["closing"]["ran"]);
}

class WholePytest : public ::testing::TestWithParam<fs::path> {};

TEST_P(WholePytest, IsWhatPytestSays) {
    const auto parts = read(content(GetParam()), Dialect::pytest_text);
    ASSERT_EQ(parts.size(), 1u);
    expect_adds_up(parts[0]);
    const fs::path own = fs::path(GetParam()).replace_extension(".model.json");
    const fs::path model_file = testing::golden_archives().contains(own.string())
                                    ? own
                                    : GetParam().parent_path() / "model.json";
    if (GetParam().stem() == "crashed") {
        EXPECT_THAT(states_of(parts[0]).named,
                    ::testing::UnorderedElementsAre(
                        ::testing::Pair("test_crash.py::test_1", "passed"),
                        ::testing::Pair("test_crash.py::test_2_dies", "crashed"),
                        ::testing::Pair("test_crash.py::test_3", "passed"),
                        ::testing::Pair("test_all_pass.py::test_a", "passed"),
                        ::testing::Pair("test_all_pass.py::test_b", "passed")));
        return;
    }
    const json model = json::parse(content(model_file));
    const std::string name = GetParam().stem().string();
    if (name == "xdist_verbose") {
        // It does not tell how many modules were skipped.
        for (const auto& [id, state] : states_of(parts[0]).named)
            EXPECT_EQ(model["cases"].at(id)["state"], state) << id;
        return;
    }
    expect_states(parts[0], model);
    // Without tracebacks, or with one line each, a text tells of no failure whose it is.
    if (name != "no" && name != "line") expect_failures(parts[0], model);
}

class OddUnittest : public ::testing::TestWithParam<fs::path> {};

// Tests that print text like a run's: each has its own model, from the same process.
TEST_P(OddUnittest, IsWhatItsResultWasTold) {
    const std::string stem = GetParam().stem().string();
    const auto parts = read(content(GetParam()), Dialect::unittest_text);
    // Where tests have no lines of their own, nothing tells what they print from what is the run's.
    if (stem.find("-v") == std::string::npos && is_ambiguous(parts)) return;
    ASSERT_EQ(parts.size(), 1u);
    // A tear-down that broke as xfail expects is counted beside its test.
    if (stem == "test_teardowns-v") {
        EXPECT_TRUE(is_ambiguous(parts));
        return;
    }
    expect_adds_up(parts[0]);
    const std::string module = stem.substr(0, stem.find('-'));
    expect_states(parts[0], json::parse(content(GetParam().parent_path() / (module + ".json"))));
}

class OddPytest : public ::testing::TestWithParam<fs::path> {};

// Logs that are hard to read: their tests print text like a session's, or run one.
TEST_P(OddPytest, IsWhatItsReportsSaid) {
    const std::string stem = GetParam().stem().string();
    const auto parts = read(content(GetParam()), Dialect::pytest_text);
    if (stem.find("-v") == std::string::npos && is_ambiguous(parts)) return;
    ASSERT_EQ(parts.size(), 1u);
    expect_adds_up(parts[0]);
    const std::string module = stem.substr(0, stem.find('-'));
    expect_states(parts[0], json::parse(content(GetParam().parent_path() / (module + ".json"))));
}

// Sessions of three tests that end in the second, pass, or never begin.
TEST(EndsOfPytest, AreToldInEachVerbosity) {
    using Counts = std::map<std::string, std::int64_t>;
    struct Wanted {
        std::string_view log;
        bool finished;
        Counts states;
    };
    const std::array wanted{
        Wanted{"end-dies", false, {{"crashed", 1}, {"not_run", 2}}},
        Wanted{"end-interrupted", true, {{"not_run", 2}, {"passed", 1}}},
        Wanted{"end-interrupted-q", true, {{"passed", 1}}},
        Wanted{"end-passes", true, {{"passed", 3}}},
        Wanted{"end-passes-q", true, {{"passed", 3}}},
        Wanted{"end-broken_conftest", false, {{"errored", 1}}},
        Wanted{"end-broken_conftest-q", false, {{"errored", 1}}},
    };
    for (const std::string_view version : {"odd-pytest-7.4.4", "odd-pytest-9.0.3"})
        for (const Wanted& want : wanted) {
            const std::string what = fmt::format("{}/{}", version, want.log);
            const auto parts = read(content(what + ".log"), Dialect::pytest_text);
            ASSERT_EQ(parts.size(), 1u) << what;
            EXPECT_EQ(parts[0].finished, want.finished) << what;
            Counts states;
            for (const CaseRecord& c : parts[0].cases)
                states[std::string(name_of(c.state))] += c.tests;
            EXPECT_EQ(states, want.states) << what;
        }
}

INSTANTIATE_TEST_SUITE_P(Real, WholeUnittest, ::testing::ValuesIn(logs("whole-unittest")),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Real, OddUnittest, ::testing::ValuesIn(logs("odd-unittest")), test_name);
INSTANTIATE_TEST_SUITE_P(Real, OddPytest, ::testing::ValuesIn(logs("odd-pytest")), test_name);
INSTANTIATE_TEST_SUITE_P(Real, WholePytest, ::testing::ValuesIn(logs("whole-pytest")), test_name);

}  // namespace
}  // namespace compat::parsers::whole_golden_test
