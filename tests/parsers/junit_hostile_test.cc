// JUnit XML that no tool would write: the reader returns in time, throws nothing, keeps what can be
// kept and says what it does not understand. Bounded, with fixed seeds; tests/fuzz looks further.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/parsers/golden_files.h"
#include "tests/parsers/import_invariants.h"
#include "tests/parsers/monsters.h"

namespace compat::parsers::junit_hostile_test {
namespace {

using testing::broken_import_invariant;
using testing::filled;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Monster;
using testing::nested;
using testing::repeated;

testing::ImportedParts read(std::string_view bytes) {
    return testing::imported_parts(Dialect::junit_xml, "dir/file.xml", bytes);
}

// One suite of one test, around what is given.
std::string around(std::string_view inside) {
    return "<testsuite name='s' tests='1' failures='1'><testcase name='t' classname='s'>" +
           std::string(inside) + "</testcase></testsuite>";
}

TEST(JunitTotals, OneThatIsNoCountIsSaid) {
    const char* test = "<testcase name='t' classname='s'/>";
    for (const char* stated : {"x", "-4", "1.0", "99999999999999999999", "9223372036854775807"}) {
        const auto of_suite = read(fmt::format(
            "<testsuites><testsuite name='s' tests='1' failures='{}'>{}</testsuite></testsuites>",
            stated, test));
        const auto of_root = read(fmt::format(
            "<testsuites tests='{}'><testsuite name='s' tests='1'>{}</testsuite></testsuites>",
            stated, test));
        ASSERT_EQ(of_suite.diagnostics.size(), 1U) << stated;
        EXPECT_EQ(of_suite.diagnostics[0].message,
                  fmt::format("failures=\"{}\" is no count: nothing is held to it", stated));
        EXPECT_EQ(of_suite.diagnostics[0].offset, 12);
        ASSERT_EQ(of_root.diagnostics.size(), 1U) << stated;
        EXPECT_EQ(of_root.diagnostics[0].offset, 0);
    }
    EXPECT_THAT(read(around("")).diagnostics, IsEmpty());
}

class JunitGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(JunitGolden, CutAnywhere) {
    const std::string bytes = testing::golden_bytes(GetParam());
    ASSERT_FALSE(bytes.empty());
    for (size_t cut = 0; cut <= bytes.size(); cut += 1 + cut / 97)
        ASSERT_EQ(broken_import_invariant(Dialect::junit_xml, bytes.substr(0, cut)), "")
            << "cut at " << cut;
    for (size_t cut = 0; cut <= bytes.size(); cut += 1 + cut / 47)
        ASSERT_EQ(broken_import_invariant(Dialect::junit_xml, bytes.substr(cut)), "")
            << "from " << cut;
}

TEST_P(JunitGolden, Mutated) {
    const std::string source = testing::golden_bytes(GetParam());
    std::mt19937 random(static_cast<unsigned>(source.size()));
    for (int round = 0; round < 200; ++round) {
        std::string bytes = source;
        for (int change = 0; change < 1 + round % 20; ++change) {
            const size_t at = random() % bytes.size();
            const size_t length = std::min<size_t>(random() % 60, bytes.size() - at);
            switch (random() % 4) {
                case 0:
                    bytes[at] = static_cast<char>(random());
                    break;
                case 1:
                    bytes.erase(at, length);
                    break;
                case 2:
                    bytes.insert(at, bytes.substr(random() % bytes.size(), 80));
                    break;
                default:
                    bytes.insert(at, std::string(length, static_cast<char>(random())));
            }
            if (bytes.empty()) bytes = source;
        }
        ASSERT_EQ(broken_import_invariant(Dialect::junit_xml, bytes), "") << "round " << round;
    }
}

INSTANTIATE_TEST_SUITE_P(Real, JunitGolden,
                         ::testing::Values("truth-pytest-9.2.0/session-plain.xml",
                                           "junit-pytest-7.4.4/xunit2.xml",
                                           "junit-unittest-3.13.0/test_states.xml",
                                           "junit-googletest/states.xml", "junit-ctest/states.xml",
                                           "junit-surefire/states.xml"));

// The whole tests before the cut are kept, and the test in the middle is named.
TEST(JunitHostile, AFileThatBreaksOffKeepsWhatWasWhole) {
    const std::string head =
        "<testsuites><testsuite name='s' tests='9'><testcase name='a'/>"
        "<testcase name='b'><failure message='m'>text</failure></testcase>";
    for (const auto& [tail, named] : std::vector<std::pair<std::string, std::string>>{
             {"", ""},
             {"<testca", ""},
             {"<testcase name='c' fi", "c"},
             {"<testcase name='c'", "c"},
             {"<testcase name='c'>", "c"},
             {"<testcase name='c'><system-out><![CDATA[ <testcase/> ", "c"},
             {"<testcase name='c'><skipped/></testcas", "c"},
         }) {
        const std::string bytes = head + tail;
        const auto all = read(bytes);
        ASSERT_EQ(all.parts.size(), 1u) << tail;
        const ModuleRecord& part = all.parts[0];
        ASSERT_EQ(part.cases.size(), 2u) << tail;
        EXPECT_EQ(part.cases[1].state, State::failed) << tail;
        EXPECT_FALSE(part.finished) << tail;
        EXPECT_EQ(part.collected, 9) << tail;
        ASSERT_FALSE(part.diagnostics.empty()) << tail;
        const Diagnostic& last = part.diagnostics.back();
        EXPECT_THAT(last.message, HasSubstr("the file breaks off here"));
        EXPECT_EQ(last.message.ends_with("inside the test c"), named == "c") << last.message;
        EXPECT_GE(last.offset, static_cast<std::int64_t>(head.size())) << tail;
    }
    // Whole tests in front of the cut are not taken for cut.
    EXPECT_EQ(read(head + "<testcase name='c'/>").parts[0].cases.size(), 3u);
    EXPECT_EQ(read(head + "<testcase name='c'>x</testcase>").parts[0].cases.size(), 3u);
}

// Only XML's own five entities are known; a document's own stay as they are written.
TEST(JunitHostile, EntitiesAreNotExpanded) {
    std::string bomb = "<?xml version='1.0'?><!DOCTYPE lolz [<!ENTITY lol 'lol'>";
    for (int i = 1; i < 10; ++i)
        bomb += "<!ENTITY lol" + std::to_string(i) + " '" +
                repeated("&lol" + (i == 1 ? "" : std::to_string(i - 1)) + ";", 10) + "'>";
    bomb += "<!ENTITY file SYSTEM 'file:///etc/passwd'>]>" +
            around("<failure message='&lol9;'>&file; &lt;&amp;&gt;</failure>");
    const auto all = read(bomb);
    ASSERT_EQ(all.parts.size(), 1u);
    ASSERT_EQ(all.parts[0].cases.size(), 1u);
    EXPECT_EQ(all.parts[0].cases[0].failure->message, "&lol9;");
    EXPECT_EQ(all.parts[0].cases[0].failure->traceback, "&file; <&>");
}

TEST(JunitHostile, NulsAreBlanks) {
    std::string bytes = around("<failure message='m'>x" + std::string(2, '\0') +
                               "y</failure><system-out>z</system-out>");
    const size_t at = bytes.find('\0');
    const auto all = read(bytes);
    ASSERT_EQ(all.parts.size(), 1u);
    EXPECT_TRUE(all.parts[0].finished);
    EXPECT_THAT(all.parts[0].cases[0].failure->traceback, ::testing::StartsWith("x  y"));
    ASSERT_EQ(all.diagnostics.size(), 1u);
    EXPECT_EQ(all.diagnostics[0].offset, static_cast<std::int64_t>(at));
}

// "Grüße" in the encodings that are not converted before.
TEST(JunitHostile, EncodingsAreRead) {
    const std::string inside =
        "<failure message='m'>Gr\xC3\xBC\xC3\x9F"
        "e</failure>";
    const std::string utf8 = around(inside);
    const auto words = [](std::string_view bytes) {
        const auto all = read(bytes);
        EXPECT_EQ(recognise(signs_in(bytes)), Dialect::junit_xml);
        EXPECT_THAT(all.diagnostics, IsEmpty());
        return all.parts.empty() ? std::string() : all.parts[0].cases[0].failure->traceback;
    };
    const std::string wanted =
        "Gr\xC3\xBC\xC3\x9F"
        "e";
    EXPECT_EQ(words("\xEF\xBB\xBF" + utf8), wanted);
    EXPECT_EQ(words("<?xml version='1.0' encoding='UTF-8'?>" + utf8), wanted);

    std::string latin1 = utf8;
    latin1.replace(latin1.find("\xC3\xBC\xC3\x9F"), 4, "\xFC\xDF");
    EXPECT_EQ(words("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>" + latin1), wanted);

    const auto other = read("<?xml version='1.0' encoding='windows-1252'?>" + latin1);
    ASSERT_EQ(other.diagnostics.size(), 1u);
    EXPECT_EQ(other.diagnostics[0].message, "the encoding windows-1252 is read as UTF-8");
    EXPECT_EQ(other.parts[0].cases[0].failure->traceback,
              "Gr\xEF\xBF\xBD\xEF\xBF\xBD"
              "e");
}

// Halves of surrogate pairs, control characters, invalid bytes: UTF-8 comes out, ids are one line
// and have no addresses.
TEST(JunitHostile, TextIsMadeValid) {
    const auto all = read(
        "<testsuite name='s' tests='1'><testcase classname='s' "
        "name='f[&lt;function g at 0x7f12ab&gt;&#10;\x1b&#xD800;\xff]'/></testsuite>");
    ASSERT_EQ(all.parts.size(), 1u);
    const std::string& id = all.parts[0].cases[0].id;
    EXPECT_EQ(valid_utf8(id), id);
    EXPECT_THAT(id, ::testing::StartsWith("s::f[<function g at 0x…> \\x1b"));
}

TEST(JunitHostile, WhatIsNotUnderstoodIsNamed) {
    const std::string bytes = "log line\n" + around("<verdict/><failure/>") + "<other/>";
    const auto all = read(bytes);
    ASSERT_EQ(all.parts.size(), 1u);
    ASSERT_EQ(all.diagnostics.size(), 3u);
    EXPECT_EQ(all.diagnostics[0].message, "text of no known kind: log line");
    EXPECT_EQ(all.diagnostics[1].message, "an element of no known kind: verdict");
    EXPECT_EQ(all.diagnostics[1].offset, static_cast<std::int64_t>(bytes.find("<verdict")));
    EXPECT_EQ(all.diagnostics[2].message, "an element of no known kind: other");
}

// Several documents in one file are a part each.
TEST(JunitHostile, FilesOneAfterTheOtherAreAllRead) {
    const std::string document = "<?xml version='1.0'?>\n" + around("<failure/>");
    const auto all = read(document + document);
    ASSERT_EQ(all.parts.size(), 2u);
    EXPECT_TRUE(all.parts[0].finished && all.parts[1].finished);
}

TEST(JunitHostile, RepeatedNamesAreTold) {
    const auto all = read(
        "<testsuite name='s' tests='4'><testcase name='a'/><testcase name='a'/>"
        "<testcase name='a#2'/><testcase name='a'/></testsuite>");
    std::vector<std::string> ids;
    for (const CaseRecord& c : all.parts[0].cases) ids.push_back(c.id);
    EXPECT_THAT(ids, ::testing::ElementsAre("s::a", "s::a#2", "s::a#2#2", "s::a#3"));
}

// As pytest writes it when it is interrupted in its second test.
TEST(JunitHostile, AnElementOfPytestWithoutANameIsNoTest) {
    const auto stopped = read(
        "<testsuites><testsuite name='pytest' errors='0' failures='0' skipped='0' tests='1' "
        "time='0.537' timestamp='2026-11-22T12:05:46.637083+00:00' hostname='vm'>"
        "<testcase classname='test_int' name='test_a' time='0.001' />"
        "<testcase time='0.000' /></testsuite></testsuites>");
    ASSERT_EQ(stopped.parts.size(), 1u);
    EXPECT_EQ(stopped.parts[0].cases.size(), 1u);
    ASSERT_EQ(stopped.diagnostics.size(), 1u);
    EXPECT_THAT(stopped.diagnostics[0].message, HasSubstr("without a name"));
}

TEST(JunitHostile, TimesMayHaveCommas) {
    const auto all = read(
        "<testsuite name='s' tests='3'><testcase name='a' time='1,234.5'/>"
        "<testcase name='b' time='nan'/><testcase name='c' time='-1e999'/></testsuite>");
    EXPECT_EQ(all.parts[0].cases[0].duration_s, 1234.5);
    EXPECT_EQ(all.parts[0].cases[1].duration_s, 0);
    EXPECT_EQ(all.parts[0].cases[2].duration_s, 0);
}

TEST(JunitHostile, TimesThatNoSumHoldsAreNone) {
    const auto all = read(
        "<testsuite name='s' tests='2'><testcase name='a' time='1e308'/>"
        "<testcase name='b' time='1e9'/></testsuite>");
    for (const CaseRecord& c : all.parts[0].cases) EXPECT_EQ(c.duration_s, 0) << c.id;
}

// As unittest-xml-reporting's folder has them: a document for each class, one of it for all skips.
TEST(JunitHostile, SkippedSubTestsInADocumentOfTheirOwnAreNotTheirTest) {
    const auto document = [](const std::string& suite, const std::string& child) {
        return "<testsuite name='" + suite +
               "-20261122020402' tests='1'><testcase classname='tests.test_a.A' "
               "name='test_sub (i=3)' file='tests/test_a.py'>" +
               child + "</testcase></testsuite>";
    };
    const std::string failed = document("tests.test_a.A", "<failure message='no'/>");
    const std::string skipped = document("unittest.case._SubTest", "<skipped message='why'/>");
    const auto all = read(failed + skipped);
    ASSERT_EQ(all.parts.size(), 2u);
    EXPECT_EQ(all.parts[0].cases[0].id, "tests/test_a.py::A::test_sub");
    EXPECT_EQ(all.parts[1].cases[0].id, "tests/test_a.py::A::test_sub::<sub-tests>");
    EXPECT_EQ(all.parts[1].cases[0].state, State::skipped);
    ASSERT_EQ(all.parts[1].cases[0].subcases.size(), 1u);
    EXPECT_EQ(all.parts[1].cases[0].subcases[0].label, "(i=3)");
    // In one document with their test they are its own.
    const auto together = read("<testsuites>" + failed + skipped + "</testsuites>");
    ASSERT_EQ(together.parts.size(), 1u);
    ASSERT_EQ(together.parts[0].cases.size(), 1u);
    EXPECT_EQ(together.parts[0].cases[0].state, State::failed);
    EXPECT_EQ(together.parts[0].cases[0].subcases.size(), 2u);
}

class JunitMonsters : public ::testing::TestWithParam<Monster> {};

TEST_P(JunitMonsters, AreReadInProportionToTheirSize) {
    testing::expect_read_in_proportion(GetParam(), [](std::string_view text) {
        return broken_import_invariant(Dialect::junit_xml, text);
    });
}

std::string suite(const std::string& inside) {
    return "<testsuite name='s' tests='1'>" + inside + "</testsuite>";
}

std::vector<Monster> monsters() {
    return {
        {"empty", [](size_t) { return std::string(""); }},
        {"NULs", [](size_t size) { return std::string(size, '\0'); }},
        {"nested_suites", [](size_t size) { return nested("<testsuite>", size); }},
        {"nested_suites_closed",
         [](size_t size) {
             return nested("<testsuite>", size) + "<testcase name='t'/>" +
                    nested("</testsuite>", size);
         }},
        {"nested_roots",
         [](size_t size) { return nested("<testsuites>", size) + nested("</testsuites>", size); }},
        {"nested_failures",
         [](size_t size) {
             return around(nested("<failure>", size) + "x" + nested("</failure>", size));
         }},
        {"nested_others", [](size_t size) { return nested("<a>", size) + nested("</a>", size); }},
        {"nested_tests",
         [](size_t size) { return "<testsuite>" + nested("<testcase name='a'>", size); }},
        {"great_attribute",
         [](size_t size) { return around("<failure message='" + std::string(size, 'x') + "'/>"); }},
        {"great_text",
         [](size_t size) { return around("<failure>" + std::string(size, '\n') + "</failure>"); }},
        {"great_name",
         [](size_t size) { return suite("<testcase name='" + filled("a.", size) + "'/>"); }},
        {"great_path",
         [](size_t size) {
             return suite("<testcase file='" + filled("a::", size) + "' name='x'/>");
         }},
        {"great_class",
         [](size_t size) {
             return suite("<testcase classname='" + filled("A.", size) +
                          "' file='a.py' name='x'/>");
         }},
        {"tests", [](size_t size) { return suite(filled("<testcase name='t'/>", size)); }},
        {"attempts",
         [](size_t size) {
             return "<testsuite name='pytest' tests='1'>" + filled("<testcase name='t'/>", size);
         }},
        {"subtests_of_pytest",
         [](size_t size) {
             return "<testsuite name='pytest' tests='1'><testcase name='t'>" +
                    filled("<skipped message='m'/>", size);
         }},
        {"suites",
         [](size_t size) {
             return "<testsuites>" + filled("<testsuite name='pytest' tests='1'/>", size);
         }},
        {"suites_of_two_writers",
         [](size_t size) {
             return "<testsuites>" +
                    filled("<testsuite name='pytest' tests='1'/><testsuite tests='1'/>", size);
         }},
        {"failures_of_one_test",
         [](size_t size) { return around(filled("<failure message='m'/>", size)); }},
        {"subtests",
         [](size_t size) {
             return "<testsuite file='a.py' tests='1'>" +
                    filled("<testcase classname='a.A' name='t (i=1)'><failure/></testcase>", size) +
                    "</testsuite>";
         }},
        {"elements_of_no_kind", [](size_t size) { return suite(filled("<x/>", size)); }},
        {"attributes", [](size_t size) { return "<testsuite " + filled("a='b' ", size) + "/>"; }},
        {"references",
         [](size_t size) { return around("<failure>" + filled("&#0;&#", size) + "</failure>"); }},
        {"great_counts",
         [](size_t) {
             return "<testsuites tests='9223372036854775807'>" +
                    repeated(
                        "<testsuite name='s' tests='9223372036854775807' "
                        "failures='9223372036854775807'/>",
                        3) +
                    "</testsuites>";
         }},
        {"great_line",
         [](size_t) {
             return std::string(
                 "<testsuite file='a.py'><testcase name='t' file='a.py' "
                 "line='9223372036854775807'/></testsuite>");
         }},
    };
}

INSTANTIATE_TEST_SUITE_P(All, JunitMonsters, ::testing::ValuesIn(monsters()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace compat::parsers::junit_hostile_test
