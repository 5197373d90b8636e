#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <boost/archive/iterators/binary_from_base64.hpp>
#include <boost/archive/iterators/transform_width.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/compare/compare.h"
#include "reports/html/chunks.h"
#include "reports/html/page.h"
#include "reports/html/served.h"
#include "reports/html/web_assets.h"
#include "reports/issue_text.h"
#include "reports/porting/pages.h"
#include "tests/reports/porting_sample.h"
#include "tests/reports/sample_run.h"
#include "tests/support/temp_tree.h"

namespace compat::reports {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Parts = std::map<std::string, std::string>;

// As a browser does: decoded, then unpacked.
std::string unpacked(std::string base64) {
    namespace it = boost::archive::iterators;
    using Decoder = it::transform_width<it::binary_from_base64<const char*>, 8, 6>;
    EXPECT_EQ(base64.size() % 4, 0u);
    const size_t padding = base64.size() - base64.find_last_not_of('=') - 1;
    std::replace(base64.end() - static_cast<std::ptrdiff_t>(padding), base64.end(), '=', 'A');
    std::string packed(Decoder(base64.data()), Decoder(base64.data() + base64.size()));
    packed.resize(packed.size() - padding);
    z_stream stream{};
    EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    std::string text, block(1 << 18, '\0');
    int result = Z_OK;
    while (result == Z_OK) {
        stream.next_out = reinterpret_cast<Bytef*>(block.data());
        stream.avail_out = static_cast<uInt>(block.size());
        result = inflate(&stream, Z_NO_FLUSH);
        text.append(block, 0, block.size() - stream.avail_out);
    }
    EXPECT_EQ(result, Z_STREAM_END);
    inflateEnd(&stream);
    return text;
}

// Every script element of the page, by id; the app has none.
std::map<std::string, std::string> scripts(const std::string& page) {
    std::map<std::string, std::string> found;
    for (size_t at = page.find("<script"); at != std::string::npos;
         at = page.find("<script", at + 1)) {
        const size_t end = page.find('>', at);
        const std::string tag = page.substr(at, end - at);
        const size_t id = tag.find("id=\"");
        const std::string name =
            id == std::string::npos ? "" : tag.substr(id + 4, tag.find('"', id + 4) - id - 4);
        const bool added =
            found.emplace(name, page.substr(end + 1, page.find("</script", end) - end - 1)).second;
        EXPECT_TRUE(added) << name << " stands twice";
    }
    return found;
}

Parts parts_of(const std::string& page) {
    Parts parts;
    for (const auto& [id, text] : scripts(page)) {
        if (id == "summary") parts[id] = text;
        if (id.starts_with("part-")) parts[id.substr(5)] = unpacked(text);
    }
    return parts;
}

std::string page_of(const samples::Model& model, const PageSources& sources = {}) {
    std::string page;
    const auto renderer =
        html_report(model, sources, [&](std::string_view bytes) { page += bytes; });
    for (const ModuleView& module : model.modules) renderer->add(module);
    renderer->finish();
    return page;
}

json column(const json& index, const char* name, const char* of, size_t row) {
    const int at = index.at(of).at(row).get<int>();
    return at < 0 ? json(nullptr) : index.at(name).at(static_cast<size_t>(at));
}

std::string id_of(const json& index, size_t row) {
    const std::string key = std::to_string(row);
    if (index.at("ids").contains(key)) return index.at("ids").at(key);
    return column(index, "modules", "module", row).at("path").get<std::string>() +
           "::" + index.at("name").at(row).get<std::string>();
}

json url_of(const json& index, size_t row) {
    const std::string key = std::to_string(row);
    std::string url;
    if (index.at("urls").contains(key)) {
        url = index.at("urls").at(key);
    } else if (const json file = column(index, "files", "file", row);
               !file.is_null() && !file.at("url").is_null()) {
        url = file.at("url");
        if (const size_t line = url.rfind("{line}"); line != std::string::npos)
            url.replace(line, 6, std::to_string(index.at("line").at(row).get<int>()));
    }
    return url.empty() ? json(nullptr) : json(url);
}

class HtmlTest : public testing::Test {
  protected:
    void SetUp() override { samples::make_source(root); }
    [[nodiscard]] samples::Model build() const {
        return samples::model(stored, folder.root() / "run");
    }

