// The rules' own examples, what decides between rules, and text that is nobody's.
#include "parsers/diagnosis/diagnose.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "parsers/diagnosis/traceback.h"
#include "rules_json.h"
#include "tests/paths.h"
#include "tests/support/failures.h"

namespace compat::parsers::diagnose_test {
namespace {

Failure failure_of(std::string type, std::string message) {
    Failure failure;
    failure.type = std::move(type);
    failure.message = std::move(message);
    return failure;
}

TEST(Rules, AreWellFormed) {
    const auto rules = Rules::parse(R"({"rules": []})");
    ASSERT_TRUE(rules);
    EXPECT_EQ(rules->diagnose({}, State::failed).cause, Cause::unknown);
    const auto shipped = Rules::parse(kRulesJson);
    ASSERT_TRUE(shipped) << to_line(shipped.error());
    std::set<std::string> ids;
    for (const Rule& rule : Rules::shipped().all()) {
        EXPECT_TRUE(ids.insert(rule.id).second) << rule.id << " twice";
        EXPECT_FALSE(rule.meaning.empty()) << rule.id;
        EXPECT_NE(rule.cause, Cause::unknown) << rule.id;
        EXPECT_TRUE(!rule.text.empty() || !rule.at.empty() || !rule.states.empty() ||
                    !rule.generated_instead_of.empty())
            << rule.id;
    }
}

// The one in which the rule may hold.
Isolation isolation_of(const Rule& rule) {
    return {!rule.isolation.empty(), rule.isolation != "no-network"};
}

TEST(Rules, OfASandboxHoldInOneAlone) {
    const auto rule_of = [](const Failure& failure, const Isolation& isolation) {
        return Rules::shipped().diagnose(failure, State::errored, isolation).rule;
    };
    const Failure written = failure_of("OSError", "[Errno 30] Read-only file system: '/etc/x'");
    EXPECT_EQ(rule_of(written, {true, true}), "sandbox-read-only");
    EXPECT_EQ(rule_of(written, {}), "child-failed");
    const Failure refused = failure_of("OSError", "[Errno 101] Network is unreachable");
    EXPECT_EQ(rule_of(refused, {true, false}), "sandbox-no-network");
    EXPECT_EQ(rule_of(refused, {true, true}), "network") << "it has one";
    EXPECT_EQ(rule_of(refused, {}), "network");
    const auto missing = [&](const char* file) {
        return rule_of(
            failure_of("FileNotFoundError",
                       std::string("[Errno 2] No such file or directory: '") + file + "'"),
            {true, true});
    };
    EXPECT_EQ(missing("/tmp/data/train.csv"), "sandbox-missing");
    EXPECT_NE(missing("/tmp/pytest-of-me/pytest-0/x"), "sandbox-missing") << "the test's own";
    EXPECT_NE(missing("/tmp/tmpa1b2c3d4/x"), "sandbox-missing") << "the test's own";
    EXPECT_NE(missing("/data/train.csv"), "sandbox-missing");
    EXPECT_FALSE(Rules::parse(R"({"rules": [{"id": "x", "cause": "hub", "confidence": "low",
        "isolation": "box", "meaning": "m", "text": "t", "examples": [{"type": "t"}]}]})"));
}

TEST(Rules, EachDecidesItsExamples) {
    for (const Rule& rule : Rules::shipped().all())
        for (const auto& example : rule.examples) {
            const Diagnosis diagnosis =
                Rules::shipped().diagnose(example.failure, example.state, isolation_of(rule),
                                          !rule.generated_instead_of.empty());
            EXPECT_EQ(diagnosis.rule, rule.id) << example.failure.message;
            EXPECT_EQ(diagnosis.cause, rule.cause);
            EXPECT_EQ(diagnosis.error_class, rule.error_class);
            EXPECT_EQ(diagnosis.confidence, rule.confidence);
        }
}

TEST(Rules, OfGeneratedThingsTakeThePlaceOfComparisonsAlone) {
    int of_generated = 0;
    for (const Rule& rule : Rules::shipped().all()) {
        const auto without = Rules::shipped().cause_without_generated(rule.id);
        EXPECT_EQ(!without, rule.generated_instead_of.empty()) << rule.id;
        of_generated += without.has_value();
        for (const std::string& instead_of : rule.generated_instead_of) {
            const Rule* other = Rules::shipped().find(instead_of);
            ASSERT_NE(other, nullptr) << rule.id << " instead of " << instead_of;
            EXPECT_EQ(other->cause, without) << instead_of;
        }
        for (const auto& example : rule.examples)
            if (without)
                EXPECT_EQ(Rules::shipped().diagnose(example.failure, example.state).cause, without)
                    << "nothing generated: " << example.failure.message;
    }
    EXPECT_EQ(of_generated, 2);
}

