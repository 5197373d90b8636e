// The file nightly.json: its cells, and what is refused and where.
#include "suites/nightly.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "suites/schema.h"

namespace compat::suites {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(NightlyFile, MakesACellOfEachSuiteColumnAndTorch) {
    const auto nightly = parse_nightly(R"json({
      // Comments are allowed.
      "format": 1, "results": "../r", "torch": ["2.13.0", "2.15.0"], "isolation": "tree",
      "shards": {"target": "10m"}, "keep": {"days": 9}, "notify": ["./tell", "us"],
      "suites": [{"suite": "gpytorch", "targets": ["a", "b"], "root": "g", "options": ["-p", "x"]},
                 {"suite": "suites/einops", "name": "e", "columns": ["gpu"]}],
      "columns": [{"name": "mps 15 (simulated)", "simulate": "mps", "macos": "15", "fallback": false,
                   "jobs": 2, "isolation": "off"},
                  {"name": "gpu", "host": {"slurm": {"gres": "gpu:1", "setup": "s.sh"}}}]
})json",
                                       "/n/nightly.json");
    ASSERT_TRUE(nightly) << to_line(nightly.error());
    EXPECT_EQ(nightly->results, "/r");
    EXPECT_EQ(nightly->site, "");
    EXPECT_EQ(nightly->keep_days, 9);
    EXPECT_FALSE(nightly->keep_runs);
    EXPECT_THAT(nightly->notify, ElementsAre("./tell", "us"));
    std::vector<std::string> series;
    for (const auto& cell : nightly->cells) series.push_back(cell.series);
    EXPECT_THAT(series, ElementsAre("gpytorch-mps-15-simulated-torch-2.13.0",
                                    "gpytorch-mps-15-simulated-torch-2.15.0",
                                    "gpytorch-gpu-torch-2.13.0", "gpytorch-gpu-torch-2.15.0",
                                    "e-gpu-torch-2.13.0", "e-gpu-torch-2.15.0"));
    const NightlyCell& mps = nightly->cells[0];
    EXPECT_EQ(mps.suite, "gpytorch");
    EXPECT_THAT(mps.targets, ElementsAre("a", "b"));
    EXPECT_THAT(mps.options, ElementsAre("-p", "x"));
    EXPECT_THAT(mps.settings, UnorderedElementsAre(Pair("simulate", "mps"), Pair("macos", "15"),
                                                   Pair("fallback", "off"), Pair("jobs", "2"),
                                                   Pair("isolation", "off"), Pair("root", "/n/g"),
                                                   Pair("torch_requirement", "torch==2.13.0")));
    EXPECT_THAT(nightly->cells[5].settings,
                UnorderedElementsAre(Pair("on", "slurm"), Pair("slurm_gres", "gpu:1"),
                                     Pair("slurm_setup", "/n/s.sh"), Pair("isolation", "tree"),
                                     Pair("slurm_target_time", "10m"),
                                     Pair("torch_requirement", "torch==2.15.0")));
}

TEST(NightlyFile, ResolvesTheNewestTorchInPlaceOfAListedVersion) {
    const std::string text = R"json({"format": 1, "torch": ["2.14.1", "newest", "2.15.0"],
      "suites": [{"suite": "a"}], "columns": [{"name": "c"}]})json";
    const auto torches = [](const Nightly& nightly) {
        std::vector<std::string> titles;
        for (const auto& cell : nightly.cells) titles.push_back(cell.title());
        return titles;
    };
    auto nightly = parse_nightly(text, "/n/nightly.json");
    ASSERT_TRUE(nightly) << to_line(nightly.error());
    EXPECT_TRUE(asks_for_newest_torch(*nightly));
    EXPECT_THAT(torches(*nightly),
                ElementsAre("c, torch 2.14.1", "c, torch newest", "c, torch 2.15.0"));
    EXPECT_EQ(nightly->cells[1].series, "a-c-torch-newest");
    EXPECT_THAT(nightly->cells[1].settings, testing::IsEmpty()) << "nobody knows it yet";

    Nightly later = *nightly;
    EXPECT_EQ(set_newest_torch(later, "2.16.0+cpu"), "");
    EXPECT_THAT(torches(later),
                ElementsAre("c, torch 2.14.1", "c, torch newest (2.16.0+cpu)", "c, torch 2.15.0"));
    EXPECT_EQ(later.cells[1].settings.at("torch_requirement"), "torch==2.16.0+cpu");
    EXPECT_EQ(set_newest_torch(*nightly, "2.15.0"), "2.15.0");
    EXPECT_THAT(torches(*nightly), ElementsAre("c, torch 2.14.1", "c, torch newest (2.15.0)"));
    EXPECT_EQ(nightly->cells[1].series, "a-c-torch-newest");
}

