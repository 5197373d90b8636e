#include "suites/load.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "suites/schema.h"
#include "suites/units.h"
#include "tests/support/temp_tree.h"

namespace compat::suites {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::string_view kAll = R"(// A comment before all.
{
  "$schema": "../suite.schema.json", "format": 1, "name": "all.of_it-2",
  "source": {"git": "https://example.org/x.git", "rev": "v1.2"},  /* and one here */
  "layout": {"tests": "t", "pythonpath": ["src", "."], "modules": ["check_*.py"], "exclude": ["t/slow/**"]},
  "framework": "pytest",
  "requirements": "requirements.txt", "env": {"Z": "1", "A": "2", "M": ""}, "system_packages": ["tesseract-ocr"],
  "preload": ["torch", "a.b"], "warm": false,
  "device": {"fallback_enabled": false},
  "limits": {"module_timeout": "1h30m", "test_timeout": "90s", "log_bytes": "1MiB", "events_bytes": "2MiB", "memory": "6GiB", "restarts": 3},
  "retries": 2,
  "groups": {"slow": {"paths": ["t/slow", "t/x*"], "by_default": false}, "core": {"paths": ["t/core"]}},
  "links": {"base": "https://example.org/blob/{commit}/{path}#L{line}"}
})";

TEST(LoadSuite, ReadsEveryKey) {
    const auto suite = parse_suite(kAll, "suites/all/suite.json");
    ASSERT_TRUE(suite.has_value()) << to_line(suite.error());
    EXPECT_EQ(suite->folder, "suites/all");
    EXPECT_FALSE(suite->by_convention);
    EXPECT_EQ(suite->name, "all.of_it-2");
    EXPECT_EQ(suite->source.kind, SourceKind::git);
    EXPECT_EQ(suite->source.spec, "https://example.org/x.git");
    EXPECT_EQ(suite->source.rev, "v1.2");
    EXPECT_EQ(suite->layout.tests, "t");
    EXPECT_THAT(suite->layout.pythonpath, ElementsAre("src", "."));
    EXPECT_THAT(suite->layout.modules, ElementsAre("check_*.py"));
    EXPECT_THAT(suite->layout.exclude, ElementsAre("t/slow/**"));
    EXPECT_EQ(suite->framework, Framework::pytest);
    EXPECT_EQ(suite->requirements, "requirements.txt");
    EXPECT_THAT(suite->env, ElementsAre(Pair("Z", "1"), Pair("A", "2"), Pair("M", "")));
    EXPECT_THAT(suite->system_packages, ElementsAre("tesseract-ocr"));
    EXPECT_THAT(suite->preload, testing::Optional(ElementsAre("torch", "a.b")));
    EXPECT_EQ(suite->setting_texts.at("warm"), "off");
    EXPECT_EQ(suite->setting_texts.at("device.fallback_enabled"), "off");
    EXPECT_EQ(suite->setting_texts.at("limits.module_timeout"), "1h30m");
    EXPECT_EQ(suite->setting_texts.at("limits.test_timeout"), "90s");
    EXPECT_EQ(suite->limits.log_bytes, 1u << 20);
    EXPECT_EQ(suite->limits.events_bytes, 2u << 20);
    EXPECT_EQ(suite->limits.memory_bytes, 6ull << 30);
    EXPECT_EQ(suite->limits.restarts, 3);
    EXPECT_EQ(suite->setting_texts.at("retries"), "2");
    EXPECT_EQ(suite->setting_texts.at("framework"), "pytest");
    ASSERT_EQ(suite->groups.size(), 2u);
    EXPECT_EQ(suite->groups[0].name, "slow");
    EXPECT_THAT(suite->groups[0].paths, ElementsAre("t/slow", "t/x*"));
    EXPECT_FALSE(suite->groups[0].by_default);
    EXPECT_EQ(suite->groups[1].name, "core");
    EXPECT_TRUE(suite->groups[1].by_default);
    EXPECT_EQ(suite->links_base, "https://example.org/blob/{commit}/{path}#L{line}");
}