    // A page's content, read back, equals report.json's.
    static void expect_equal(const samples::Model& model, const Parts& parts) {
        const json report = json::parse(samples::to_json(model));
        const json summary = json::parse(parts.at("summary"));
        const json& run = summary.at("run");
        for (const auto& [name, count] : report.at("totals").items())
            EXPECT_EQ(run.at("totals").at(name), count) << name;
        for (const auto& [name, value] : report.at("run").items())
            EXPECT_EQ(run.at("run").at(name), value) << name;
        EXPECT_EQ(run.at("accounting").at("closed"), report.at("accounting").at("closed"));
        for (const char* same :
             {"links", "diagnoses", "attributions", "clusters", "gaps", "redirections",
              "collectives", "load_failures", "leaked_processes", "writes"})
            EXPECT_EQ(run.at(same), report.at(same)) << same;
        for (const json& cause : run.at("causes"))
            EXPECT_EQ(report.at("causes").at(cause.at("name").get<std::string>()),
                      cause.at("tests"));
        const json index = json::parse(parts.at("index"));
        std::map<int, json> details;  // by part
        size_t row = 0;
        for (size_t m = 0; m < report.at("modules").size(); ++m) {
            json module = report.at("modules").at(m);
            for (const json& test : module.at("cases")) {
                SCOPED_TRACE(test.at("id"));
                EXPECT_EQ(index.at("module").at(row), m);
                EXPECT_EQ(id_of(index, row), test.at("id"));
                EXPECT_EQ(parsers::kStateNames.at(index.at("state").at(row).get<size_t>()),
                          test.at("state"));
                EXPECT_EQ(url_of(index, row), test.at("url"));
                EXPECT_EQ(index.at("line").at(row), test.at("line"));
                EXPECT_EQ(index.at("ms").at(row),
                          std::llround(test.at("duration_s").get<double>() * 1000));
                const json& failure = test.at("failure");
                EXPECT_EQ(column(index, "causes", "cause", row),
                          failure.is_null() ? json(nullptr) : failure.at("cause"));
                EXPECT_EQ(column(index, "signatures", "cluster", row),
                          failure.is_null() ? json(nullptr) : failure.at("signature"));
                EXPECT_EQ(column(index, "reasons", "reason", row),
                          failure.is_null() ? test.at("reason") : json(nullptr));
                const int block = index.at("block").at(row);
                EXPECT_EQ(block < 0, failure.is_null() && test.at("reason").is_null() &&
                                         test.at("reproduce").is_null());
                if (block >= 0) {
                    const auto [part, added] = details.try_emplace(block);
                    if (added)
                        part->second = json::parse(parts.at(fmt::format("details-{}", block)));
                    const json& detail = part->second.at(index.at("row").at(row).get<size_t>());
                    for (const auto& [name, value] : test.items())
                        EXPECT_EQ(detail.at(name), value) << name;
                }
                ++row;
            }
            module.erase("cases");
            for (const auto& [name, value] : module.items())
                EXPECT_EQ(index.at("modules").at(m).at(name), value) << name;
        }
        for (const char* name : {"name", "state", "marks", "ms", "file", "line", "cause", "cluster",
                                 "reason", "block", "row", "module"})
            EXPECT_EQ(index.at(name).size(), row) << name;
        EXPECT_GT(row, 0u);
        for (const json& name : summary.at("parts")) EXPECT_TRUE(parts.contains(name)) << name;
        EXPECT_EQ(summary.at("parts").size() + 1, parts.size());
    }

