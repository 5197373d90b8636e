#include "reports/markdown/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "reports/markdown/failures.h"
#include "reports/markdown/text.h"
#include "tests/reports/sample_run.h"
#include "tests/support/redact.h"
#include "tests/support/temp_tree.h"

namespace compat::reports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

// The text without its fenced blocks and code spans.
std::string without_code(const std::string& markdown) {
    std::string rest;
    std::string fence;
    for (const std::string& line : lines_of(markdown)) {
        const size_t ticks = std::min(line.find_first_not_of('`'), line.size());
        if (fence.empty() && ticks >= 3) {
            fence = line.substr(0, ticks);
        } else if (!fence.empty()) {
            if (ticks >= fence.size() && ticks == line.size()) fence.clear();
        } else {
            // A span ends at the next run of ticks with the length of the first.
            for (size_t at = 0; at < line.size();) {
                if (line[at] != '`') {
                    rest += line[at++];
                    continue;
                }
                const size_t open_end = std::min(line.find_first_not_of('`', at), line.size());
                const std::string run = line.substr(at, open_end - at);
                size_t close = open_end;
                while ((close = line.find('`', close)) != std::string::npos) {
                    const size_t close_end =
                        std::min(line.find_first_not_of('`', close), line.size());
                    if (close_end - close == run.size()) break;
                    close = close_end;
                }
                if (close == std::string::npos) {
                    rest += run;
                    at = open_end;
                } else {
                    at = close + run.size();
                }
            }
            rest += '\n';
        }
    }
    EXPECT_EQ(fence, "") << "a fence is still open at the end";
    return rest;
}

// The cells of the first row after the table head that begins with `head`.
std::vector<std::int64_t> numbers_below(const std::string& markdown, const std::string& head) {
    const auto lines = lines_of(markdown);
    for (size_t i = 0; i + 2 < lines.size(); ++i) {
        if (!lines[i].starts_with(head)) continue;
        std::vector<std::int64_t> numbers;
        std::istringstream cells(lines[i + 2].substr(1));
        for (std::string cell; std::getline(cells, cell, '|');) numbers.push_back(std::stoll(cell));
        return numbers;
    }
    return {};
}

class MarkdownTest : public testing::Test {
  protected:
    void SetUp() override { samples::make_source(root); }
    samples::Model build() const { return samples::model(stored, folder.root() / "run"); }

    test::TempTree folder;
    std::filesystem::path root = folder.root() / "src";
    samples::Run stored = samples::run(root);
};

TEST_F(MarkdownTest, Golden) {
    test::expect_golden("report.md",
                        test::redacted(samples::to_markdown(build()), {{root.string(), "/src"}}));
}

TEST_F(MarkdownTest, ShowsTheNumbersOfTheModel) {
    const samples::Model model = build();
    const std::string text = samples::to_markdown(model);
    std::vector<std::int64_t> expected{model.totals.modules, model.totals.collected};
    expected.insert(expected.end(), model.totals.states.begin(), model.totals.states.end());
    EXPECT_EQ(numbers_below(text, "| modules | tests |"), expected);

    const auto mark = [&](const std::string& name) {
        std::smatch match;
        const std::regex pattern(R"(\| )" + name + R"( \| (\d+) \|)");
        return std::regex_search(text, match, pattern) ? std::stoll(match[1]) : -1;
    };
    EXPECT_EQ(mark("device"), model.totals.device);
    EXPECT_EQ(mark("fallback"), model.totals.fallback);
    EXPECT_EQ(mark("redirected"), model.totals.redirected);
    EXPECT_EQ(mark("untouched"), model.totals.untouched);
    EXPECT_THAT(text, HasSubstr("Source links: 20, of which 1 do not resolve."));
}

TEST_F(MarkdownTest, ATableOfCausesStandsAboveTheClusters) {
    samples::Model model = build();
    model.clusters = {ClusterView{}};
    model.clusters[0].key_line = "ValueError: odd";
    model.clusters[0].tests = 3;
    model.causes = {{"tolerance", 2}, {"timeout", 1}, {"crash", 4}};
    EXPECT_THAT(
        samples::to_markdown(model),
        HasSubstr(
            "## Failures by cause\n\n| tests | cause | means |\n|---:|---|---|\n"
            "| 4 | `crash` | the process ended during the test |\n"
            "| 2 | `tolerance` | numbers differ by more than is allowed, or were lost (nan) |\n"
            "| 1 | `timeout` | the test, or what it waited for, took too long |\n\n"
            "Where to look first: docs/reference/diagnosis.md.\n\n"
            "### 3 tests: `ValueError: odd`\n"));
    // Without a known cause there are only the clusters.
    model.causes.clear();
    model.gaps.emplace_back();
    const std::string text = samples::to_markdown(model);
    EXPECT_THAT(text, HasSubstr("## Failures by cause\n\n### 3 tests: `ValueError: odd`\n"));
    EXPECT_THAT(text, HasSubstr("## Gaps that this run met\n\n| "));
}

