// What all foreign dialects share: where a class is, and one run's cases by their modules.
#include "parsers/foreign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compat::parsers {
namespace {

TEST(Foreign, ADottedNameTellsModuleAndClass) {
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

CaseRecord test(const char* id) {
    CaseRecord c;
    c.id = id;
    return c;
}

TEST(Foreign, CasesOfSeveralModulesAreARecordEach) {
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
}  // namespace compat::parsers
