#include "runner/plan/targets.h"

#include <gmock/gmock.h>

#include <set>

namespace compat::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<ModuleFile> kFiles{
    {"tests/generation/test_logits_process.py", 1},
    {"tests/generation/test_utils.py", 1},
    {"tests/models/bert/test_modeling_bert.py", 1},
    {"tests/models/bert_generation/test_modeling_bert_generation.py", 1},
    {"tests/models/gpt2/test_modeling_gpt2.py", 1},
    {"tests/old/test_gone.py", 1, true},
    {"tests/pipelines/test_pipelines_common.py", 1},
    {"tests/test_top.py", 1},
    {"tests/utils/test_cli.py", 1},
    {"tests/utils/test_generic.py", 1},
};

suites::Suite suite_with_groups() {
    suites::Suite s;
    s.name = "demo";
    s.layout.tests = "tests";
    s.groups = {{"big", {"tests/models", "tests/**/test_pipelines_*.py"}, false},
                {"old", {"tests/old"}, true}};
    return s;
}

struct Case {
    const char* target;
    std::vector<std::string> modules;
    const char* test = "";
};

const std::vector<std::string> kGeneration{"tests/generation/test_logits_process.py",
                                           "tests/generation/test_utils.py"};
const std::vector<std::string> kUtils{"tests/utils/test_cli.py", "tests/utils/test_generic.py"};
const std::vector<std::string> kLogits{"tests/generation/test_logits_process.py"};
const std::vector<std::string> kBerts{
    "tests/models/bert/test_modeling_bert.py",
    "tests/models/bert_generation/test_modeling_bert_generation.py"};

const Case kCases[] = {
    // Folders.
    {"tests/utils", kUtils},
    {"utils", kUtils},
    {"./tests//utils/", kUtils},
    {"tests/models/../utils", kUtils},
    {"models/bert", {"tests/models/bert/test_modeling_bert.py"}},
    // Files.
    {"tests/test_top.py", {"tests/test_top.py"}},
    {"test_top.py", {"tests/test_top.py"}},
    {"generation/test_logits_process.py", kLogits},
    // Globs.
    {"models/bert*/test_*.py", kBerts},
    {"tests/models/bert*", kBerts},
    {"**/test_modeling_b*.py", kBerts},
    {"generation/test_[lu]*.py", kGeneration},
    // Dotted names.
    {"tests.generation.test_logits_process", kLogits},
    {"generation.test_logits_process", kLogits},
    {"tests.utils", kUtils},
    {"test_top", {"tests/test_top.py"}},
    {"tests.test_top.TopTest", {"tests/test_top.py"}, "TopTest"},
    {"tests.test_top.TopTest.test_x", {"tests/test_top.py"}, "TopTest::test_x"},
    // Groups, before paths.
    {"big",
     {"tests/models/bert/test_modeling_bert.py",
      "tests/models/bert_generation/test_modeling_bert_generation.py",
      "tests/models/gpt2/test_modeling_gpt2.py", "tests/pipelines/test_pipelines_common.py"}},
    // Tests.
    {"tests/test_top.py::TopTest", {"tests/test_top.py"}, "TopTest"},
    {"test_top.py::TopTest::test_x", {"tests/test_top.py"}, "TopTest::test_x"},
    {"test_top.py::test_x[a::b/c.d-*]", {"tests/test_top.py"}, "test_x[a::b/c.d-*]"},
    {"tests.test_top::TopTest", {"tests/test_top.py"}, "TopTest"},
    {"pipelines::PTest", {"tests/pipelines/test_pipelines_common.py"}, "PTest"},
};

TEST(Targets, Table) {
    for (const Case& c : kCases) {
        SCOPED_TRACE(c.target);
        const auto match = resolve(suite_with_groups(), kFiles, c.target);
        ASSERT_TRUE(match.has_value()) << to_line(match.error());
        std::vector<std::string> paths;
        for (const std::size_t i : match->modules) paths.push_back(kFiles[i].path);
        EXPECT_EQ(paths, c.modules);
        EXPECT_EQ(match->test, c.test);
    }
}

TEST(Targets, NoTargetSelectsAllButExcludedModules) {
    const auto all = resolve(suite_with_groups(), kFiles, ".");
    ASSERT_TRUE(all.has_value()) << to_line(all.error());
    EXPECT_EQ(all->modules.size(), kFiles.size() - 1);
    EXPECT_EQ(resolve(suite_with_groups(), kFiles, "tests")->modules, all->modules);
}

