// Tests the part that all dialects share: where a class is, and one run's cases by their modules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "parsers/import/importers.h"

namespace compat::parsers::import_test {
namespace {

TEST(Importers, ADottedNameTellsModuleAndClass) {
    struct Row {
        const char *dotted, *path, *classes;
    };
    for (const Row& row : {
             Row{"tests.test_a.TestA", "tests/test_a.py", "TestA"},
             Row{"tests.test_a.Outer.Inner", "tests/test_a.py", "Outer.Inner"},
             Row{"PIL.tests.test_a._Private", "PIL/tests/test_a.py", "_Private"},
             Row{"test_a.lower", "test_a.py", "lower"},
             Row{"__main__.TestA", "", "TestA"},
             Row{"TestA", "", "TestA"},
             Row{"", "", ""},
             Row{"..", "", ""},
         }) {
        const ClassPlace place = place_of_class(row.dotted);
        EXPECT_EQ(place.path, row.path) << row.dotted;
        EXPECT_EQ(place.classes, row.classes) << row.dotted;
    }
}

TEST(Importers, WhatAFileQuotesIsNotItsDialect) {
    std::string quoted;
    for (int i = 0; i < 50; ++i)
        quoted += "test_x (m.A.test_x) ... ok\n" + std::string(70, '-') + "\nRan 1 test in 0.1s\n";
    const std::string json = nlohmann::json(quoted).dump();
    EXPECT_EQ(recognise(signs_in(quoted)), Dialect::unittest_text);
    EXPECT_EQ(recognise(signs_in(
                  "<?xml version='1.0'?>\n<testsuites><testsuite name='a'><testcase name='t'>"
                  "<system-out>" +
                  quoted + "</system-out></testcase></testsuite></testsuites>")),
              Dialect::junit_xml);
    EXPECT_EQ(
        recognise(signs_in(R"({"tests": 1, "disabled": 0, "name": "AllTests", "testsuites": [)" +
                           json + "]}")),
        Dialect::googletest_json);
    EXPECT_EQ(
        recognise(signs_in(R"([{"module": "a", "status_from_summary": "FAILURE", "test_cases": [)" +
                           json + "]}]")),
        Dialect::torchdevice_json);
    EXPECT_EQ(recognise(signs_in("nothing to see\n")), std::nullopt);
    EXPECT_EQ(recognise(signs_in("")), std::nullopt);
}

TEST(Importers, ATextOfTwoFrameworksShowsSignsOfBoth) {
    const std::string rule(70, '-');
    const std::string unittest =
        "test_x (m.A.test_x) ... ok\n\n" + rule + "\nRan 1 test in 0.1s\n\nOK\n";
    const std::string gtest =
        "[==========] Running 1 test from 1 test suite.\n[ RUN      ] A.x\n[       OK ] A.x (0 "
        "ms)\n"
        "[==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 1 test.\n";
    EXPECT_EQ(recognise(signs_in(unittest + gtest)), Dialect::googletest_text);
    EXPECT_EQ(others_in(signs_in(unittest + gtest), Dialect::googletest_text),
              std::vector{Dialect::unittest_text});
    EXPECT_EQ(others_in(signs_in(gtest), Dialect::googletest_text), std::vector<Dialect>{});
    const std::string xml = "<testsuite><testcase name='t'><system-out>" + unittest + gtest +
                            "</system-out></testcase></testsuite>";
    EXPECT_EQ(others_in(signs_in(xml), Dialect::junit_xml), std::vector<Dialect>{});
}

CaseRecord test(const char* id) {
    CaseRecord c;
    c.id = id;
    return c;
}

TEST(Importers, CasesOfSeveralModulesAreARecordEach) {
    ModuleRecord part;
    part.framework = "unittest";
    part.closing.emplace();
    part.diagnostics = {{"log", 3, "once"}};
    part.cases = {test("a.py::A::x"), test("b.py::B::x"), test("a.py::A::y")};
    const auto modules = split_modules(part);
    ASSERT_EQ(modules.size(), 2u);
    EXPECT_EQ(modules[0].path, "a.py");
    EXPECT_EQ(modules[0].collected, 2);
    EXPECT_EQ(modules[0].cases[1].id, "a.py::A::y");
    EXPECT_EQ(modules[0].diagnostics.size(), 1u);
    EXPECT_EQ(modules[1].path, "b.py");
    EXPECT_FALSE(modules[1].closing);
    EXPECT_TRUE(modules[1].diagnostics.empty());

    part.path = "a.py";
    EXPECT_EQ(split_modules(part), std::vector<ModuleRecord>{part});
}

}  // namespace
}  // namespace compat::parsers::import_test