struct SourceCase {
    const char* source;
    SourceKind kind;
    const char* what;
};

TEST(LoadSuite, ReadsEveryKindOfSource) {
    for (const SourceCase& c : std::initializer_list<SourceCase>{
             {R"({"pypi": "a==1", "kind": "wheel"})", SourceKind::pypi_wheel, "a==1"},
             {R"({"pypi": "a==1", "kind": "sdist"})", SourceKind::pypi_sdist, "a==1"},
             {R"({"pypi": "a==1"})", SourceKind::pypi_sdist, "a==1"},
             {R"({"path": "../code"})", SourceKind::path, "../code"},
             {R"({"git": "u", "rev": "r"})", SourceKind::git, "u"},
             {R"({"debian": "libtorch-test"})", SourceKind::debian, "libtorch-test"}}) {
        const std::string text =
            std::string(R"({"format": 1, "name": "a", "framework": "unittest", "source": )") +
            c.source + "}";
        const auto suite = parse_suite(text, "suite.json");
        ASSERT_TRUE(suite.has_value()) << to_line(suite.error());
        EXPECT_EQ(suite->source.kind, c.kind) << c.source;
        EXPECT_EQ(suite->source.spec, c.what) << c.source;
    }
}

constexpr std::string_view kLeast = R"({"format": 1, "name": "a", "framework": "unittest"})";

// The schema documents the defaults for people and editors; the struct applies them. tests/config
// compares those of settings.
TEST(LoadSuite, HasTheDefaultsOfTheSchema) {
    const auto suite = parse_suite(kLeast, "a/suite.json");
    ASSERT_TRUE(suite.has_value()) << to_line(suite.error());
    const auto all = nlohmann::json::parse(schema_text())["properties"];
    const auto given = [&](const char* section, const char* key) {
        return all[section]["properties"][key]["default"];
    };
    EXPECT_EQ(suite->source.kind, SourceKind::path);
    EXPECT_EQ(suite->source.spec, all["source"]["default"]["path"]);
    EXPECT_EQ(suite->layout.tests, given("layout", "tests"));
    EXPECT_EQ(suite->layout.pythonpath, given("layout", "pythonpath"));
    EXPECT_EQ(suite->layout.exclude, given("layout", "exclude"));
    EXPECT_EQ(suite->requirements, all["requirements"]["default"]);
    EXPECT_THAT(suite->env, IsEmpty());
    EXPECT_EQ(suite->system_packages, all["system_packages"]["default"]);
    EXPECT_FALSE(suite->preload) << "what most modules import";
    EXPECT_EQ(suite->limits.log_bytes, parse_size(given("limits", "log_bytes").get<std::string>()));
    EXPECT_EQ(suite->limits.events_bytes,
              parse_size(given("limits", "events_bytes").get<std::string>()));
    EXPECT_EQ(suite->limits.memory_bytes, 0u);
    EXPECT_EQ(suite->limits.restarts, given("limits", "restarts"));
    EXPECT_THAT(suite->groups, IsEmpty());
    EXPECT_EQ(suite->links_base, given("links", "base"));
}

TEST(LoadSuite, UsesTheGlobsOfTheFrameworkByDefault) {
    EXPECT_THAT(parse_suite(kLeast, "suite.json")->layout.modules, ElementsAre("test*.py"));
    EXPECT_THAT(parse_suite(R"({"format": 1, "name": "a", "framework": "pytest"})", "suite.json")
                    ->layout.modules,
                ElementsAre("test_*.py", "*_test.py"));
}

TEST(LoadSuite, AcceptsAByteOrderMark) {
    EXPECT_TRUE(parse_suite("\xEF\xBB\xBF" + std::string(kLeast), "suite.json").has_value());
}

// A whole document, or one key added to a valid one at line 2, column 3.
struct ErrorCase {
    const char* text;
    const char* line;  // what to_line gives
    bool whole = false;
};

