// Any bytes at all: the parsers return, throw nothing, keep their invariants, and what they return
// is UTF-8. Bounded, with fixed seeds; tests/fuzz looks further.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/parsers/attempt_invariants.h"
#include "tests/parsers/golden_files.h"
#include "tests/parsers/monsters.h"

namespace compat::parsers::hostile_test {
namespace {

using testing::broken_invariant;
using testing::filled;
using testing::Golden;
using testing::Monster;
using testing::nested;

// The richest modules, of the oldest and the newest form of each framework's text.
std::vector<Golden> rich_goldens() {
    std::vector<Golden> out;
    for (const char* framework : {"unittest", "pytest"})
        for (Golden& golden : testing::goldens(framework)) {
            const bool versions = golden.version == "3.9.18" || golden.version == "3.13.0" ||
                                  golden.version == "9.0.3";
            const bool modules = golden.module == "test_states.py" ||
                                 golden.module == "test_subtests.py" ||
                                 golden.module == "test_crash.py";
            if (versions && modules) out.push_back(std::move(golden));
        }
    return out;
}

// The seed tells each golden's mutations from the next one's, and repeats them.
class Hostile : public ::testing::TestWithParam<Golden> {};

TEST_P(Hostile, CutAnywhere) {
    const Golden& golden = GetParam();
    const std::string events = golden.read(".events.jsonl");
    const std::string log = golden.read(".harness.log");
    for (size_t cut = 0; cut < events.size(); cut += 1 + cut / 47)
        ASSERT_EQ(broken_invariant({std::string_view(events).substr(0, cut), "", ""},
                                   golden.framework, golden.module, golden.end()),
                  "")
            << "events cut at " << cut;
    for (size_t cut = 0; cut < log.size(); cut += 1 + cut / 47)
        ASSERT_EQ(broken_invariant({"", std::string_view(log).substr(0, cut), ""}, golden.framework,
                                   golden.module, golden.end()),
                  "")
            << "log cut at " << cut;
}

TEST_P(Hostile, Mutated) {
    const Golden& golden = GetParam();
    std::mt19937 random(static_cast<unsigned>(std::hash<std::string>{}(golden.stem.filename())));
    const std::string sources[] = {golden.read(".events.jsonl"), golden.read(".harness.log")};
    for (int round = 0; round < 40; ++round) {
        std::string files[2];
        for (int which = 0; which < 2; ++which) {
            std::string& bytes = files[which] = sources[which];
            for (int change = 0; change < 1 + round % 20 && !bytes.empty(); ++change) {
                const size_t at = random() % bytes.size();
                const size_t length = std::min<size_t>(random() % 40, bytes.size() - at);
                switch (random() % 4) {
                    case 0:
                        bytes[at] = static_cast<char>(random());
                        break;
                    case 1:
                        bytes.erase(at, length);
                        break;
                    case 2:
                        bytes.insert(at, bytes.substr(random() % bytes.size(), 40));
                        break;
                    default:
                        bytes.insert(at, std::string(length, static_cast<char>(random())));
                }
            }
        }
        ASSERT_EQ(broken_invariant({files[0], files[1], files[0]}, golden.framework, golden.module,
                                   golden.end()),
                  "")
            << "round " << round;
        ASSERT_EQ(
            broken_invariant({"", files[1], ""}, golden.framework, golden.module, golden.end()), "")
            << "text of round " << round;
    }
}

INSTANTIATE_TEST_SUITE_P(Real, Hostile, ::testing::ValuesIn(rich_goldens()), [](const auto& row) {
    return row.param.framework + "_" + testing::golden_name(row);
});

class Monsters : public ::testing::TestWithParam<Monster> {};

// As every file of an attempt.
TEST_P(Monsters, AreReadInProportionToTheirSize) {
    testing::expect_read_in_proportion(GetParam(), [](std::string_view text) {
        std::string broken;
        for (const char* framework : {"unittest", "pytest"})
            broken += broken_invariant({text, text, text}, framework, "m.py",
                                       {ProcessEnd::Kind::exited, 0, {}});
        return broken;
    });
}

const std::string kRule(70, '-');
const std::string kDouble(70, '=');

std::vector<Monster> monsters() {
    return {
        {"one_line", [](size_t size) { return std::string(size, 'y'); }},
        {"NULs", [](size_t size) { return std::string(size, '\0'); }},
        {"noise", [](size_t size) { return testing::noise(size); }},
        {"newlines", [](size_t size) { return std::string(size, '\n'); }},
        {"brackets", [](size_t size) { return std::string(size, '['); }},
        {"nested_objects", [](size_t size) { return nested("{\"a\":", size); }},
        {"dots", [](size_t size) { return filled(" ... ", size); }},
        {"headers_on_one_line", [](size_t size) { return filled("test_a (m.A) ... ", size); }},
        {"headers", [](size_t size) { return filled("test_a (m.A.test_a) ... ok\n", size); }},
        {"headers_with_docstrings",
         [](size_t size) { return filled("test_a (m.A.test_a)\nDoc. ", size); }},
        {"rans", [](size_t size) { return filled("\nRan 1 test in 0.1s", size); }},
        {"closings",
         [](size_t size) { return filled(kRule + "\nRan 1 test in 0.1s\n\nOK\n", size); }},
        {"sections",
         [](size_t size) {
             return filled(kDouble + "\nFAIL: t (m.A.t)\n" + kRule + "\n", size) + kRule +
                    "\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n";
         }},
        {"subtests",
         [](size_t size) {
             return "test_a (m.A.test_a) ... \n" +
                    filled("  test_a (m.A.test_a) (i=1) ... FAIL\n", size);
         }},
        {"colons", [](size_t size) { return filled("::", size); }},
        {"node_without_end", [](size_t size) { return "a.py::test[" + filled(" PASSED (", size); }},
        {"nodes", [](size_t size) { return filled("a.py::test PASSED [ 1%]\n", size); }},
        {"escapes", [](size_t size) { return filled("\x1b[", size); }},
        {"places",
         [](size_t size) { return "=== FAILURES ===\n___ t ___\n" + filled("a:1:", size); }},
        {"headings",
         [](size_t size) { return "=== FAILURES ===\n" + filled("___ a b c d e f ___\n", size); }},
        {"heading_of_words",
         [](size_t size) { return "=== FAILURES ===\n___" + filled(" a", size) + " ___\n"; }},
        {"crash_of_a_worker_over_lines",
         [](size_t) {
             return kDouble.substr(0, 26) + " test session starts " + kDouble.substr(0, 33) +
                    "\n\n" + kDouble.substr(0, 35) + " FAILURES " + kDouble.substr(0, 35) + "\n" +
                    std::string(38, '_') + " t " + std::string(39, '_') +
                    "\n\nworker 'gw0' crashed while running 'a.py::t\nb'\n";
         }},
        {"words_in_time", [](size_t size) { return filled(" in 0.1s\n", size); }},
        {"margins",
         [](size_t size) { return "Traceback (most recent call last):\n" + filled("  | ", size); }},
        {"groups",
         [](size_t size) {
             return filled("  + Exception Group Traceback (most recent call last):\n", size);
         }},
        {"a_case_for_each_line",
         [](size_t size) {
             return testing::numbered("{\"event\":\"end\",\"pid\":1,\"id\":\"%\"}\n", size);
         }},
    };
}

INSTANTIATE_TEST_SUITE_P(All, Monsters, ::testing::ValuesIn(monsters()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace compat::parsers::hostile_test