TEST(Targets, TargetsStartAtTheRootIfItHoldsTheTests) {
    suites::Suite flat = suite_with_groups();
    flat.layout.tests = ".";
    const std::vector<ModuleFile> modules{{"a_test.py", 1}, {"pkg/b_test.py", 1}};
    EXPECT_THAT(resolve(flat, modules, "pkg")->modules, ElementsAre(1u));
    EXPECT_THAT(resolve(flat, modules, "a_test")->modules, ElementsAre(0u));
    EXPECT_THAT(resolve(flat, modules, ".")->modules, ElementsAre(0u, 1u));
}

struct ErrorCase {
    const char* target;
    const char* line;
};

const ErrorCase kErrors[] = {
    {"utlis", R"(target "utlis" matches no test module: did you mean "utils"?)"},
    {"tests/utlis", R"(target "tests/utlis" matches no test module: did you mean "tests/utils"?)"},
    {"big_", R"(target "big_" matches no test module: did you mean "big"?)"},
    {"test_tops.py",
     R"(target "test_tops.py" matches no test module: did you mean "test_top.py"?)"},
    {"somewhere/else/test_generics.py",
     R"(target "somewhere/else/test_generics.py" matches no test module: did you mean "tests/utils/test_generic.py"?)"},
    {"zzzzzz", R"(target "zzzzzz" matches no test module: `runner list demo` shows what there is)"},
    {"", R"(target "" matches no test module: `runner list demo` shows what there is)"},
    {"::X", R"(target "::X" matches no test module: `runner list demo` shows what there is)"},
    {"../other",
     R"(target "../other" matches no test module: `runner list demo` shows what there is)"},
    {"old/test_gone.py",
     R"(target "old/test_gone.py" selects only excluded modules: see layout.exclude in its suite.json)"},
    {"utils::A::test_x",
     R"(target "utils::A::test_x" names a test in 2 modules: put one module before "::")"},
};

TEST(Targets, ErrorsNameTheNearest) {
    for (const ErrorCase& c : kErrors) {
        const auto match = resolve(suite_with_groups(), kFiles, c.target);
        ASSERT_FALSE(match.has_value()) << c.target;
        EXPECT_EQ(match.error().kind, ErrorKind::usage);
        EXPECT_EQ(to_line(match.error()), c.line);
    }
}

TEST(Targets, MisspelledDottedNamesGetDottedSuggestions) {
    const auto match = resolve(suite_with_groups(), kFiles, "tests.generation.test_logit_process");
    ASSERT_FALSE(match.has_value());
    EXPECT_THAT(match.error().advice,
                HasSubstr("did you mean \"tests.generation.test_logits_process\""));
}

TEST(Targets, AtMostFiveSuggestions) {
    std::vector<ModuleFile> many;
    for (char c = 'a'; c <= 'z'; ++c)
        many.push_back({std::string("tests/test_long_name_") + c + ".py", 1});
    const auto match = resolve(suite_with_groups(), many, "test_long_name_7.py");
    ASSERT_FALSE(match.has_value());
    const std::string& advice = match.error().advice;
    EXPECT_EQ(std::count(advice.begin(), advice.end(), '"'), 10);
}

TEST(SelectingIds, AreTheTestsOwnAndItsParents) {
    using testing::UnorderedElementsAre;
    EXPECT_THAT(
        selecting_ids("a.py::A::B::t[x::y]", Framework::pytest),
        UnorderedElementsAre("a.py::A::B::t[x::y]", "a.py::A::B::t", "a.py::A::B", "a.py::A"));
    const auto set_of = [](const char* id) {
        const auto ids = selecting_ids(id, Framework::gtest);
        return std::set<std::string>(ids.begin(), ids.end());
    };
    EXPECT_THAT(set_of("bin/b::Suite::Test"),
                UnorderedElementsAre("bin/b::Suite::Test", "bin/b::Suite"));
    EXPECT_THAT(
        set_of("b::Some/Suite::Test/0"),
        testing::IsSupersetOf({"b::Some/Suite::Test/0", "b::Suite::Test/0", "b::Suite::Test",
                               "b::Some/Suite::Test", "b::Suite", "b::Some/Suite"}));
    EXPECT_THAT(
        set_of("b::Some/Suite/1::Test"),
        testing::IsSupersetOf({"b::Suite::Test", "b::Suite/1::Test", "b::Some/Suite", "b::Suite"}));
}

}  // namespace
}  // namespace compat::plan