// A count of calls or a line of a log is no number of a model's, however little the message shows.
TEST(Rules, BlameGeneratedValuesForValuesAlone) {
    struct Row {
        const char *message, *statement;
        bool blames;
    };
    constexpr Row kRows[] = {
        {"0 != 1", "self.assertEqual(counter[\"HEAD\"], 1)", false},
        {"0 != 1", "self.assertEqual(len(calls), 1)", false},
        {"2 != 1", "self.assertEqual(mock.call_count, 1)", false},
        {"'Both' unexpectedly found in 'a warning'", "self.assertNotIn(message, cl.out)", false},
        {"False is not true", "self.assertTrue(os.path.isfile(path))", false},
        {"unexpectedly None", "self.assertIsNotNone(model.config)", false},
        {"935 != 281", "self.assertEqual(logits.argmax(-1).item(), 281)", true},
        {"5 != 6", "self.assertEqual(prediction, 6)", true},
        {"1.5 != 2.5", "self.assertEqual(x, 2.5)", true},
        {"'a the of' != 'My name'", "self.assertEqual(x, 'My name')", true},
        {"Lists differ: [1] != [2]", "self.assertEqual(x, [2])", true},
    };
    for (const Row& row : kRows) {
        Failure failure;
        failure.type = "AssertionError";
        failure.message = row.message;
        failure.traceback = std::string("Traceback (most recent call last):\n"
                                        "  File \"/x/tests/test_a.py\", line 9, in test\n    ") +
                            row.statement + "\nAssertionError: " + row.message + "\n";
        const auto cause = Rules::shipped().diagnose(failure, State::failed, {}, true).cause;
        EXPECT_EQ(cause == Cause::hub, row.blames) << row.message << ": " << row.statement;
    }
}

// Messages of other causes that resemble a rule's. Alone, without the rules before it, the rule
// must not match them; all rules together find the cause.
TEST(Rules, LeaveLookalikesAlone) {
    std::map<std::string, Rules> alone;
    const auto file = nlohmann::json::parse(kRulesJson, nullptr, true, true);
    for (const auto& entry : file["rules"])
        alone.emplace(entry["id"], Rules::parse(nlohmann::json{{"rules", {entry}}}.dump()).value());
    const std::string path = COMPAT_SOURCE_DIR "/tests/parsers/rule_lookalikes.jsonl";
    std::map<std::string, int> lookalikes;
    for (const test::Sample& sample : test::read_failures(path)) {
        ++lookalikes[sample.not_rule];
        const auto rule = alone.find(sample.not_rule);
        ASSERT_NE(rule, alone.end()) << sample.not_rule;
        const auto isolation = isolation_of(rule->second.all().front());
        EXPECT_EQ(rule->second.diagnose(sample.failure, sample.state, isolation).rule, "")
            << sample.failure.first_line();
        // Failures of other kinds keep their cause, whatever was generated.
        const bool generated = !rule->second.all().front().generated_instead_of.empty();
        const Diagnosis diagnosis =
            Rules::shipped().diagnose(sample.failure, sample.state, {}, generated);
        EXPECT_TRUE(sample.agrees(diagnosis.cause))
            << diagnosis.rule << ": " << sample.failure.first_line();
    }
    for (const auto& [id, rule] : alone) EXPECT_GE(lookalikes[id], 3) << id;
}

// What only real devices print, with a reader's cause: wherever its traceback ends.
TEST(Rules, KnowWhatDevicesPrint) {
    const Frame suite{"/w/tests/test_a.py", 3, "test"};
    const Frame torch{"/v/lib/python3.13/site-packages/torch/nn/functional.py", 9, "f"};
    std::ifstream in(COMPAT_SOURCE_DIR "/tests/parsers/device_texts.jsonl");
    std::set<std::string> texts;
    for (std::string line; std::getline(in, line);) {
        const auto row = nlohmann::json::parse(line);
        const std::string text = row["text"];
        EXPECT_TRUE(texts.insert(text).second) << text << " twice";
        const size_t type = text.find(": ");
        Failure failure = failure_of(text.substr(0, type), text.substr(type + 2));
        for (const auto& frames : {std::vector<Frame>{}, {suite}, {suite, torch}}) {
            failure.frames = frames;
            const Diagnosis diagnosis = Rules::shipped().diagnose(failure, State::errored);
            EXPECT_EQ(name_of(diagnosis.cause), row["cause"]) << diagnosis.rule << ": " << text;
            EXPECT_NE(diagnosis.cause, Cause::suite_error);
        }
        const Failure parsed = parse_traceback(
            "Traceback (most recent call last):\n  File \"/w/tests/test_a.py\", line 3, in test\n"
            "    run(x)\n" +
            text + "\n");
        EXPECT_EQ(name_of(Rules::shipped().diagnose(parsed, State::failed).cause), row["cause"]);
    }
    EXPECT_GE(texts.size(), 150U);
}