// Failures of one signature: 250 tests in two modules, and one of another signature.
TEST_F(MarkdownTest, ACauseHasOneTracebackOneCommandAndAShortListOfTests) {
    auto& cases = stored.modules[0].attempts[0].record.cases;
    cases[2].subcases.clear();
    cases[2].also.clear();
    for (int i = 0; i < 249; ++i) {
        cases.push_back(cases[2]);
        cases.back().id += std::to_string(i);
    }
    stored.modules[0].attempts[0].record.collected += 249;
    const std::string text = samples::to_markdown(build());
    EXPECT_THAT(text, HasSubstr("### 250 tests: `AssertionError: 1 != 2`\n"));
    const auto count = [&](const std::string& part) {
        size_t n = 0;
        for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
        return n;
    };
    EXPECT_EQ(count("AssertionError: 1 != 2\n```"), 1u);
    EXPECT_EQ(count("\n- failed [`tests/ops/test_a.py::T::test_f"), kTestsOfFailure);
    EXPECT_THAT(text, HasSubstr("\n- and 150 more: report.json has all\n"));
    EXPECT_EQ(count("\ncd "), 4u) << "a command for each of f, e, c and t";
}

TEST_F(MarkdownTest, LoadFailuresOfOneCauseAreOneRow) {
    const auto module = [&](const std::string& path, const std::string& package) {
        store::StoredModule stored_module;
        stored_module.path = path;
        parsers::ModuleRecord& record = stored_module.attempts.emplace_back().record;
        record.path = path;
        record.outcome = parsers::ModuleOutcome::load_error;
        record.cases = {samples::test(root, path, "x", 0, parsers::State::errored)};
        record.cases[0].id = path + "::<module>";
        record.cases[0].pseudo = true;
        record.cases[0].failure =
            samples::failure(root, "ModuleNotFoundError", "No module named '" + package + "'");
        record.collected = 1;
        return stored_module;
    };
    stored.modules = {module("tests/test_b.py", "b"), module("tests/ops/test_a.py", "a"),
                      module("tests/test_c.py", "a")};
    const samples::Model model = build();
    const std::string text = samples::to_markdown(model);
    EXPECT_THAT(text, HasSubstr("## Modules that could not be loaded\n\n"
                                "| modules | what went wrong | for example |\n|---:|---|---|\n"
                                "| 2 | `ModuleNotFoundError: No module named 'a'` | "
                                "[`tests/ops/test_a.py`](https://"));
    EXPECT_THAT(text, HasSubstr("| 1 | `ModuleNotFoundError: No module named 'b'` | "));
    EXPECT_THAT(text, Not(HasSubstr("## Modules that did not complete")));
    const auto report = nlohmann::json::parse(samples::to_json(model));
    EXPECT_EQ(report["load_failures"][0]["modules"], 2);
    EXPECT_EQ(report["load_failures"][0]["example"], "tests/ops/test_a.py");
    EXPECT_EQ(report["load_failures"][1]["modules"], 1);
}

TEST_F(MarkdownTest, MismatchesComeFirst) {
    stored.modules[0].attempts[0].record.collected = 13;
    const std::string text = samples::to_markdown(build());
    const size_t mismatch = text.find("## Accounting does not close");
    ASSERT_NE(mismatch, std::string::npos);
    EXPECT_EQ(text.find("\n## "), mismatch - 1);
    EXPECT_THAT(text, HasSubstr("**not all accounted for: 1 mismatches**"));
}

TEST_F(MarkdownTest, EmptySectionsAreLeftOut) {
    stored.modules.clear();
    const std::string text = samples::to_markdown(build());
    EXPECT_THAT(text, HasSubstr("0 tests, nothing needs attention"));
    for (const auto* absent : {"## Failures", "## What to do", "## Skips", "## Redirections",
                               "## Leaked", "## Slowest", "## Flaky", "## Modules by"})
        EXPECT_THAT(text, Not(HasSubstr(absent)));
}

