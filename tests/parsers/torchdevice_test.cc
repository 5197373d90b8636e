// The files of TorchDevice's test_automation against what unittest and the processes themselves
// said of the same run (golden/make_torchdevice.py).
#include "parsers/import/torchdevice/torchdevice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "runner/analysis/accounting.h"
#include "tests/parsers/golden_files.h"
#include "tests/parsers/import_invariants.h"

namespace compat::parsers::torchdevice_test {
namespace {

using nlohmann::json;
using testing::imported_parts;
using testing::ImportedParts;

std::string golden(const char* name) {
    return testing::golden_bytes(std::string("torchdevice/") + name);
}

json model() { return json::parse(golden("model.json")); }

std::string path_of(std::string module) {
    std::replace(module.begin(), module.end(), '.', '/');
    return module + ".py";
}

int count(const json& counts, const char* word) { return counts.value(word, 0); }

std::map<State, int> states_of(const ModuleRecord& part) {
    std::map<State, int> states;
    for (const CaseRecord& c : part.cases) ++states[c.state];
    return states;
}

TEST(TorchdeviceLog, TellsHowEachModuleEnded) {
    const std::string log = golden("overall.log");
    EXPECT_EQ(recognise(signs_in(log)), Dialect::torchdevice_log);
    const ImportedParts all = imported_parts(Dialect::torchdevice_log, "all.log", log);
    EXPECT_TRUE(all.diagnostics.empty());
    const json wanted = model();
    ASSERT_EQ(all.parts.size(), wanted.size());
    size_t i = 0;
    for (const auto& [module, told] : wanted.items()) {
        const ModuleRecord& part = all.parts[i++];
        EXPECT_EQ(part.path, path_of(module));
        const int code = told["return_code"];
        EXPECT_EQ(part.outcome, code < 0 ? ModuleOutcome::crashed : ModuleOutcome::completed);
        // No test is made up: a row that is none, and only where the module did not end well.
        ASSERT_EQ(part.cases.size(), code == 0 ? 0u : 1u) << module;
        EXPECT_TRUE(analysis::account(part).closed());
        ASSERT_TRUE(part.closing);
        EXPECT_NE(part.closing->text.find(fmt::format("(RC: {})", code)), std::string::npos);
        if (code == 0) continue;
        EXPECT_TRUE(part.cases[0].pseudo);
        EXPECT_EQ(part.cases[0].id, part.path + "::<module>");
        EXPECT_EQ(part.cases[0].state, code < 0 ? State::crashed : State::errored);
        EXPECT_GT(part.cases[0].duration_s, 0);
    }
}

TEST(TorchdeviceLog, WhatIsNotReachedIsNotRun) {
    const std::string log = golden("overall.log");
    const size_t third = log.find("Finished test: tests.sub.test_broken_import");
    ASSERT_NE(third, std::string::npos);
    const ImportedParts cut =
        imported_parts(Dialect::torchdevice_log, "all.log", log.substr(0, third));
    ASSERT_EQ(cut.parts.size(), model().size());
    EXPECT_EQ(cut.parts[1].outcome, ModuleOutcome::completed);
    EXPECT_EQ(cut.parts[2].outcome, ModuleOutcome::interrupted);
    for (size_t i = 3; i < cut.parts.size(); ++i) {
        EXPECT_EQ(cut.parts[i].outcome, ModuleOutcome::not_run);
        EXPECT_FALSE(cut.parts[i].reason.empty());
    }
}

TEST(TorchdeviceLog, TotalsThatDoNotAddUpAreSaid) {
    std::string log = golden("overall.log");
    const std::string_view mark = "\nSuccessful: ";
    const size_t at = log.find(mark);
    ASSERT_NE(at, std::string::npos);
    log.insert(at + mark.size(), "7");
    const auto said = imported_parts(Dialect::torchdevice_log, "all.log", log).diagnostics;
    ASSERT_EQ(said.size(), 1u);
    EXPECT_THAT(said[0].message, ::testing::StartsWith("totals differ: Successful: 7"));
}

// A module that ended twice is one, and counts as it ended last.
TEST(TorchdeviceLog, TotalsAreOfTheLastEnds) {
    const std::string log =
        "Target project repo: x\nFound 2 test files to run:\n  - tests/a.py\n  - tests/b.py\n"
        "Preparing to run test 1/2: tests/a.py\n"
        "Finished test: tests.a - Status: FAILURE (RC: 1) Duration: 0:00:02.5\n"
        "Finished test: tests.a - Status: SUCCESS (RC: 0) Duration: 0:00:02.5\n"
        "Module: tests.b\n  Status: FAILURE (Return Code: 1)\n"
        "Total test files processed: 2\nSuccessful: 1\nFailed (test failures): 1\n"
        "Critical failures (script/execution errors): 0\n";
    const auto said = imported_parts(Dialect::torchdevice_log, "all.log", log).diagnostics;
    ASSERT_EQ(said.size(), 1u);
    EXPECT_THAT(said[0].message, ::testing::HasSubstr("ended twice"));
    const auto more =
        imported_parts(Dialect::torchdevice_log, "all.log",
                       std::string(log).replace(log.find("processed: 2") + 11, 1, "7"))
            .diagnostics;
    ASSERT_EQ(more.size(), 2u);
    EXPECT_THAT(more[1].message, ::testing::StartsWith("totals differ: "));
}

TEST(TorchdeviceJson, IsWhatUnittestSays) {
    const std::string bytes = golden("summary.json");
    EXPECT_EQ(recognise(signs_in(bytes)), Dialect::torchdevice_json);
    const ImportedParts all = imported_parts(Dialect::torchdevice_json, "summary.json", bytes);
    EXPECT_TRUE(all.diagnostics.empty());
    const json wanted = model();
    ASSERT_EQ(all.parts.size(), wanted.size());
    size_t i = 0;
    for (const auto& [module, told] : wanted.items()) {
        const ModuleRecord& part = all.parts[i++];
        EXPECT_EQ(part.path, path_of(module));
        EXPECT_TRUE(analysis::account(part).closed()) << module;
        if (!told.contains("counts")) {
            EXPECT_FALSE(part.finished);
            EXPECT_EQ(part.cases.size(), 1u);
            continue;
        }
        const json& counts = told["counts"];
        EXPECT_TRUE(part.finished);
        auto states = states_of(part);
        EXPECT_EQ(states[State::failed], count(counts, "failures")) << module;
        EXPECT_EQ(states[State::errored], count(counts, "errors")) << module;
        const auto tests = analysis::account(part).states;
        for (const auto& [word, state] :
             {std::pair{"skipped", State::skipped}, std::pair{"expected failures", State::xfailed},
              std::pair{"unexpected successes", State::xpassed}})
            EXPECT_EQ(tests[state], count(counts, word)) << module << " " << word;
        EXPECT_EQ(part.closing->ran, count(counts, "ran"));
        const json& broken = told["broken"];
        for (size_t n = 0; n < broken.size(); ++n) {
            const CaseRecord& row = part.cases.at(n);
            ASSERT_TRUE(row.failure) << row.id;
            EXPECT_EQ(name_of(row.state), broken[n]["state"] == "FAIL" ? "failed" : "errored");
            const std::string traceback = broken[n]["traceback"];
            EXPECT_EQ(trimmed(row.failure->traceback), trimmed(traceback));
            EXPECT_NE(traceback.find("\n" + row.failure->type), std::string::npos) << row.id;
            EXPECT_FALSE(row.failure->message.empty()) << row.id;
        }
    }
}

TEST(TorchdeviceJson, IdsNameModuleAndClass) {
    const ImportedParts all =
        imported_parts(Dialect::torchdevice_json, "summary.json", golden("summary.json"));
    std::vector<std::string> ids;
    for (const ModuleRecord& part : all.parts)
        for (const CaseRecord& c : part.cases) ids.push_back(c.id);
    for (const char* id :
         {"tests/sub/test_states.py::Plain::test_fail",
          "tests/sub/test_states.py::SetUpClassFails::<setUpClass>",
          "tests/sub/test_states.py::<tearDownModule>", "tests/sub/test_broken_import.py::<module>",
          "tests/sub/test_all_pass.py::<unnamed passed>", "tests/sub/test_crash.py::<module>"})
        EXPECT_THAT(ids, ::testing::Contains(id));
}

TEST(TorchdeviceJson, TotalsThatDoNotAddUp) {
    json entries = json::parse(golden("summary.json"));
    json& totals = entries[0]["individual_log_summary"];
    totals["passed"] = totals["passed"].get<int>() + 1;
    const ImportedParts sum = imported_parts(Dialect::torchdevice_json, "s.json", entries.dump());
    EXPECT_EQ(sum.parts.at(0).diagnostics.size(), 2u);
    // More broken tests than its own log counts.
    entries = json::parse(golden("summary.json"));
    for (json& entry : entries)
        if (!entry["test_cases"].empty())
            entry["individual_log_summary"]["raw_log_status_line"] = "FAILED (failures=1)";
    bool closed = true;
    for (const ModuleRecord& part :
         imported_parts(Dialect::torchdevice_json, "s.json", entries.dump()).parts)
        closed = closed && analysis::account(part).closed();
    EXPECT_FALSE(closed);
}

// The tests that it names are no crash, and what else it had is not known.
TEST(TorchdeviceJson, AModuleWithoutTotalsKeepsItsTests) {
    json entries = json::parse(golden("summary.json"));
    for (json& entry : entries) entry["individual_log_summary"] = json::object();
    const ImportedParts all = imported_parts(Dialect::torchdevice_json, "s.json", entries.dump());
    const ModuleRecord& states = all.parts.back();
    EXPECT_EQ(states.path, "tests/sub/test_states.py");
    EXPECT_EQ(states.outcome, ModuleOutcome::interrupted);
    EXPECT_EQ(states.cases.size(), model()["tests.sub.test_states"]["broken"].size());
    EXPECT_FALSE(analysis::account(states).closed());
}

// A name may look as if the parser had given it.
TEST(TorchdeviceJson, IdsAreOfOneTestEach) {
    json entry;
    entry["module"] = "tests.test_a";
    for (const char* name : {"test_b#2", "test_b", "test_b", "<unnamed 1>"})
        entry["test_cases"].push_back({{"name", name}, {"status", "FAIL"}});
    entry["individual_log_summary"] = {{"total", 6},
                                       {"raw_log_status_line", "FAILED (failures=4)"}};
    const ImportedParts all = imported_parts(Dialect::torchdevice_json, "s.json", entry.dump());
    std::vector<std::string> ids;
    for (const CaseRecord& row : all.parts.at(0).cases) ids.push_back(row.id);
    const std::string path = "tests/test_a.py::";
    EXPECT_THAT(ids, ::testing::ElementsAre(path + "test_b#2", path + "test_b", path + "test_b#3",
                                            path + "<unnamed 1>", path + "<unnamed passed>"));
}

TEST(Torchdevice, Durations) {
    EXPECT_DOUBLE_EQ(torchdevice_seconds("0:00:27.122207"), 27.122207);
    EXPECT_DOUBLE_EQ(torchdevice_seconds("1 day, 2:03:04"), 93784);
    EXPECT_DOUBLE_EQ(torchdevice_seconds("2:03:04"), 7384);
    for (const char* text : {"", "N/A", "1:2", "1:2:3:4", "x days, 1:2:3", "1:2:3.", "-1:2:3"})
        EXPECT_EQ(torchdevice_seconds(text), 0) << text;
}

}  // namespace
}  // namespace compat::parsers::torchdevice_test