TEST(Rules, NameWhatIsWrongWithThem) {
    const auto error_of = [](const char* json) { return Rules::parse(json).error(); };
    EXPECT_EQ(error_of(R"({"rules": [{"id": "a", "cause": "bad luck"}]})").where, "a");
    EXPECT_NE(error_of(R"({"rules": [{"id": "b", "cause": "hub", "confidence": "high", "text": "(",
                          "meaning": "x", "examples": [{"message": "x"}]}]})")
                  .message.find("missing"),
              std::string::npos);
    EXPECT_FALSE(Rules::parse("nothing"));
}

constexpr const char* kThree = R"({"rules": [
    {"id": "special", "cause": "hub", "confidence": "high", "text": "network", "meaning": "m",
     "examples": [{"message": "network"}]},
    {"id": "there", "cause": "torch_core", "confidence": "medium", "text": "^TypeError", "at": "^torch:",
     "meaning": "m", "examples": [{"message": "x"}]},
    {"id": "general", "cause": "suite_assertion", "confidence": "medium", "text": "^AssertionError",
     "last_resort": true, "meaning": "m", "examples": [{"message": "x"}]}]})";

TEST(Diagnosis, TheFirstRuleThatHoldsDecides) {
    const auto rules = Rules::parse(kThree).value();
    EXPECT_EQ(rules.diagnose(failure_of("AssertionError", "no network here"), State::failed).rule,
              "special");
    EXPECT_EQ(rules.diagnose(failure_of("AssertionError", "1 != 2"), State::failed).rule,
              "general");
    EXPECT_EQ(rules.diagnose(failure_of("KeyError", "'x'"), State::errored).rule, "");
}

TEST(Diagnosis, ARuleOfAPlaceWantsItsFrame) {
    const auto rules = Rules::parse(kThree).value();
    Failure failure = failure_of("TypeError", "x");
    failure.frames = {{"/x/tests/test_a.py", 1, "test"}};
    EXPECT_EQ(rules.diagnose(failure, State::errored).cause, Cause::unknown);
    failure.frames.push_back({"/x/site-packages/torch/nn/functional.py", 1, "linear"});
    EXPECT_EQ(rules.diagnose(failure, State::errored).rule, "there");
}

TEST(Diagnosis, AChainedExceptionTellsMoreThanARuleOfLastResort) {
    const Failure failure = parse_traceback(
        "Traceback (most recent call last):\n"
        "  File \"/x/a.py\", line 1, in f\n"
        "    g()\n"
        "OSError: no network: Errno -2\n"
        "\n"
        "The above exception was the direct cause of the following exception:\n"
        "\n"
        "Traceback (most recent call last):\n"
        "  File \"/x/b.py\", line 2, in test\n"
        "    f()\n"
        "AssertionError: it did not work\n");
    const auto rules = Rules::parse(kThree).value();
    const Diagnosis diagnosis = rules.diagnose(failure, State::failed);
    EXPECT_EQ(diagnosis.rule, "special");
    EXPECT_EQ(diagnosis.confidence, Confidence::medium);
    EXPECT_EQ(diagnosis.key_line, "OSError: no network: Errno -2");
}

TEST(Diagnosis, AStatementThatAsksForADeviceTellsFromOneThatNamesIt) {
    const auto cause_of = [](std::string statement) {
        Failure failure = failure_of("AssertionError", "False is not true");
        failure.traceback =
            "Traceback (most recent call last):\n"
            "  File \"/x/tests/test_a.py\", line 3, in test\n    " +
            statement + "\nAssertionError: False is not true\n";
        return Rules::shipped().diagnose(failure, State::failed).cause;
    };
    for (const char* asks :
         {"self.assertTrue(x.is_cuda)", "self.assertFalse(layers[0].weight.is_cpu, 'moved')",
          "self.assertTrue(x.device == torch.device('cuda'))", "self.assertEqual(True, y.is_mps)",
          "assert x.is_cuda and y.is_cuda, 'both'", "self.assertEqual(0, f(x).get_device())",
          "self.assertTrue(\n        x.device.type in ('cuda',))",
          "self.assertTrue(str(x.device).startswith('cuda'))", "tc.assertIs(x.is_meta, False)",
          "def test(self): self.assertTrue(f().is_cuda)",
          "async def test(self) -> None: self.assertTrue(f().is_cuda)",
          "with self.subTest(i=i): self.assertTrue(x.is_cuda)",
          "self.assertEqual(kernel.device, torch.device('cpu'))"})
        EXPECT_EQ(cause_of(asks), Cause::device_assertion) << asks;
    for (const char* names :
         {"self.assertTrue(torch.allclose(a, b, atol=1e-3 if a.is_cuda else 1e-6))",
          "self.check(x.is_cuda)", "self.assertTrue(ok)  # is_cuda",
          "self.assertTrue(is_cuda_used)", "with self.assertRaises(ValueError): f(x.is_cuda)",
          "self.assertTrue(x.to(x.device).ok)", "self.assertEqual(run(x, x.device.type), 3)",
          "with self.assertRaises(E): self.run(x.is_cuda)", "self.assertEqual(f(x.device, 3), 4)"})
        EXPECT_NE(cause_of(names), Cause::device_assertion) << names;
}

