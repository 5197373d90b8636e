// A night's summary, and that its file takes only settings that there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/config/settings_table.h"
#include "runner/nightly/night.h"
#include "suites/schema.h"

namespace compat::nightly {
namespace {

using testing::HasSubstr;
using testing::Not;

bool is_key(const std::string& key) {
    return std::any_of(config::kSettings.begin(), config::kSettings.end(),
                       [&](const auto& row) { return row.key == key; });
}

TEST(NightlySchema, TakesOnlySettings) {
    const auto schema =
        nlohmann::json::parse(suites::schema_text(suites::SchemaOf::nightly))["definitions"];
    for (const auto& [key, value] : schema["column"]["properties"].items())
        EXPECT_TRUE(key == "name" || key == "host" || is_key(key)) << key;
    for (const auto& [key, value] : schema["slurm"]["properties"].items())
        EXPECT_TRUE(is_key("slurm_" + key)) << key;
}

CellResult cell_of(const std::string& name, ExitCode code) {
    CellResult cell;
    cell.cell.name = name;
    cell.cell.column = "cpu";
    cell.begun = true;
    cell.run = name + "-run";
    cell.code = code;
    return cell;
}

TEST(NightSummary, GivesEachCellOneVerdict) {
    EXPECT_EQ(CellResult{}.verdict(), "not begun");
    EXPECT_EQ(cell_of("a", ExitCode::ok).verdict(), "as expected");
    CellResult flaky = cell_of("a", ExitCode::ok);
    flaky.flaky = 2;
    EXPECT_EQ(flaky.verdict(), "2 tests are flaky");
    CellResult broken = cell_of("a", ExitCode::unexpected_results);
    EXPECT_EQ(broken.verdict(), "unexpected results");
    broken.all_broken = 1;
    EXPECT_EQ(broken.verdict(), "1 test broke unexpectedly");
    CellResult refused = cell_of("a", ExitCode::usage);
    refused.run.clear();
    refused.problem = "no such suite folder";
    EXPECT_EQ(refused.verdict(), "did not run: no such suite folder");
    EXPECT_EQ(cell_of("a", ExitCode::unaccounted).verdict(), "test counts do not add up");
}

TEST(NightSummary, EscapesAndListsWhatIsNew) {
    Night night;
    night.cells.push_back(cell_of("a\x1b[31m", ExitCode::unexpected_results));
    UnexpectedTest test{"t\x1b::new", parsers::State::failed, site::BlameColumn{}, true, false};
    test.blame->first_bad = site::BlameRun{"bad-run", {}, "", ""};
    test.blame->last_good = site::BlameRun{"good-run", {}, "", ""};
    test.blame->changed = site::ChangedBetween{true, {{"packages.numpy", "1", "2"}}};
    night.cells[0].broken = {test,
                             {"t::old", parsers::State::failed, site::BlameColumn{}, false, false}};
    const std::string text = summary_text(night);
    EXPECT_THAT(text,
                HasSubstr("first bad bad-run, last good good-run; changed: packages.numpy 1 -> 2"));
    EXPECT_THAT(text, Not(HasSubstr("t::old")));
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    const auto json = nlohmann::json::parse(summary_json(night));
    EXPECT_EQ(json["cells"][0]["tests"].size(), 2u);
    EXPECT_EQ(json["cells"][0]["tests"][0]["changed"][0]["now"], "2");
    EXPECT_TRUE(json["finished"].is_null());
}

TEST(NightSummary, ListsAnEventOfSeveralColumnsOnce) {
    Night night;
    for (const char* column : {"cpu", "cuda", "mps"}) {
        CellResult& cell =
            night.cells.emplace_back(cell_of("planets", ExitCode::unexpected_results));
        cell.cell.column = column;
        UnexpectedTest test{"t::new", parsers::State::failed, site::BlameColumn{}, true, false};
        test.blame->first_bad = site::BlameRun{std::string(column) + "-run", {}, "", ""};
        cell.broken = {test};
    }
    night.cells[2].broken[0].id = "t::other";
    const std::string text = summary_text(night);
    EXPECT_THAT(text, HasSubstr("planets, cuda:\n  1 test and changes as in cpu\n"));
    EXPECT_THAT(text, HasSubstr("planets, mps:\n  t::other\n"));
}

}  // namespace
}  // namespace compat::nightly