TEST_F(MarkdownTest, TextFromOutsideIsEscaped) {
    const std::string hostile =
        "ODD` | \\| ``x`` ](http://evil) <script>ODD</script> **ODD** \x1b[31mred\x1b[0m "
        "\x1b]8;;u\aODD\n"
        "# ODD\n```\nODD\n````\n- ODD | ODD\n</details>ODD\r\nODD \xff\xfe \xe2\x80\xae"
        "ODD @ODD #1 \\";
    stored.info.suite = stored.info.device = stored.info.root = stored.info.commit = hostile;
    stored.info.argv = {hostile};
    stored.info.env = {{hostile, hostile}};
    stored.info.rerun_argv = {hostile};
    stored.info.simulated = hostile;
    stored.info.fingerprint =
        R"({"ODD<b>|`":"ODD|`</b>","long":")" + std::string(300, '`') + "ODD\"}";
    stored.modules[1].path = hostile;
    stored.modules[1].not_run_reason = hostile;
    store::JobResult& job = stored.modules[0].attempts[0];
    job.record.collected = 99;
    job.log = hostile;
    job.process_end = hostile;
    job.leaked = {{1, {hostile}}};
    job.record.outcome = parsers::ModuleOutcome::crashed;
    job.record.reason = hostile;
    job.record.path = stored.modules[0].path = hostile + "2";
    job.record.diagnostics = {{hostile, 1, hostile}};
    for (auto& event : job.record.device_events)
        event.kind = event.op = event.from = event.to = event.location.file = hostile;
    for (auto& test : job.record.cases) {
        test.id = test.name = test.reason = hostile;
        if (!test.failure) continue;
        for (auto* f : {&*test.failure}) {
            f->type = f->message = f->traceback = hostile;
            f->frames[1].function = hostile;
        }
        for (auto& sub : test.subcases) sub.label = hostile;
    }
    // Places under the root have links, whose texts hold the names.
    stored.info.root = root;
    const std::string text = samples::to_markdown(build());
    ASSERT_THAT(text, HasSubstr("ODD"));
    const std::string markdown = without_code(text);
    std::string outside;
    for (const std::string& line : lines_of(markdown)) {
        // Encoded in the destination of a link, or in an element of ours, names do no harm.
        const std::string rest = std::regex_replace(
            std::regex_replace(line, std::regex(R"(\]\([^ ()<>\[\]`|\\"]*\))"), ""),
            std::regex("<details><summary>[^<]*</summary>|</details>"), "");
        if (rest.find("ODD") != std::string::npos || rest.find('<') != std::string::npos ||
            rest.find("evil") != std::string::npos)
            outside += rest + "\n";
    }
    EXPECT_EQ(outside, "");
    for (const char c : text)
        EXPECT_TRUE(c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20);
    EXPECT_EQ(printable(text), text) << "valid UTF-8, no escapes";
    // Every row of a table has the number of cells of its head.
    size_t bars = 0;
    for (const std::string& line : lines_of(text)) {
        if (!line.starts_with("|")) {
            bars = 0;
            continue;
        }
        EXPECT_THAT(line, Not(HasSubstr("\\\\|"))) << "which of them does the bar belong to";
        size_t found = 0;
        for (size_t i = 0; i < line.size(); ++i)
            found += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
        if (bars == 0) bars = found;
        EXPECT_EQ(found, bars) << line;
    }
}

TEST_F(MarkdownTest, StaysWithinTheLimitAndCountsWhatItLeftOut) {
    auto& cases = stored.modules[0].attempts[0].record.cases;
    for (int i = 0; i < 40; ++i) {
        cases.push_back(cases[2]);
        cases.back().id += std::to_string(i);
        cases.back().failure->signature = "s" + std::to_string(i);
    }
    stored.modules[0].attempts[0].record.collected += 40;
    const samples::Model model = build();
    const std::string full = samples::to_markdown(model);
    EXPECT_THAT(full, Not(HasSubstr("Left out")));
    EXPECT_EQ(samples::to_markdown(model, full.size()), full);

    const auto count = [](const std::string& text, const std::string& pattern) {
        const std::regex regex(pattern);
        return static_cast<size_t>(
            std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {}));
    };
    // The figure in "12 of 45 <what>" of the closing note.
    const auto left_out = [](const std::string& text, const std::string& what) -> size_t {
        const std::string note = text.substr(text.rfind("Left out"));
        const size_t at = note.find(" of 45 " + what);
        if (at == std::string::npos) return 0;
        return std::stoul(note.substr(note.find_last_not_of("0123456789", at - 1) + 1));
    };
    // Entries for f, its 40 copies and their common sub-test, e, c and t.
    constexpr size_t kEntries = 45;
    const std::string details = "<details><summary>Traceback and log";
    for (size_t bytes = full.size() - 1; bytes > 4500; bytes -= std::min(bytes, full.size() / 15)) {
        const std::string text = samples::to_markdown(model, bytes);
        ASSERT_LE(text.size(), bytes);
        ASSERT_THAT(text, HasSubstr("Left out to stay within " + std::to_string(bytes)));
        without_code(text);
        EXPECT_EQ(count(text, "\n### [0-9]+ test") + left_out(text, "causes of failures"),
                  kEntries);
        EXPECT_EQ(count(text, details) + left_out(text, "tracebacks and lists of tests"), kEntries);
        EXPECT_THAT(text, HasSubstr("| modules | tests |")) << "the headline stays";
        if (count(text, details) < kEntries) {
            EXPECT_THAT(text, Not(HasSubstr("## Slowest"))) << "the least useful goes first";
        }
    }
}