TEST(Diagnosis, WhatWasHandledBeforeSaysLittle) {
    const auto chained = [](const char* last) {
        return parse_traceback(std::string("Traceback (most recent call last):\n"
                                           "  File \"/x/a.py\", line 1, in f\n"
                                           "    g()\n"
                                           "OSError: no network: Errno -2\n"
                                           "\n"
                                           "During handling of the above exception, another "
                                           "exception occurred:\n"
                                           "\n"
                                           "Traceback (most recent call last):\n"
                                           "  File \"/x/b.py\", line 2, in test\n"
                                           "    f()\n") +
                               last + "\n");
    };
    const auto rules = Rules::parse(kThree).value();
    EXPECT_EQ(rules.diagnose(chained("AssertionError: 1 != 2"), State::failed).rule, "general");
    const Diagnosis handled = rules.diagnose(chained("KeyError: 'x'"), State::errored);
    EXPECT_EQ(handled.rule, "special");
    EXPECT_EQ(handled.confidence, Confidence::low);
}

TEST(Diagnosis, AKeyLineIsShortAndWholeCharacters) {
    for (const char* shift : {"", "x", "xx"}) {
        std::string line = shift;
        while (line.size() < 9000) line += "\xc3\xa9\xe2\x82\xac";
        const Diagnosis diagnosis =
            Rules::shipped().diagnose(failure_of("RuntimeError", line), State::errored);
        EXPECT_LE(diagnosis.key_line.size(), 500U);
        EXPECT_EQ(diagnosis.key_line.find("\xef\xbf\xbd"), std::string::npos);
    }
}

TEST(Diagnosis, TheKeyLineIsTheOneThatSaysIt) {
    const Diagnosis diagnosis = Rules::shipped().diagnose(
        failure_of("RuntimeError",
                   "Failed to import x because of the following error (look up its traceback):\n"
                   "No module named 'scipy'\nmore"),
        State::errored);
    EXPECT_EQ(diagnosis.cause, Cause::dependency);
    EXPECT_EQ(diagnosis.key_line, "No module named 'scipy'");
    EXPECT_EQ(Rules::shipped()
                  .diagnose(failure_of("ImportError", "no scipy here\ntry pip install scipy"),
                            State::errored)
                  .key_line,
              "ImportError: no scipy here");
}

TEST(Diagnosis, AnyBytesAreDiagnosed) {
    for (const std::string& text :
         {std::string(3, '\0'), std::string("\xff\xfe\x80"), std::string(1 << 22, 'A'),
          std::string(1 << 20, '\n'), std::string("\x1b[31mAssertionError: \xe2\x82")}) {
        Failure failure = failure_of(text, text);
        failure.traceback = text;
        failure.frames = {{text, 1, text}};
        (void)Rules::shipped().diagnose(failure, State::failed);
    }
    // Only the ends of a megabyte are searched, not its middle.
    const std::string filler(1 << 20, 'x');
    EXPECT_EQ(Rules::shipped()
                  .diagnose(failure_of("E", filler + "\nCUDA out of memory"), State::errored)
                  .cause,
              Cause::resource);
}

// Failures of all kinds, and what a reader said of each ("a|b": either). A change of the rules that
// mends some and breaks more is seen here; `bench_diagnosis` names those that are found otherwise.
TEST(Diagnosis, AgreesWithAReader) {
    const auto samples =
        test::read_failures(COMPAT_SOURCE_DIR "/tests/parsers/labelled_failures.jsonl");
    int agreed = 0;
    for (const test::Sample& sample : samples)
        agreed += sample.agrees(Rules::shipped().diagnose(sample.failure, sample.state).cause);
    EXPECT_EQ(samples.size(), 847U);
    EXPECT_GE(agreed, 800);
}

}  // namespace
}  // namespace compat::parsers::diagnose_test
