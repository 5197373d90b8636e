#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "reports/porting/pages.h"
#include "runner/base/files.h"
#include "tests/paths.h"
#include "tests/reports/porting_sample.h"

namespace compat::reports::porting_samples {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class Pages : public testing::Test {
  protected:
    std::string markdown(std::size_t max_bytes = 1 << 20) const {
        std::string text;
        porting_markdown(view, max_bytes, [&](std::string_view bytes) { text += bytes; });
        return text;
    }
    json file() const {
        std::string text;
        porting_json(view, [&](std::string_view bytes) { text += bytes; });
        return json::parse(text);
    }

    Tests cpu{test("eigh", State::passed), test("x|`y`", State::passed),
              skipped("cuda", "needs | CUDA")};
    Tests strict{
        test("eigh", State::errored, failure("NotImplementedError", kEigh)),
        test("x|`y`", State::failed, failure("AssertionError", "a | <b>\n# c", State::failed)),
        skipped("cuda", "needs | CUDA")};
    Tests cuda{test("eigh", State::passed), test("x|`y`", State::passed),
               test("cuda", State::passed)};
    PortingView view =
        compared(cpu, cuda, cpu, strict, {fell_back("eigh", "aten::_linalg_eigh.eigenvalues", 2)});
};

TEST_F(Pages, TheFileMatchesItsSchema) {
    const json document = json::parse(*read_file(std::filesystem::path(COMPAT_SOURCE_DIR) /
                                                 "reports/schemas/porting.schema.json"));
    valijson::Schema schema;
    valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(document),
                                            schema);
    const auto schema_errors = [&](const json& written) {
        valijson::ValidationResults results;
        valijson::Validator validator;
        std::string text;
        if (validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(written), &results))
            return text;
        for (const auto& error : results) text += error.description + "\n";
        return text;
    };
    const json written = file();
    EXPECT_EQ(schema_errors(written), "");
    for (const auto& [key, value] : written.items()) {
        json without = written;
        without.erase(key);
        EXPECT_NE(schema_errors(without), "") << key;
    }
    json wrong = written;
    wrong["causes"][0]["judgement"] = "a guess";
    EXPECT_NE(schema_errors(wrong), "");
}

TEST_F(Pages, ShowTheSameNumbers) {
    const json written = file();
    const std::string page = markdown();
    EXPECT_EQ(written["columns"][3]["differ"], 2);
    EXPECT_THAT(page,
                HasSubstr("| [bare Mac *simulated*, fallback off](../report.md) | 3 | 0 | 1 | 1 | "
                          "1 | 2 | 2 | 0 | 0 | 0 | 3 |"));
    EXPECT_EQ(written["columns"][1]["groups"]["gain"], 1);
    EXPECT_EQ(written["decided_by_fallback"], 2);
    EXPECT_EQ(written["causes"][written["tests"][0]["differences"][0]["cause"].get<size_t>()]["gap"]
                     ["symbol"],
              "aten::_linalg_eigh.eigenvalues");
    EXPECT_EQ(written["tests"][0]["states"]["mps_strict"], "errored");
    EXPECT_THAT(page, HasSubstr("| 1 | 1 | 2 | `aten::_linalg_eigh.eigenvalues` |"))
        << "the table of fallbacks";
}

TEST_F(Pages, TextFromTestsIsEscaped) {
    const std::string page = markdown();
    EXPECT_THAT(page, Not(HasSubstr("\n# c")));
    EXPECT_THAT(page, HasSubstr("skipped on plain CPU: needs | CUDA"));
    // Every row of a table has the number of cells of its head.
    size_t cells = 0;
    for (size_t begin = 0; begin < page.size();) {
        const size_t end = std::min(page.find('\n', begin), page.size());
        const std::string line = page.substr(begin, end - begin);
        begin = end + 1;
        size_t bars = 0;
        for (size_t i = 0; i < line.size(); ++i)
            bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
        if (!line.starts_with('|')) {
            cells = 0;
            continue;
        }
        if (cells == 0) cells = bars;
        EXPECT_EQ(bars, cells) << line;
    }
}