const ErrorCase kErrors[] = {
    // Values of an enumeration.
    {R"("framework": "nose")",
     R"(s.json:2:16: "nose": expected one of "unittest", "pytest", "gtest", "ctest")"},
    {R"("framework": "unitest")",
     R"(s.json:2:16: "unitest": expected one of "unittest", "pytest", "gtest", "ctest"; did you mean "unittest"?)"},
    {R"("source": {"pypi": "a==1", "kind": "egg"})",
     R"(s.json:2:38: "egg": expected one of "wheel", "sdist")"},
    // Types.
    {R"("retries": "two")", R"(s.json:2:14: "two" is a string; expected an integer)"},
    {R"("retries": 1.5)", R"(s.json:2:14: 1.5 is a number; expected an integer)"},
    {R"("warm": "yes")", R"(s.json:2:11: "yes" is a string; expected a boolean)"},
    {R"("layout": [])", R"(s.json:2:13: [] is an array; expected an object)"},
    {R"("preload": "torch")", R"(s.json:2:14: "torch" is a string; expected an array)"},
    {R"("preload": ["torch", 3])", R"(s.json:2:24: 3 is a number; expected a string)"},
    {R"("env": {"A": 1})", R"(s.json:2:16: 1 is a number; expected a string)"},
    {R"("env": null)", R"(s.json:2:10: null is a null; expected an object)"},
    {"[1]", R"(s.json:1:1: [1] is an array; expected an object)", true},
    // Keys.
    {R"("retrys": 1)",
     R"(s.json:2:3: unknown key "retrys"; did you mean "retries"? (allowed: $schema, device, env, expectations, format, framework, groups, hub, hub_lock, layout, limits, links, name, preload, requirements, retries, source, system_packages, warm))"},
    {R"("limits": {"memory": "1GiB", "cpu": 1})",
     R"(s.json:2:32: unknown key "cpu" (allowed: events_bytes, log_bytes, memory, module_timeout, restarts, test_timeout))"},
    {R"("groups": {"a": {"path": ["x"]}})",
     R"(s.json:2:20: unknown key "path"; did you mean "paths"? (allowed: by_default, paths))"},
    {R"("groups": {"a": {}})", R"(s.json:2:19: "paths" is missing)"},
    {R"("groups": {"a b": {"paths": ["x"]}})",
     R"(s.json:2:14: "a b": expected a name of letters, digits, '.', '_' and '-')"},
    {R"("groups": {"a": {"paths": []}})", R"(s.json:2:29: []: expected at least one path)"},
    {R"("env": {"1A": "x"})", R"(s.json:2:11: "1A": expected the name of an environment variable)"},
    {R"({"format": 1, "framework": "pytest"})", R"(s.json:1:1: "name" is missing)", true},
    {"{}", R"(s.json:1:1: "format" is missing)", true},
    {"{\n \"format\": 1,\n \"name\": \"a\",\n \"name\": \"b\"}",
     R"(s.json:4:2: key "name" appears twice)", true},
    // Values.
    {R"("limits": {"module_timeout": "30 minutes"})",
     R"(s.json:2:32: "30 minutes": expected a duration above zero, such as "30m", "5s" or "1h30m")"},
    {R"("limits": {"test_timeout": "0s"})",
     R"(s.json:2:30: "0s": expected a duration above zero, such as "30m", "5s" or "1h30m")"},
    {R"("limits": {"test_timeout": 5})", R"(s.json:2:30: 5 is a number; expected a string)"},
    {R"("limits": {"memory": "6GB"})",
     R"(s.json:2:24: "6GB": expected a size above zero, such as "64MiB" or "6GiB")"},
    {R"("limits": {"restarts": -1})", R"(s.json:2:26: -1: expected a whole number from 0 to 1000)"},
    {R"("retries": 11)", R"(s.json:2:14: 11: expected a whole number from 0 to 10)"},
    {R"("name": "a/b")",
     R"(s.json:2:11: "a/b": expected a name of letters, digits, '.', '_' and '-')"},
    {R"("name": "")", R"(s.json:2:11: "": expected a name of letters, digits, '.', '_' and '-')"},
    {R"("layout": {"tests": "/abs"})",
     R"(s.json:2:23: "/abs": expected a relative path that stays inside (no leading '/', no '..'))"},
    {R"("layout": {"pythonpath": ["src", "a/../../b"]})",
     R"(s.json:2:36: "a/../../b": expected a relative path that stays inside (no leading '/', no '..'))"},
    {R"("requirements": "../r.txt")",
     R"(s.json:2:19: "../r.txt": expected a relative path that stays inside (no leading '/', no '..'))"},
    {R"("preload": ["os; x"])",
     R"(s.json:2:15: "os; x": expected the name of a Python module, such as "torch")"},
    {R"("links": {"base": "https://x/{comit}"})",
     R"(s.json:2:21: "https://x/{comit}": expected a URL in which {commit}, {path} and {line} are filled in)"},
    {R"("system_packages": [""])", R"(s.json:2:23: "": expected a text that is not empty)"},
    // Sources.
    {R"("source": {})",
     R"(s.json:2:13: {}: expected exactly one of "path", "pypi", "git", "debian")"},
    {R"("source": {"path": "a", "debian": "b"})",
     R"(s.json:2:13: {"debian":"b","path":"a"}: expected exactly one of "path", "pypi", "git", "debian")"},
    {R"("source": {"git": "u"})", R"(s.json:2:14: "git" needs "rev" beside it)"},
    {R"("source": {"path": "u", "rev": "v1"})", R"(s.json:2:27: "rev" needs "git" beside it)"},
    {R"("source": {"pypi": "einops"})",
     R"(s.json:2:22: "einops": expected a package and its exact version, such as "einops==0.8.2")"},
    {R"("source": {"pypi": "einops>=0.8"})",
     R"(s.json:2:22: "einops>=0.8": expected a package and its exact version, such as "einops==0.8.2")"},
    {R"("expectations": "/e.json")",
     R"(s.json:2:19: "/e.json": expected a relative path that stays inside (no leading '/', no '..'))"},
    // Versions.
    {R"({"format": 2, "new": true})",
     "s.json:1:12: format 2 is newer than this runner supports (format 1): update the runner",
     true},
    {R"({"format": 0, "name": "a", "framework": "pytest"})", R"(s.json:1:12: 0: expected 1)", true},
    {R"({"format": "1", "name": "a", "framework": "pytest"})", R"(s.json:1:12: "1": expected 1)",
     true},
    {R"("env": {"A": "b", "NUL": "x\u0000y"})",
     R"(s.json:2:10: the variable "NUL" contains a NUL byte: remove it)"},
    // The deepest violation.
    {R"("groups": {"good": {"paths": ["x"]}, "bad": {"paths": ["x", 7]}})",
     R"(s.json:2:63: 7 is a number; expected a string)"},
};

TEST(LoadSuite, NamesThePositionAndTheExpectedValueOfAnError) {
    for (const ErrorCase& c : kErrors) {
        std::string text = c.text;
        if (!c.whole) {
            const std::string key = text.substr(0, text.find(':'));
            text = "{\n  " + text;
            for (const char* other :
                 {R"("format": 1)", R"("name": "a")", R"("framework": "pytest")"})
                if (!std::string_view(other).starts_with(key)) text += std::string(",\n  ") + other;
            text += "\n}\n";
        }
        const auto suite = parse_suite(text, "s.json");
        ASSERT_FALSE(suite.has_value()) << c.text;
        EXPECT_EQ(suite.error().kind, ErrorKind::suite);
        EXPECT_EQ(to_line(suite.error()), c.line);
    }
}

struct SyntaxCase {
    std::string_view text;
    const char* start;  // of the line
};

const SyntaxCase kSyntax[] = {
    {"", "s.json:1:1: not JSON: "},
    {"{\n  \"format\": 1,\n}", "s.json:3:1: not JSON: "},
    {"{\"format\": 1", "s.json:1:13: not JSON: "},
    {"{\"name\": \"a\nb\"}", "s.json:1:12: not JSON: "},
    {"{} {}", "s.json:1:4: not JSON: "},
    {"{\"name\": 'a'}", "s.json:1:10: not JSON: "},
    {"{\"name\": \"a\xFFz\"}", "s.json:1:12: not JSON: not valid UTF-8"},
    {"{\"name\": \"\xC3\"}", "s.json:1:12: not JSON: not valid UTF-8"},
    {"{\"a\": 1e999}", "s.json:1:"},
    {"/* never closed", "s.json:1:"},
};

TEST(LoadSuite, ReportsBrokenSyntaxInOneLine) {
    for (const SyntaxCase& c : kSyntax) {
        const auto suite = parse_suite(c.text, "s.json");
        ASSERT_FALSE(suite.has_value()) << c.text;
        const std::string line = to_line(suite.error());
        EXPECT_THAT(line, ::testing::StartsWith(c.start));
        EXPECT_THAT(line, ::testing::Not(::testing::HasSubstr("json.exception")));
        EXPECT_EQ(line.find('\n'), std::string::npos);
    }
}

// Truncating a valid file or changing a byte must not throw.
TEST(LoadSuite, NeverThrowsOnADamagedFile) {
    constexpr std::string_view kBytes{
        "\0\"{\xFF"
        "9",
        5};
    for (std::size_t i = 0; i < kAll.size(); i += 3) {
        EXPECT_NO_THROW((void)parse_suite(kAll.substr(0, i), "s.json")) << i;
        std::string changed(kAll);
        changed[i] = kBytes[i % kBytes.size()];
        EXPECT_NO_THROW((void)parse_suite(changed, "s.json")) << i;
    }
}

TEST(LoadSuite, ReadsSuiteJsonOrDetectsTheSuite) {
    const test::TempTree tree;
    tree.write("mine/suite.json", kLeast);
    const auto suite = load_suite(tree.root() / "mine");
    ASSERT_TRUE(suite.has_value()) << to_line(suite.error());
    EXPECT_EQ(suite->folder, tree.root() / "mine");

    tree.write("bad/suite.json", "{\n  \"format\": 1,\n  \"nam\": 3}");
    const auto bad = load_suite(tree.root() / "bad");
    ASSERT_FALSE(bad.has_value());
    EXPECT_EQ(bad.error().where, (tree.root() / "bad/suite.json").string() + ":3:3");
}

TEST(LoadSuite, SuggestsAShippedSuiteForAMissingFolder) {
    const std::vector<std::string> shipped{"suites/einops", "suites/gpytorch"};
    const auto near = load_suite("suites/einop", shipped);
    ASSERT_FALSE(near.has_value());
    EXPECT_EQ(to_line(near.error()),
              "suites/einop: no such suite folder: did you mean \"suites/einops\"?");
    const auto bare = load_suite("gpytroch/", shipped);
    ASSERT_FALSE(bare.has_value());
    EXPECT_EQ(to_line(bare.error()),
              "gpytroch/: no such suite folder: did you mean \"suites/gpytorch\"?");
    const auto none = load_suite("/no/such/place", shipped);
    ASSERT_FALSE(none.has_value());
    EXPECT_EQ(to_line(none.error()),
              "/no/such/place: no such suite folder: "
              "name the folder of a suite or of a project with tests");
    EXPECT_EQ(none.error().kind, ErrorKind::suite);
}

TEST(LoadSuite, RejectsAFile) {
    const test::TempTree tree;
    const auto file = tree.write("suite.json", kLeast);
    const auto suite = load_suite(file);
    ASSERT_FALSE(suite.has_value());
    EXPECT_EQ(suite.error().message, "not a folder");
}

}  // namespace
}  // namespace compat::suites
