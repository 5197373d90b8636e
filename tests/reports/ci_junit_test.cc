#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <pugixml.hpp>

#include "parsers/import/importers.h"
#include "parsers/import/junit/junit_xml.h"
#include "reports/ci/ctrf.h"
#include "reports/ci/junit.h"
#include "reports/ci/outcome.h"
#include "runner/analysis/accounting.h"
#include "tests/reports/ci_sample.h"
#include "tests/support/temp_tree.h"

namespace compat::reports {
namespace {

using parsers::State;
using testing::HasSubstr;
using testing::Not;

class JunitTest : public testing::Test {
  protected:
    void SetUp() override { samples::make_source(root); }
    void render() {
        model = samples::model(stored, folder.root() / "run");
        text = samples::rendered(model, junit_report);
        const auto parsed = document.load_buffer(text.data(), text.size());
        ASSERT_TRUE(parsed) << parsed.description() << " at " << parsed.offset;
    }
    pugi::xml_node testcase(const std::string& name) const {
        return document.child("testsuites")
            .child("testsuite")
            .find_child_by_attribute("testcase", "name", name.c_str());
    }

    test::TempTree folder;
    std::filesystem::path root = folder.root() / "src";
    samples::Run stored = samples::hostile_run(root);
    samples::Model model;
    std::string text;
    pugi::xml_document document;
};

TEST_F(JunitTest, HasOneTestcaseATestAndTheModelsTotals) {
    render();
    const auto suites = document.child("testsuites");
    std::map<std::string, std::int64_t> elements;
    std::int64_t cases = 0;
    for (const auto suite : suites.children("testsuite"))
        for (const auto test : suite.children("testcase")) {
            ++cases;
            for (const char* name : {"failure", "error", "skipped"})
                if (test.child(name)) ++elements[name];
        }
    EXPECT_EQ(cases, model.totals.collected);
    const CiCounts counts = ci_counts_of(model);
    EXPECT_EQ(elements["failure"], counts.failed);
    EXPECT_EQ(elements["error"], counts.errored);
    EXPECT_EQ(elements["skipped"], counts.skipped + counts.not_run);
    EXPECT_EQ(suites.attribute("tests").as_llong(), cases);
    EXPECT_EQ(suites.attribute("failures").as_llong(), counts.failed);
    EXPECT_EQ(suites.attribute("errors").as_llong(), counts.errored);
    EXPECT_EQ(suites.child("testsuite").attribute("skipped").as_llong(), elements["skipped"]);
    EXPECT_STREQ(suites.child("testsuite").next_sibling().child_value("system-err"),
                 "not_run: interrupted");
}

TEST_F(JunitTest, EachStateHasItsElement) {
    render();
    const auto type = [&](const char* test, const char* element) {
        return std::string(testcase(test).child(element).attribute("type").as_string());
    };
    EXPECT_FALSE(testcase("test_p").child("failure") || testcase("test_p").child("skipped"));
    EXPECT_EQ(type("test_f", "failure"), "AssertionError");
    EXPECT_EQ(type("test_s1", "skipped"), "skipped");
    EXPECT_EQ(type("test_xf", "skipped"), "xfailed");
    EXPECT_EQ(type("test_xp", "failure"), "xpassed") << "unittest fails on it";
    EXPECT_EQ(type("test_t", "error"), "timed_out");
    EXPECT_EQ(type("test_n", "skipped"), "not_run");
    EXPECT_STREQ(testcase("test_t").child("error").attribute("message").as_string(), "after 5m");
    EXPECT_STREQ(testcase("test_p").attribute("classname").as_string(), "tests.ops.test_a.T");
    stored.info.framework = "pytest";
    render();
    EXPECT_FALSE(testcase("test_xp").child("failure")) << "pytest does not";
    EXPECT_STREQ(testcase("test_xp").child_value("system-out"), "[[PROPERTY|state=xpassed]]\n");
}

TEST_F(JunitTest, AttemptsBeforeTheLastAreInSurefiresWords) {
    render();
    const auto flaky = testcase("test_c");
    EXPECT_FALSE(flaky.child("error"));
    EXPECT_STREQ(flaky.child("flakyError").attribute("type").as_string(), "crashed");
    EXPECT_THAT(testcase("test_f").child("rerunFailure").child_value("stackTrace"),
                HasSubstr("]]> red "));
    EXPECT_TRUE(testcase("test_f").child("failure"));
    EXPECT_STREQ(testcase("test_f").child("rerunFailure").attribute("type").as_string(), "failed");
    EXPECT_FALSE(testcase("test_p").child("flakyFailure"));
}

TEST_F(JunitTest, AFailureHasItsTracebacksAndACommandToReproduceIt) {
    stored = samples::run(root);
    render();
    const std::string failure = testcase("test_f").child_value("failure");
    EXPECT_THAT(failure, HasSubstr("AssertionError: 1 != 2"));
    EXPECT_THAT(failure, HasSubstr("Another failure:\nTraceback"));
    EXPECT_THAT(failure, HasSubstr("Sub-test tests/ops/test_a.py::T::test_f (i=3):\nTraceback"));
    EXPECT_THAT(failure, HasSubstr("To reproduce:\nrunner suites/alpha"));
    EXPECT_THAT(testcase("test_f").child_value("system-out"),
                HasSubstr("[[PROPERTY|marks=redirected]]\n[[ATTACHMENT|modules/tests/ops/"));
    const auto properties = document.child("testsuites").child("testsuite").child("properties");
    const auto value = [&](const char* name) {
        return std::string(properties.find_child_by_attribute("property", "name", name)
                               .attribute("value")
                               .as_string());
    };
    EXPECT_EQ(value("run"), stored.info.id);
    EXPECT_EQ(value("simulated"), "none");
    EXPECT_EQ(value("torch"), "2.13.0");
}

TEST_F(JunitTest, HostileTextStaysXml) {
    render();
    const std::string message =
        testcase("test_f").child("failure").attribute("message").as_string();
    EXPECT_THAT(message, HasSubstr("]]> red #x00 #x202E<b>&\"' "));
    EXPECT_THAT(message, HasSubstr("#xFFFF 100%"));
    EXPECT_THAT(message, HasSubstr("#x01 %0A"));
    EXPECT_GT(std::string(testcase("test_f").child_value("failure")).size(), 1u << 20);
    for (const char byte : text)
        EXPECT_TRUE(static_cast<unsigned char>(byte) >= 0x20 || byte == '\n' || byte == '\r');
    EXPECT_THAT(text, Not(HasSubstr("\xED\xA0\x80")));
    EXPECT_EQ(xml_text("a\tb\nc\rd\uFFFD"), "a\tb\nc\rd\uFFFD") << "what XML allows stays";
}

TEST_F(JunitTest, ImportReadsTheSameStates) {
    // For hostile characters ids have other spellings in XML.
    stored.modules[0].attempts[0].record.cases[3].id = "tests/ops/test_a.py::T::test_e[a::b]";
    for (const char* framework : {"unittest", "pytest"}) {
        stored.info.framework = framework;
        render();
        std::map<std::string, parsers::State> written, read;
        for (const ModuleView& module : model.modules)
            for (const CaseView& test : module.cases) written[test.id] = test.state;
        const auto diagnostics =
            parsers::read_junit_xml({"junit.xml", text}, [&](parsers::ModuleRecord record) {
                for (const auto& test : record.cases) read[test.id] = test.state;
                const auto accounts = analysis::account(record);
                for (const auto& mismatch : accounts.mismatches) ADD_FAILURE() << mismatch.text();
            });
        EXPECT_EQ(read, written) << framework;
        EXPECT_TRUE(diagnostics.empty());
    }
}

// A module of many tests must not be in memory twice.
TEST_F(JunitTest, IsWrittenTestByTest) {
    stored = samples::run(root);
    auto& cases = stored.modules[0].attempts[0].record.cases;
    for (int i = 0; i < 5000; ++i)
        cases.push_back(samples::test(root, "tests/ops/test_a.py", fmt::format("test_{}", i), 1,
                                      State::skipped));
    const samples::Model large = samples::model(stored, folder.root() / "run");
    for (const auto make : {junit_report, ctrf_report}) {
        size_t largest = 0;
        size_t all = 0;
        const auto renderer = make(large, [&](std::string_view bytes) {
            largest = std::max(largest, bytes.size());
            all += bytes.size();
        });
        for (const ModuleView& module : large.modules) renderer->add(module);
        renderer->finish();
        EXPECT_GT(all, 500'000u);
        EXPECT_LT(largest, 16'000u);
    }
}

TEST(IdParts, JoinToTheId) {
    struct Row {
        const char* id;
        const char* classes;
        const char* name;
    };
    for (const Row& row :
         {Row{"m.py::A::test", "A", "test"}, Row{"m.py::A::B::test", "A::B", "test"},
          Row{"m.py::test", "", "test"}, Row{"m.py::<module>", "", "<module>"},
          Row{"m.py::A::t[x::y]", "A", "t[x::y]"},
          Row{"m.py::A::<tearDownClass>", "A", "<tearDownClass>"}}) {
        const IdParts parts = parts_of_id(row.id, "m.py");
        EXPECT_EQ(parts.classes, row.classes) << row.id;
        EXPECT_EQ(parts.name, row.name) << row.id;
    }
}

}  // namespace
}  // namespace compat::reports
