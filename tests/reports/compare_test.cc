#include "reports/compare/compare.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "runner/base/files.h"
#include "tests/paths.h"

namespace compat::reports {
namespace {

using parsers::Cause;
using parsers::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

ChangedTest changed(std::string id, ChangeClass change, std::string signature, std::string why) {
    ChangedTest test;
    test.id = std::move(id);
    test.change = change;
    test.baseline = State::passed;
    test.run = State::failed;
    test.cause = Cause::tolerance;
    test.signature = std::move(signature);
    test.why = std::move(why);
    test.log = "modules/a/1.log";
    return test;
}

class Compare : public testing::Test {
  protected:
    Compare() {
        view.baseline = {
            "old", "s|`x`", "2026-01-01T00:00:00Z", "2.1", "device cpu", "abc", true, 2, 9, {}};
        view.chosen = "the latest complete run before it that is comparable";
        view.fail_on = {ChangeClass::regressed};
        Comparison& c = view.columns.emplace_back();
        c.run = {"new", "s|`x`", "2026-01-02T00:00:00Z", "2.2", "device cpu", "", false, 1, 8, {}};
        c.environment = {{"packages.numpy", "1.0", std::nullopt}};
        c.drops = {{"module", 2, 1, 0}};
        c.noise_runs = 3;
        c.noisy_tests = 1;
        c.tests = {changed("m::c", ChangeClass::regressed, "sig 2", "one | <b>\nmore"),
                   changed("m::b", ChangeClass::regressed, "sig 1", "value 7"),
                   changed("m::a", ChangeClass::regressed, "sig 1", "value 8"),
                   changed("m::d", ChangeClass::gone, "", "its module is not there"),
                   changed("m::e", ChangeClass::new_passing, "", ""),
                   changed("m::f", ChangeClass::fixed, "sig 1", "value 9")};
        for (const auto& test : c.tests) ++c.counts[static_cast<std::size_t>(test.change)];
        c.counts[static_cast<std::size_t>(ChangeClass::unchanged)] = 4;
        group_tests(c);
    }
    static std::string errors_of(const nlohmann::json& written) {
        const auto document = nlohmann::json::parse(*read_file(
            std::filesystem::path(COMPAT_SOURCE_DIR) / "reports/schemas/compare.schema.json"));
        valijson::Schema schema;
        valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(document),
                                                schema);
        valijson::ValidationResults results;
        valijson::Validator validator;
        std::string text;
        if (validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(written), &results))
            return text;
        for (const auto& error : results) text += error.description + "\n";
        return text;
    }
    nlohmann::json file() const { return nlohmann::json::parse(compare_json(view)); }

    CompareView view;
};

TEST_F(Compare, OneSignatureIsOneGroup) {
    const auto& groups = view.columns[0].groups;
    ASSERT_THAT(groups, SizeIs(5));
    EXPECT_EQ(groups[0].title, "value 8");  // of the first test by id
    EXPECT_THAT(groups[0].tests, ElementsAre(0, 1));
    EXPECT_EQ(groups[1].change, ChangeClass::regressed);
    EXPECT_EQ(groups[2].change, ChangeClass::gone);
    EXPECT_EQ(groups[3].change, ChangeClass::fixed) << "the same signature, in another class";
    EXPECT_EQ(groups[4].title, "is good; was not collected");
    for (std::size_t i = 0; i < groups.size(); ++i)
        for (const std::size_t test : groups[i].tests)
            EXPECT_EQ(view.columns[0].tests[test].group, i);
}

TEST_F(Compare, TheFileMatchesItsSchema) {
    const nlohmann::json written = file();
    EXPECT_EQ(errors_of(written), "");
    for (const char* where : {"", "/comparisons/0", "/comparisons/0/run", "/comparisons/0/tests/0",
                              "/comparisons/0/groups/0", "/comparisons/0/drops/0",
                              "/comparisons/0/environment/0", "/comparisons/0/noise"}) {
        const nlohmann::json::json_pointer place(where);
        for (const auto& [key, value] : written[place].items()) {
            nlohmann::json without = written;
            without[place].erase(key);
            EXPECT_NE(errors_of(without), "") << where << " " << key;
        }
    }
    // Every class may be written.
    for (const auto& row : analysis::kChangeClasses) {
        nlohmann::json other = written;
        other["comparisons"][0]["tests"][0]["class"] = row.name;
        EXPECT_EQ(errors_of(other), "") << row.name;
    }
    nlohmann::json wrong = written;
    wrong["comparisons"][0]["tests"][0]["class"] = "worse";
    EXPECT_NE(errors_of(wrong), "");
}