TEST(NightlyFile, RefusesWithPlaceAndAdvice) {
    const auto file = [](std::string_view suites, std::string_view columns,
                         std::string_view more = "") {
        return std::string(R"({"format": 1, "suites": [)") + std::string(suites) +
               "],\n\"columns\": [" + std::string(columns) + "]" + std::string(more) + "}";
    };
    struct Row {
        std::string text, error;
    };
    const std::vector<Row> table{
        {"{", "n.json:1:2: not JSON"},
        {"{\"format\": 7}", "n.json:1:12: format 7 is newer than this runner supports (format 1)"},
        {R"({"format": 1, "suites": [{"suite": "a"}]})", "\"columns\" is missing"},
        {file("", R"({"name": "c"})"), "n.json:1:25: "},
        {file(R"({"suite": "a"})", R"({"name": "c", "simulat": "mps"})"),
         "n.json:2:27: unknown key \"simulat\"; did you mean \"simulate\"?"},
        {file(R"({"suite": "a"})", R"({"name": "c", "simulate": "mpx"})"),
         "n.json:2:39: \"mpx\": expected one of \"off\", \"mps\", \"cuda\""},
        {file(R"({"suite": "a"})", R"({"name": "c", "timeout": "soon"})"),
         "\"soon\": expected a duration such as"},
        {file(R"({"suite": "a", "columns": ["cudaa"]})", R"({"name": "cuda"})"),
         "n.json:1:53: no column is named \"cudaa\": did you mean \"cuda\"?"},
        {file(R"({"suite": "a"}, {"suite": "x/a"})", R"({"name": "c"})"),
         "n.json:1:42: \"a, c\" and \"x/a, c\" both make the series a-c: give this suite a "
         "\"name\""},
        {file(R"({"suite": "a"})", R"json({"name": "c"}, {"name": "(c)"})json"),
         "both make the series a-c"},
        {file(R"({"suite": "a", "python": "p"})", R"({"name": "c"})", ", \"torch\": [\"2.1.0\"]"),
         "n.json:1:41: \"python\" names an environment, whose torch is what it is: remove it"},
        {file(R"({"suite": "a"})", R"({"name": "c"})", ", \"torch\": [\"new\"]"),
         "\"new\": expected \"newest\", or a version of torch"},
        {file(R"({"suite": "a"})", R"({"name": "c"})", ", \"shards\": 0"),
         "0: expected a number of shards"},
        {file(R"({"suite": "a"})", R"({"name": "c"})", ", \"keep\": {\"runs\": 0}"),
         "0: expected a number of runs"},
        {file(R"({"suite": "a"})", R"({"name": "c", "host": {}})"), "\"slurm\" is missing"},
    };
    for (const Row& row : table) {
        const auto refused = parse_nightly(row.text, "n.json");
        ASSERT_FALSE(refused) << row.text;
        EXPECT_EQ(refused.error().kind, ErrorKind::suite);
        EXPECT_THAT(to_line(refused.error()), HasSubstr(row.error)) << row.text;
    }
}

}  // namespace
}  // namespace compat::suites