TEST_F(Pages, ShowTheCommandThatReproducesAFailure) {
    strict[0].reproduce = Reproduce{"runner suites/alpha --simulate mps 'm.py::T::eigh'", "env …"};
    view = compared(cpu, cpu, cpu, strict);
    const std::string command = "runner suites/alpha --simulate mps 'm.py::T::eigh'";
    EXPECT_THAT(markdown(), HasSubstr("\n  `" + command + "`\n"));
    EXPECT_EQ(file()["tests"][0]["differences"][0]["reproduce"], command);
}

TEST_F(Pages, ListTheFirstTenCausesAndFoldTheRest) {
    Tests good, bad;
    for (int i = 0; i < 12; ++i) {
        good.push_back(test(fmt::format("t{}", i), State::passed));
        bad.push_back(test(fmt::format("t{}", i), State::errored,
                           failure(fmt::format("Error{}", static_cast<char>('A' + i)), "x")));
    }
    view = compared(good, bad, good, good);
    const std::string page = markdown();
    EXPECT_THAT(page, HasSubstr("| 10 | up to 1 test |"));
    const size_t fold = page.find("<details><summary>2 more</summary>");
    EXPECT_LT(page.find("| 10 | "), fold);
    EXPECT_GT(page.find("| 11 | "), fold);
    EXPECT_LT(page.find("| 12 | "), page.find("</details>"));
}

TEST_F(Pages, LinkTheRunsThatKeepGoing) {
    const FailureView doubled = failure("TypeError", kDouble);
    CaseView kept = test("t", State::passed);
    kept.refusals = {{std::string("TypeError: ") + kDouble, "m.py:2", ""}};
    const Tests good{test("t", State::passed)}, bad{test("t", State::errored, doubled)};
    view = compared(good, good, bad, bad, {}, {kept});
    EXPECT_THAT(markdown(), HasSubstr("[MPS without fallback](../report.md)"));
    EXPECT_EQ(file()["kept_going"][0]["run"], "alpha-keep-going");
    EXPECT_EQ(file()["kept_going"][0]["column"], "mps_strict");
}

TEST_F(Pages, AShortPageKeepsTheFirstCauses) {
    const std::string page = markdown(2500);
    EXPECT_LT(page.size(), markdown().size());
    EXPECT_THAT(page, HasSubstr("## What to fix first"));
}

TEST_F(Pages, ThePageWarnsIfNoTestUsedAnAccelerator) {
    const Tests used = cpu;
    for (CaseView& t : cpu) t.used_accelerator = false;
    view = compared(cpu, cpu, cpu, cpu);
    EXPECT_THAT(markdown(), HasSubstr("# Porting `alpha`: no test used CUDA or MPS\n"));
    EXPECT_THAT(markdown(), HasSubstr("says nothing about it"));
    EXPECT_EQ(describe_verdict(compared(cpu, used, cpu, cpu)),
              "nothing to fix was found on CUDA; no test used MPS");
    EXPECT_EQ(describe_verdict(compared(cpu, cpu, cpu, used)),
              "nothing to fix was found on MPS; no test used CUDA");
}

TEST_F(Pages, ListInputDifferences) {
    EXPECT_THAT(view.input_differences, testing::IsEmpty());
    EXPECT_THAT(markdown(), Not(HasSubstr("not alike")));
    PortingBuilder builder("alpha_1", "alpha");
    for (const Column column : {Column::cpu, Column::cuda, Column::mps}) {
        RunView run = run_of(column);
        run.dirty = column == Column::cuda;
        run.selection = column == Column::mps ? "b" : "a";
        run.command = column == Column::cpu ? "runner x --shim off" : "runner x | y";
        builder.begin(column, run);
        ReportModel model;
        model.run = run;
        builder.end(model, {}, "../report.md");
    }
    view = builder.finish();
    ASSERT_THAT(view.input_differences, SizeIs(2));
    EXPECT_EQ(describe_input_difference(view.input_differences[0]),
              "commit: 0123abcd on CPU, MPS; 0123abcd (changed since) on CUDA");
    EXPECT_THAT(markdown(), HasSubstr("**The runs are not alike:**"));
    EXPECT_THAT(
        markdown(),
        HasSubstr("- `tests asked for: runner x --shim off on CPU; runner x | y on CUDA, MPS`\n"));
    const auto stored = file();
    EXPECT_EQ(stored["unlike"][1]["values"]["mps"], "runner x | y");
    EXPECT_EQ(stored["unlike"][1]["values"]["mps_strict"], nullptr);
}

}  // namespace
}  // namespace compat::reports::porting_samples