TEST_F(Compare, FailsIfANamedClassHasATest) {
    EXPECT_TRUE(view.fails());
    EXPECT_TRUE(file()["fails"]);
    view.fail_on = {ChangeClass::new_failing, ChangeClass::spurious};
    EXPECT_FALSE(view.fails());
    view.fail_on = {};
    EXPECT_FALSE(view.fails());
    EXPECT_THAT(compare_text(view, 3), Not(HasSubstr("--fail-on")));
}

TEST_F(Compare, TextListsSomeTestsOfEachCause) {
    const std::string text = compare_text(view, 1);
    EXPECT_THAT(text, HasSubstr("regressed: 3 tests, 2 causes (was good, breaks now)\n"
                                "    2 tests  tolerance: value 8\n"
                                "        m::a  passed → failed\n"
                                "        and 1 more\n"
                                "    1 test  tolerance: one | <b>\n"));
    EXPECT_THAT(text, HasSubstr("packages.numpy: 1.0 → none\n"
                                "warning: 1 module fewer than the baseline's 2; past runs differ "
                                "by 0\n"));
    EXPECT_THAT(text, HasSubstr("before: tolerance: value 9"));
    EXPECT_THAT(text,
                HasSubstr("noise: the result of 1 test changed in 3 runs that differ in nothing"));
    EXPECT_THAT(text, HasSubstr("\n3 regressed, 1 gone, 1 fixed, 1 new_passing, 4 unchanged\n"));
    EXPECT_THAT(text, HasSubstr("new  started 2026-01-02T00:00:00Z  torch 2.2  not complete"));
}

TEST_F(Compare, SeveralRunsStandSideBySide) {
    Comparison second = view.columns[0];
    second.run.id = "newer";
    second.run.way = "device mps";
    second.counts.fill(0);
    second.counts[static_cast<std::size_t>(ChangeClass::flaky)] = 12;
    view.columns.push_back(second);
    const std::string text = compare_text(view, 1);
    EXPECT_THAT(text, HasSubstr("[1] device cpu\n[2] device mps\n"));
    EXPECT_THAT(text, HasSubstr("\nregressed                       3        0\n"));
    EXPECT_THAT(text, HasSubstr("\nflaky                           0       12\n"));
    EXPECT_THAT(text, Not(HasSubstr("\nnewly_run  ")));
    const std::string page = compare_markdown(view, 1 << 20);
    EXPECT_THAT(page, HasSubstr("| class | `device cpu` | `device mps` | means |"));
    EXPECT_THAT(page, HasSubstr("| `regressed` | 3 | 0 | was good, breaks now |"));
    view.columns[1].run.way = "device cpu";
    EXPECT_THAT(compare_text(view, 1), HasSubstr("[1] new\n[2] newer\n"));
}

TEST_F(Compare, ThePageEscapesWhatTestsSay) {
    const std::string page = compare_markdown(view, 1 << 20);
    EXPECT_THAT(page, HasSubstr("# `` s|`x` ``, compared"));
    EXPECT_THAT(page, HasSubstr("<summary>1 test: tolerance: one | &lt;b&gt;</summary>"));
    EXPECT_THAT(page, HasSubstr("| `packages.numpy` | `1.0` | none |"));
    EXPECT_THAT(page, HasSubstr("| `regressed` | 3 | was good, breaks now |"));
    EXPECT_THAT(page, Not(HasSubstr("left out")));
}

TEST_F(Compare, ThePageStaysWithinItsSize) {
    Comparison& c = view.columns[0];
    for (int i = 0; i < 500; ++i)
        c.tests.push_back(
            changed(fmt::format("n::{}", i), ChangeClass::gone, "", fmt::format("cause {}", i)));
    group_tests(c);
    const std::string page = compare_markdown(view, 10'000);
    EXPECT_LT(page.size(), 10'200u);
    EXPECT_THAT(page, HasSubstr("causes left out for the page's size: `--format json` has all."));
    EXPECT_THAT(page, HasSubstr("tolerance: value 8")) << "regressions come first";
}

}  // namespace
}  // namespace compat::reports