TEST_F(MarkdownTest, ItemsAddedToAFullPageAreCounted) {
    stored.modules.resize(1);
    for (int i = 1; i < 300; ++i) {
        stored.modules.push_back(stored.modules[0]);
        stored.modules.back().path += std::to_string(i);
    }
    const std::string text = samples::to_markdown(build(), 10'000);
    EXPECT_LE(text.size(), 10'000u);
    const std::string note = text.substr(text.rfind("Left out"));
    for (const auto* what :
         {" of 5 tracebacks and lists of tests", "300 of 300 modules", "300 of 300 odd things"})
        EXPECT_THAT(note, HasSubstr(what));
    EXPECT_THAT(text, HasSubstr("| 300 | 3600 | 900 | 300 |")) << "the totals are whole";
    EXPECT_THAT(text, HasSubstr("### 300 tests: "));
    EXPECT_THAT(text, Not(HasSubstr("and log</summary>"))) << "less useful than what failed";
}

TEST(MarkdownText, CodeSpansEscapeTheirText) {
    EXPECT_EQ(code("plain"), "`plain`");
    EXPECT_EQ(code("a`b"), "``a`b``");
    EXPECT_EQ(code("`a``"), "``` `a`` ```");
    EXPECT_EQ(code("a|b"), "`a|b`");
    EXPECT_EQ(cell("`a|b`"), "`a\\|b`");
    EXPECT_EQ(cell("`a\\|b`"), "`a\\｜b`");
    EXPECT_EQ(code("a\nb\tc"), "`a b c`");
    EXPECT_EQ(code(""), "");
    EXPECT_EQ(code(" \n"), "");
    EXPECT_EQ(code("\xc3\xa4\xc3\xb6\xc3\xbc", 2), "`\xc3\xa4\xc3\xb6…`");
    EXPECT_EQ(linked_code("a]b", "https://x.example/(1) <2>"),
              "[`a]b`](https://x.example/%281%29%20%3C2%3E)");
    EXPECT_EQ(linked_code("a", ""), "`a`");
}

TEST(MarkdownText, ProseKeepsItsCodeSpansAndNothingElse) {
    EXPECT_EQ(prose("use `x_y` for a_b"), "use `x_y` for a\\_b");
    EXPECT_EQ(prose("a ` b <b> [c](d)\n*e*"), "a \\` b \\<b\\> \\[c\\]\\(d\\) \\*e\\*");
    EXPECT_EQ(prose(""), "");
}

TEST(MarkdownText, FencesAreLongerThanThoseInside) {
    EXPECT_EQ(fenced("text", "a\n"), "```text\na\n```\n");
    EXPECT_EQ(fenced("", "a\n```\nb"), "````\na\n```\nb\n````\n");
}

TEST(MarkdownText, LongBlocksLoseTheirMiddle) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "line " + std::to_string(i) + "\n";
    const std::string block = fenced("text", text, 300);
    EXPECT_LT(block.size(), 400u);
    EXPECT_THAT(block, HasSubstr("line 0\n"));
    EXPECT_THAT(block, HasSubstr("line 99\n"));
    size_t kept = 0;
    for (const std::string& line : lines_of(block)) kept += line.starts_with("line ");
    EXPECT_THAT(block, HasSubstr("… " + std::to_string(100 - kept) + " lines ("));
}

TEST(MarkdownText, PrintableTextIsUtf8WithoutControls) {
    EXPECT_EQ(printable("a\r\nb\rc"), "a\nb\nc");
    EXPECT_EQ(printable("\x1b[1;31mred\x1b[0m"), "red");
    EXPECT_EQ(printable("\x1b]0;title\x07x\x1b"), "x");
    EXPECT_EQ(printable(std::string_view("a\0b", 3)),
              "a\xef\xbf\xbd"
              "b");
    EXPECT_EQ(printable("\xc0\xaf\xed\xa0\x80"),
              "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(printable("\xf0\x9f\x98\x80 \xc3\xa9"), "\xf0\x9f\x98\x80 \xc3\xa9");
    EXPECT_EQ(printable("a\xe2\x80\xae"
                        "b"),
              "a\xef\xbf\xbd"
              "b");
}

}  // namespace
}  // namespace compat::reports