    test::TempTree folder;
    std::filesystem::path root = folder.root() / "src";
    samples::Run stored = samples::run(root);
};

TEST(WebAssets, ArePartOfThisProgram) {
    ASSERT_EQ(web_assets().missing, "") << "the tests need Node.js 18 and npm at build time";
    EXPECT_TRUE(can_write_html());
    EXPECT_THAT(std::string(web_assets().licences), HasSubstr("preact"));
    for (const std::string_view text : {web_assets().script, web_assets().style}) {
        EXPECT_GT(text.size(), 0u);
        EXPECT_THAT(std::string(text), Not(HasSubstr("</s")));
    }
}

TEST_F(HtmlTest, PartsReadBackEqualTheReportForPrograms) {
    const samples::Model model = build();
    expect_equal(model, parts_of(page_of(model)));
}

TEST_F(HtmlTest, EveryMarkHasItsBit) {
    samples::Model model = build();
    auto& cases = model.modules.at(0).cases;
    cases.resize(5);
    for (CaseView& test : cases) test.used_accelerator = false;
    cases[0].marks = {"device", "untouched"};
    cases[1].marks = {"fallback", "redirected"};
    cases[2].marks = {};
    cases[2].flaky = cases[2].pseudo = true;
    cases[3].marks = {};
    cases[3].fork_sensitive = cases[3].used_accelerator = true;
    cases[4].marks = {"generated"};
    EXPECT_EQ(json::parse(parts_of(page_of(model)).at("index")).at("marks"),
              json({1 + 16, 2 + 8, 64 + 256, 128 + 512, 32}));
}

TEST_F(HtmlTest, HostileTextStaysText) {
    const std::string hostile = std::string("</script><script>alert(1)</script><!-- ]]> \0 ", 46) +
                                "\xff\xfe\xc3 \xe2\x80\xa8 \xe2\x80\xa9 &lt; {line} \\u003c \"' ";
    stored.info.suite = hostile;
    auto& record = stored.modules.at(0).attempts.at(0).record;
    record.path = stored.modules.at(0).path;
    auto& test = record.cases.at(2);
    test.id = hostile;
    test.failure->message = test.failure->type = test.failure->traceback = hostile;
    test.failure->diagnosis.reset();
    record.cases.at(4).reason = hostile;
    record.cases.at(5).location.file = hostile;
    parsers::diagnose(record);
    const samples::Model model = build();
    const SourceReader sources = [&] {
        return CopiedSources{"source/", {{hostile, hostile}}, {{hostile, "too large"}}};
    };
    const std::string page = page_of(model, {.copies = sources});
    const Parts parts = parts_of(page);
    expect_equal(model, parts);
    EXPECT_EQ(json::parse(parts.at("source-0")).at("files").size(), 1u);
    // The app, the summary and the parts; no text opened or ended an element.
    EXPECT_EQ(scripts(page).size(), parts.size() + 1);
    EXPECT_EQ(page.find("<!--"), page.find("<!--\n")) << "the licences' comment alone";
    EXPECT_EQ(page.find('\0'), std::string::npos);
    EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
    for (const char* separator : {"\xe2\x80\xa8", "\xe2\x80\xa9", "\xff"})
        EXPECT_EQ(page.find(separator), std::string::npos);
}

TEST_F(HtmlTest, ThePageRequestsNothing) {
    const std::string page = page_of(build());
    EXPECT_TRUE(page.starts_with("<!doctype html>"));
    const size_t policy = page.find("Content-Security-Policy");
    ASSERT_LT(policy, page.find("<style"));
    const std::string rules = page.substr(policy, page.find('>', policy) - policy);
    for (const auto& rule :
         {"default-src 'none'", "connect-src 'none'", "base-uri 'none'", "form-action 'none'"})
        EXPECT_THAT(rules, HasSubstr(rule));
    EXPECT_THAT(rules, HasSubstr(fmt::format("script-src '{}'", web_assets().script_hash)));
    EXPECT_THAT(rules, HasSubstr(fmt::format("style-src '{}'", web_assets().style_hash)));
    EXPECT_THAT(rules, Not(HasSubstr("unsafe")));
    // Attributes of the page's own elements; texts of script elements are not markup.
    for (const char* attribute : {" src=", " href=", "url(http", "@import"}) {
        std::string markup = page;
        for (const auto& [id, text] : scripts(page))
            if (const size_t at = markup.find(text); !text.empty() && at != std::string::npos)
                markup.erase(at, text.size());
        EXPECT_THAT(markup, Not(HasSubstr(attribute)));
    }
}

TEST_F(HtmlTest, DetailsAreClosedAtTheirSize) {
    samples::Model model = build();
    auto& cases = model.modules.at(0).cases;
    const CaseView failed = cases.at(2);
    cases.clear();
    for (int i = 0; i < 1000; ++i) {
        CaseView& test = cases.emplace_back(failed);
        test.id = fmt::format("{}::T::test_{}", model.modules.at(0).path, i);
        test.failure->traceback = std::string(3000, 'x');
    }
    const Parts parts = parts_of(page_of(model));
    expect_equal(model, parts);
    size_t details = 0;
    for (const auto& [name, text] : parts) {
        if (!name.starts_with("details-")) continue;
        ++details;
        EXPECT_LT(text.size(), kPartBytes + 8192);
    }
    EXPECT_GT(details, 10u);
}

// The details of all tests, by id.
std::map<std::string, json> details_of(const Parts& parts) {
    std::map<std::string, json> details;
    for (const auto& [name, text] : parts)
        if (name.starts_with("details-"))
            for (const json& test : json::parse(text)) details.emplace(test.at("id"), test);
    return details;
}

TEST_F(HtmlTest, TheFirstFailingTestsHaveAnExcerptFromOneReadingOfEachLog) {
    samples::Model model = build();
    model.modules.resize(1);
    auto& cases = model.modules.at(0).cases;
    const CaseView passed = cases.at(0), failed = cases.at(2);
    ASSERT_EQ(passed.state, parsers::State::passed);
    ASSERT_EQ(failed.state, parsers::State::failed);
    cases = {passed};
    for (size_t i = 0; i < kMostExcerpts + 10; ++i) {
        CaseView& test = cases.emplace_back(failed);
        test.id = fmt::format("t.py::test_{}", i);
        test.log = i == 0 ? "" : i % 2 ? "odd.log" : i == 2 ? "gone.log" : "even.log";
    }
    std::vector<std::string> logs;
    const ExcerptReader read = [&](const std::string& log, const std::vector<std::string>& tests)
        -> tl::expected<std::vector<LogExcerptView>, std::string> {
        logs.push_back(log);
        if (log == "gone.log") return tl::unexpected(std::string("it is gone"));
        std::vector<LogExcerptView> excerpts;
        for (const std::string& test : tests) excerpts.push_back({7, {test, "</script>"}, true});
        return excerpts;
    };
    const auto details = details_of(parts_of(page_of(model, {.excerpts = read})));
    EXPECT_THAT(logs, ElementsAre("even.log", "gone.log", "odd.log"));
    EXPECT_EQ(
        details.at("t.py::test_1").at("log_excerpt"),
        json({{"first_line", 7}, {"lines", {"t.py::test_1", "</script>"}}, {"about_test", true}}));
    EXPECT_EQ(details.at("t.py::test_1").at("no_excerpt"), nullptr);
    size_t with = 0, without = 0;
    for (const auto& [id, test] : details) {
        with += !test.at("log_excerpt").is_null();
        without += !test.at("no_excerpt").is_null();
    }
    EXPECT_EQ(with, kMostExcerpts - 1) << "and one log is gone";
    EXPECT_EQ(without, 10u) << "nine tests more than have one, and one log is gone";
    EXPECT_EQ(details.at("t.py::test_2").at("no_excerpt"), "it is gone");
    EXPECT_THAT(details.at(fmt::format("t.py::test_{}", kMostExcerpts + 1)).at("no_excerpt"),
                HasSubstr("only the first 500 failing tests"));
    EXPECT_EQ(details.at("t.py::test_0").at("no_excerpt"), nullptr) << "it has no log";
}

TEST_F(HtmlTest, FailingTestsHaveATextForAnIssue) {
    const samples::Model model = build();
    size_t texts = 0;
    const auto details = details_of(parts_of(page_of(model)));
    for (const ModuleView& module : model.modules)
        for (const CaseView& test : module.cases) {
            const auto expected = issue_text(model.run, test);
            if (!expected && !details.contains(test.id)) continue;
            EXPECT_EQ(details.at(test.id).at("issue"), expected ? json(*expected) : json(nullptr));
            texts += expected.has_value();
        }
    EXPECT_GT(texts, 2u);
}

TEST_F(HtmlTest, LinksThatDifferFromTheirFilesAreKept) {
    samples::Model model = build();
    auto& cases = model.modules.at(0).cases;
    cases.resize(5);
    const std::vector<std::tuple<std::string, int, std::string>> places{
        {"t1.py", 1, "https://f/1/t1.py#L1"},
        {"t1.py", 11, "https://f/1/t1.py#L11"},
        {"t1.py", 0, "https://f/1/t1.py"},
        {"t1.py", 99, ""},
        {"", 0, "https://f/whole"}};
    for (size_t i = 0; i < places.size(); ++i)
        std::tie(cases[i].file, cases[i].line, cases[i].url) = places[i];
    const json index = json::parse(parts_of(page_of(model)).at("index"));
    for (size_t i = 0; i < places.size(); ++i) {
        const std::string& url = std::get<2>(places[i]);
        EXPECT_EQ(url_of(index, i), url.empty() ? json(nullptr) : json(url)) << i;
    }
    EXPECT_EQ(index.at("urls").size(), 3u) << "a file's other links come from its template";
    EXPECT_EQ(index.at("files"), json({{{"path", "t1.py"}, {"url", "https://f/1/t1.py#L{line}"}}}));
}

TEST_F(HtmlTest, TheSummaryIsSmallWhateverTheRun) {
    samples::Model model = build();
    const std::string long_text(5000, '<');
    for (int i = 0; i < 1000; ++i) {
        ClusterView& cluster = model.clusters.emplace_back();
        cluster.signature = fmt::format("{} {}", i, long_text);
        cluster.key_line = long_text;
        model.redirections.push_back(
            {"redirect", long_text, "cuda", "cpu", "", "a.py", 1, "", 1, 1});
        model.load_failures.push_back({long_text, "ImportError", "a.py", "", 1});
        model.accounting.mismatches.push_back({"a.py", long_text});
        model.diagnoses[fmt::format("{} {}", i, long_text)] = i;
    }
    model.run.command = std::string(3'000'000, 'c');
    json packages;
    for (int i = 0; i < 2000; ++i) packages[fmt::format("package-{}", i)] = std::string(1000, '1');
    model.run.fingerprint = json{{"packages", packages}}.dump();
    const Parts parts = parts_of(page_of(model));
    EXPECT_LT(parts.at("summary").size(), kSummaryBytes);
    const json run = json::parse(parts.at("summary")).at("run");
    EXPECT_EQ(run.at("clusters_total"), model.clusters.size());
    EXPECT_EQ(run.at("redirections_total"), 1000 + build().redirections.size());
    EXPECT_EQ(run.at("accounting").at("mismatches").size() +
                  run.at("accounting").at("more").get<size_t>(),
              model.accounting.mismatches.size());
    EXPECT_EQ(json::parse(parts.at("clusters")).size(), model.clusters.size());
}

TEST_F(HtmlTest, CopiedSourcesAreParts) {
    const samples::Model model = build();
    std::string large;
    for (int line = 0; line < 30'000; ++line) large += fmt::format("line {}\n", line);
    const SourceReader sources = [&] {
        return CopiedSources{
            "../source/", {{"a.py", large}, {"b.py", "b\n"}}, {{"c.py", "larger than 2 MiB"}}};
    };
    const Parts parts = parts_of(page_of(model, {.copies = sources}));
    const json files = json::parse(parts.at("sources"));
    for (const auto& [path, text] :
         std::map<std::string, std::string>{{"a.py", large}, {"b.py", "b\n"}}) {
        const int part = files.at("files").at(path);
        EXPECT_EQ(json::parse(parts.at(fmt::format("source-{}", part))).at("files").at(path), text);
    }
    EXPECT_EQ(files.at("left_out"), json({{{"path", "c.py"}, {"why", "larger than 2 MiB"}}}));
    EXPECT_EQ(json::parse(parts.at("summary")).at("run").at("sources"),
              json({{"prefix", "../source/"}, {"files", 2}, {"left_out", 1}}));
    EXPECT_EQ(json::parse(parts_of(page_of(model)).at("summary")).at("run").at("sources"), nullptr);
}

TEST_F(HtmlTest, ChangesAreAPartAndTheirCountsInTheSummary) {
    samples::Model model = build();
    auto view = std::make_shared<CompareView>();
    view->baseline.id = "old";
    Comparison& compared = view->columns.emplace_back();
    compared.run.id = "new";
    for (int i = 0; i < 300; ++i) {
        ChangedTest& test = compared.tests.emplace_back();
        test.id = fmt::format("m::{:03}", i);
        test.signature = fmt::format("sig {}", i);
    }
    compared.counts[static_cast<size_t>(ChangeClass::regressed)] = 300;
    group_tests(compared);
    model.changes = view;
    const Parts parts = parts_of(page_of(model));
    const json whole = json::parse(compare_json(*view));
    EXPECT_EQ(json::parse(parts.at("changes")), whole);
    const json brief = json::parse(parts.at("summary")).at("run").at("changes").at("comparisons");
    EXPECT_FALSE(brief.at(0).contains("tests"));
    EXPECT_EQ(brief.at(0).at("groups").size(), 100u);
    EXPECT_EQ(brief.at(0).at("classes"), whole.at("comparisons").at(0).at("classes"));

    std::string page;
    compare_html(*view, [&](std::string_view bytes) { page += bytes; });
    const Parts alone = parts_of(page);
    EXPECT_EQ(json::parse(alone.at("changes")), whole);
    const json summary = json::parse(alone.at("summary"));
    EXPECT_EQ(summary.at("kind"), "compare");
    EXPECT_EQ(summary.at("parts"), json({"changes"}));
    EXPECT_THAT(page, HasSubstr("<title>old → new</title>"));
}

TEST(ServedPage, KeepsTheAddressOfItsPartsInTheAttribute) {
    const std::string page =
        served_page(R"({"title":"t"})", R"(/tests/"onload="alert(1)&<b>/parts)");
    EXPECT_THAT(
        page, HasSubstr(R"(data-parts="/tests/&quot;onload=&quot;alert(1)&amp;&lt;b&gt;/parts">)"));
}

TEST(GapLogParts, HasTheGapsOutsideTheSummary) {
    std::vector<GapView> gaps(300);
    for (GapView& gap : gaps) gap.sites.assign(kGapSites, {"a.py", 1, "", 1, 1});
    Parts parts;
    gap_log_parts(
        gaps, [&](std::string_view name, const std::string& text) { parts.emplace(name, text); });
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(json::parse(parts.at("gaps")).size(), gaps.size());
    EXPECT_EQ(json::parse(parts.at("summary"))["parts"], json({"gaps"}));
    EXPECT_LT(parts.at("summary").size(), 1000u);
}

TEST(PortingHtml, HasTheFileForPrograms) {
    const auto view =
        porting_samples::on_cuda({porting_samples::test("a", parsers::State::passed)},
                                 {porting_samples::test("a", parsers::State::failed)});
    std::string page, file;
    porting_html(view, [&](std::string_view bytes) { page += bytes; });
    porting_json(view, [&](std::string_view bytes) { file += bytes; });
    const Parts parts = parts_of(page);
    EXPECT_EQ(json::parse(parts.at("porting")), json::parse(file));
    EXPECT_EQ(json::parse(parts.at("summary")).at("kind"), "porting");
}

TEST_F(HtmlTest, OffersFailingTestsAsTextForAnIssueUnlessSwitchedOff) {
    samples::Model model = build();
    const auto issues_of = [&] {
        std::map<std::string, json> issues;
        for (const auto& [name, text] : parts_of(page_of(model)))
            if (name.starts_with("details-"))
                for (const json& test : json::parse(text)) issues[test.at("id")] = test.at("issue");
        return issues;
    };
    const auto offered = issues_of();
    const CaseView& failed = model.modules.at(0).cases.at(2);
    EXPECT_EQ(offered.at(failed.id), *issue_text(model.run, failed));
    model.issue_texts = false;
    const auto without = issues_of();
    EXPECT_EQ(without.size(), offered.size());
    for (const auto& [id, issue] : without) EXPECT_TRUE(issue.is_null()) << id;
}

}  // namespace
}  // namespace compat::reports
