// Any bytes at all: the parsers return, throw nothing, keep their invariants, and what they return
// is UTF-8. Bounded, with fixed seeds; tests/fuzz looks further.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "tests/parsers/attempt_invariants.h"
#include "tests/parsers/golden_files.h"

namespace compat::parsers {
namespace {

using testing::broken_invariant;
using testing::Golden;

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

struct Bytes {
    std::string name;
    std::string text;
};

class Monsters : public ::testing::TestWithParam<Bytes> {};

// As every file of an attempt, in seconds, not in hours.
TEST_P(Monsters, AreReadInTime) {
    const std::string& text = GetParam().text;
    const auto begin = std::chrono::steady_clock::now();
    for (const char* framework : {"unittest", "pytest"})
        EXPECT_EQ(broken_invariant({text, text, text}, framework, "m.py",
                                   {ProcessEnd::Kind::exited, 0, {}}),
                  "");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

std::string repeated(std::string_view part, size_t times) {
    std::string out;
    out.reserve(part.size() * times);
    for (size_t i = 0; i < times; ++i) out += part;
    return out;
}

std::string noise(size_t size) {
    std::mt19937 random(1);
    std::string out(size, '\0');
    for (char& c : out) c = static_cast<char>(random());
    return out;
}

std::vector<Bytes> monsters() {
    constexpr size_t kMiB = 1 << 20;
    const std::string rule(70, '-');
    const std::string double_rule(70, '=');
    return {
        {"one_line_of_16_MiB", std::string(16 * kMiB, 'x')},
        {"NULs", std::string(kMiB, '\0')},
        {"noise", noise(kMiB)},
        {"newlines", std::string(kMiB, '\n')},
        {"brackets", std::string(16 * kMiB, '[')},
        {"nested_objects", repeated("{\"a\":", kMiB)},
        {"dots", repeated(" ... ", kMiB)},
        {"headers_on_one_line", repeated("test_a (m.A) ... ", 25'000)},
        {"headers", repeated("test_a (m.A.test_a) ... ok\n", 20'000)},
        {"headers_with_docstrings", repeated("test_a (m.A.test_a)\nDoc. ", 20'000)},
        {"rans", repeated("\nRan 1 test in 0.1s", 25'000)},
        {"closings", repeated(rule + "\nRan 1 test in 0.1s\n\nOK\n", 20'000)},
        {"sections", repeated(double_rule + "\nFAIL: t (m.A.t)\n" + rule + "\n", 20'000) + rule +
                         "\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n"},
        {"subtests",
         "test_a (m.A.test_a) ... \n" + repeated("  test_a (m.A.test_a) (i=1) ... FAIL\n", 5'000)},
        {"colons", repeated("::", kMiB)},
        {"node_without_end", "a.py::test[" + repeated(" PASSED (", 25'000)},
        {"nodes", repeated("a.py::test PASSED [ 1%]\n", 20'000)},
        {"escapes", repeated("\x1b[", kMiB)},
        {"places", "=== FAILURES ===\n___ t ___\n" + repeated("a:1:", kMiB)},
        {"headings", "=== FAILURES ===\n" + repeated("___ a b c d e f ___\n", 25'000)},
        {"heading_of_words", "=== FAILURES ===\n___" + repeated(" a", 20'000) + " ___\n"},
        {"crash_of_a_worker_over_lines",
         double_rule.substr(0, 26) + " test session starts " + double_rule.substr(0, 33) + "\n\n" +
             double_rule.substr(0, 35) + " FAILURES " + double_rule.substr(0, 35) + "\n" +
             std::string(38, '_') + " t " + std::string(39, '_') +
             "\n\nworker 'gw0' crashed while running 'a.py::t\nb'\n"},
        {"words_in_time", repeated(" in 0.1s\n", 25'000)},
        {"margins", "Traceback (most recent call last):\n" + repeated("  | ", 25'000)},
        {"groups", repeated("  + Exception Group Traceback (most recent call last):\n", 20'000)},
        {"a_case_for_each_line",
         [] {
             std::string out;
             for (int i = 0; i < 20'000; ++i)
                 out += "{\"event\":\"end\",\"pid\":1,\"id\":\"" + std::to_string(i) + "\"}\n";
             return out;
         }()},
    };
}

INSTANTIATE_TEST_SUITE_P(All, Monsters, ::testing::ValuesIn(monsters()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace compat::parsers
