// Tests the parts of the device library that know no torch, with the cases that
// test_device_library.py runs through Python (device_cases.json), and that errors are classified as
// reports are.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "devices/choice.h"
#include "devices/classify.h"
#include "devices/error_rules.h"
#include "devices/log.h"
#include "devices/recovery.h"
#include "devices/settings.h"
#include "devices/settings_json.h"
#include "parsers/diagnosis/diagnose.h"
#include "parsers/diagnosis/traceback.h"
#include "tests/paths.h"
#include "tests/support/failures.h"
#include "tests/support/temp_tree.h"

namespace compat::devices {
namespace {

using Json = nlohmann::json;

const Json& cases() {
    static const Json all =
        Json::parse(std::ifstream(COMPAT_SOURCE_DIR "/tests/shim/device_cases.json"));
    return all;
}

DeviceCapabilities device_named(const std::string& name) {
    const Json& fields = cases()["devices"][name];
    DeviceCapabilities device;
    device.device = fields["device"];
    device.type = type_of_device(device.device);
    device.capability = fields.value("capability", "");
    for (const auto& dtype : fields["works"]) device.dtypes.push_back({dtype, true, ""});
    const Json fails = fields.value("fails", Json::object());
    for (const auto& [dtype, why] : fails.items()) device.dtypes.push_back({dtype, false, why});
    if (fields.contains("memory_total")) device.memory_total = fields["memory_total"];
    if (fields.contains("memory_free")) device.memory_free = fields["memory_free"];
    return device;
}

std::vector<DeviceCapabilities> devices_of_case(const Json& one) {
    std::vector<DeviceCapabilities> devices;
    for (const auto& name : one["devices"]) devices.push_back(device_named(name));
    return devices;
}

// Lives as long as the cases, unlike what value() returns.
const Json& object_in(const Json& one, const char* key) {
    static const Json empty = Json::object();
    return one.contains(key) ? one[key] : empty;
}

SettingValues values_of(const Json& one, const char* key) {
    return object_in(one, key).get<SettingValues>();
}

Settings settings_of(const Json& one) {
    const SettingValues environment = values_of(one, "environment");
    return resolve_settings(values_of(one, "arguments"), values_of(one, "file"),
                            [&](std::string_view name) -> std::optional<std::string> {
                                const auto found = environment.find(name);
                                if (found == environment.end()) return std::nullopt;
                                return found->second;
                            });
}

// Runs each case of a kind. One that has "error" must raise it, with these words.
template <class Check>
void each_case(const char* kind, Check check) {
    ASSERT_FALSE(cases()[kind].empty());
    for (const Json& one : cases()[kind]) {
        SCOPED_TRACE(one.value("about", one.dump()));
        if (!one.contains("error")) {
            check(one);
            continue;
        }
        try {
            check(one);
            ADD_FAILURE() << "no error";
        } catch (const std::exception& error) {
            for (const auto& word : one["error"])
                EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
        }
    }
}

void expect_why(const Json& one, const std::string& why) {
    EXPECT_NE(why, "");
    EXPECT_NE(why.find(one.value("why", "")), std::string::npos) << why;
}

Json json_of(const Settings& own) {
    return {{"device", own.device},
            {"precision", own.precision},
            {"recovery", own.recovery},
            {"memory_fraction", own.memory_fraction},
            {"prefer", own.prefer},
            {"allow_tpu", own.allow_tpu},
            {"tpu_batch_factor", own.tpu_batch_factor},
            {"cost_cpu", own.cost_cpu},
            {"cost_gpu", own.cost_gpu},
            {"cost_tpu", own.cost_tpu},
            {"enable_optimizations", own.enable_optimizations}};
}

TEST(DeviceCases, Settings) {
    each_case("settings", [](const Json& one) {
        const Settings settings = settings_of(one);
        const Json found = json_of(settings);
        for (const auto& [name, value] : object_in(one, "answer").items())
            EXPECT_EQ(found[name], value) << name;
        for (const auto& [name, value] : object_in(one, "origin").items())
            EXPECT_EQ(settings.origin.at(name), value) << name;
    });
}

TEST(DeviceCases, Chain) {
    each_case("chain", [](const Json& one) {
        EXPECT_EQ(Json(chain(devices_of_case(one), settings_of(one))), one["answer"]);
    });
}

TEST(DeviceCases, Best) {
    each_case("best", [](const Json& one) {
        const Choice choice = best(devices_of_case(one), settings_of(one), one.value("prefer", ""));
        EXPECT_EQ(choice.device.device, one["answer"]);
        expect_why(one, choice.why);
        EXPECT_EQ(choice.passed_over.size(), one["devices"].size() - 1);
        for (const auto& [name, words] : object_in(one, "passed_over").items()) {
            std::string why;
            for (const auto& [device, reason] : choice.passed_over)
                if (device == name) why = reason;
            EXPECT_NE(why.find(words), std::string::npos) << name << ": " << why;
        }
    });
}

TEST(DeviceCases, RecommendedDtype) {
    each_case("recommended_dtype", [](const Json& one) {
        const auto choice = recommended_dtype(device_named(one["device"]), settings_of(one));
        EXPECT_EQ(choice.dtype, one["answer"]);
        expect_why(one, choice.why);
    });
}

TEST(DeviceCases, Batch) {
    each_case("batch", [](const Json& one) {
        const Batch found = batch(one["base"], device_named(one["device"]), settings_of(one),
                                  one.value("sample_bytes", 0));
        const Json maximum = found.maximum ? Json(*found.maximum) : Json();
        EXPECT_EQ((Json{{"size", found.size}, {"factor", found.factor}, {"maximum", maximum}}),
                  one["answer"]);
        expect_why(one, found.why);
    });
}

TEST(DeviceCases, Validate) {
    each_case("validate", [](const Json& one) {
        const Json asked = one.value("requirements", Json::object());
        Requirements requirements;
        requirements.types = asked.value("types", std::vector<std::string>{});
        requirements.dtypes = asked.value("dtypes", std::vector<std::string>{});
        requirements.memory = asked.value("memory", 0);
        requirements.capability = asked.value("capability", "");
        const Fit fit = validate(requirements, device_named(one["device"]), settings_of(one));
        EXPECT_EQ(fit.fits, one["answer"].empty());
        ASSERT_EQ(fit.reasons.size(), one["answer"].size());
        for (std::size_t i = 0; i < fit.reasons.size(); ++i)
            EXPECT_NE(fit.reasons[i].find(one["answer"][i]), std::string::npos) << fit.reasons[i];
    });
}

TEST(DeviceCases, Classify) {
    each_case("classify", [](const Json& one) {
        const auto found =
            classify(one["type"].get<std::string>(), one["message"].get<std::string>());
        EXPECT_EQ(found ? Json(name_of(found->error_class)) : Json(), one["answer"]);
    });
}

TEST(DeviceCases, Recovery) {
    each_case("recovery", [](const Json& one) {
        RecoveryPlan plan(one.value("tries", kDefaultTries), one["chain"]);
        const Json& fields = one["facts"];
        CallFacts facts;
        facts.devices = fields.value("devices", std::vector<std::string>{});
        facts.has_other_floats = fields.value("has_other_floats", false);
        facts.takes_map_location = fields.value("takes_map_location", false);
        if (fields.contains("batch")) facts.batch = fields["batch"];
        Json answer = Json::array();
        for (const auto& name : one["errors"]) {
            const auto place = std::find(kErrorClasses.begin(), kErrorClasses.end(), name);
            ASSERT_NE(place, kErrorClasses.end());
            const auto step =
                plan.next(static_cast<ErrorClass>(place - kErrorClasses.begin()), facts);
            answer.push_back(step ? Json(step->what) : Json());
        }
        EXPECT_EQ(answer, one["answer"]);
        EXPECT_EQ(plan.taken().size(),
                  static_cast<std::size_t>(std::count_if(
                      answer.begin(), answer.end(), [](const Json& w) { return !w.is_null(); })));
    });
}

TEST(Recoveries, HaveARowForEachClassInItsOrder) {
    for (std::size_t i = 0; i < kRecoveries.size(); ++i) {
        EXPECT_EQ(kRecoveries[i].error_class, static_cast<ErrorClass>(i));
        EXPECT_FALSE(actions_for(static_cast<ErrorClass>(i)).empty());
    }
    std::set<std::string_view> names;
    for (const ActionRow& row : kActions) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

// The words of the diagnosis; empty: none.
std::string diagnosed_class(const parsers::Failure& failure) {
    parsers::Failure words;
    words.type = failure.type;
    words.message = failure.message;
    const auto found = parsers::Rules::shipped().diagnose(words, parsers::State::errored);
    return found.error_class ? std::string(name_of(*found.error_class)) + " " + found.rule : "";
}

std::string classified(const parsers::Failure& failure) {
    const auto found = classify(failure.type, failure.message);
    return found ? std::string(name_of(found->error_class)) + " " + found->rule : "";
}

TEST(Classify, AgreesWithTheDiagnosisOnEveryExampleOfARule) {
    std::size_t with_class = 0;
    for (const parsers::Rule& rule : parsers::Rules::shipped().all())
        for (const auto& example : rule.examples) {
            const std::string expected = diagnosed_class(example.failure);
            EXPECT_EQ(classified(example.failure), expected) << rule.id;
            with_class += !expected.empty();
        }
    EXPECT_GT(with_class, 50U);
}

TEST(Classify, AgreesWithTheDiagnosisOnVariedFailures) {
    const auto samples =
        test::read_failures(COMPAT_SOURCE_DIR "/tests/parsers/labelled_failures.jsonl");
    ASSERT_GT(samples.size(), 100U);
    for (const auto& sample : samples)
        EXPECT_EQ(classified(sample.failure), diagnosed_class(sample.failure))
            << sample.failure.type << ": " << sample.failure.message;
    test::VariedFailures varied(samples, 1);
    int compared = 0;
    for (int i = 0; i < 500; ++i) {
        const auto failure = varied.next().failure;
        // Only the diagnosis reads the output of another process.
        if (parsers::embedded_traceback(failure.message)) continue;
        ++compared;
        EXPECT_EQ(classified(failure), diagnosed_class(failure)) << failure.message;
    }
    EXPECT_GT(compared, 300);
}

TEST(Classify, KnowsEveryRuleThatTheDiagnosisKnows) {
    std::set<std::string_view> known;
    for (const ErrorRule& rule : error_rules()) known.insert(rule.id);
    for (const parsers::Rule& rule : parsers::Rules::shipped().all())
        if (rule.error_class && rule.states.empty()) {
            EXPECT_TRUE(known.contains(rule.id)) << rule.id;
        }
}

TEST(Classify, ReadsTheEndsOfALongMessage) {
    const std::string middle(1 << 20, 'x');
    EXPECT_TRUE(classify("RuntimeError", "CUDA out of memory. " + middle));
    EXPECT_TRUE(classify("RuntimeError", middle + "\nCUDA out of memory."));
    EXPECT_FALSE(classify("RuntimeError", middle + " CUDA out of memory. " + middle));
}

LogEvent event_of(LogKind kind, std::string what) {
    LogEvent event;
    event.kind = kind;
    event.what = std::move(what);
    return event;
}

TEST(DeviceLog, IsOffUntilItIsEnabled) {
    DeviceLog log;
    EXPECT_EQ(log.add(event_of(LogKind::move, "x")), 0);
    EXPECT_TRUE(log.events().empty());
    log.enable();
    EXPECT_EQ(log.add(event_of(LogKind::move, "x")), 1);
    log.disable();
    EXPECT_EQ(log.add(event_of(LogKind::move, "x")), 0);
    EXPECT_EQ(log.events().size(), 1U);
}

TEST(DeviceLog, KeepsTheLastEventsAndCountsAll) {
    DeviceLog log;
    log.enable(3);
    for (int i = 0; i < 5; ++i) {
        LogEvent move = event_of(LogKind::move, std::string(2000, 'x'));
        move.bytes = 10;
        log.add(std::move(move));
    }
    ASSERT_EQ(log.events().size(), 3U);
    EXPECT_EQ(log.events().front().number, 3);
    EXPECT_EQ(log.events().front().what.size(), DeviceLog::kTextBytes);
    EXPECT_EQ(log.counters().events[0], 5);
    EXPECT_EQ(log.counters().bytes_moved, 50);
    EXPECT_EQ(log.counters().dropped, 2);
    EXPECT_THROW(log.enable(0), std::invalid_argument);
}

TEST(DeviceLog, NamesWhatPrecededAnErrorInItsThread) {
    DeviceLog log;
    log.enable();
    log.add(event_of(LogKind::move, "before the first error"));
    log.add(event_of(LogKind::error, "first"));
    log.add(event_of(LogKind::choice, "a choice"));
    std::thread([&] { log.add(event_of(LogKind::move, "elsewhere")); }).join();
    log.add(event_of(LogKind::recovery, "a recovery"));
    log.add(event_of(LogKind::error, "second"));
    const auto events = log.events();
    EXPECT_EQ(events[1].preceded_by, std::vector<std::int64_t>{1});
    EXPECT_EQ(events.back().preceded_by, (std::vector<std::int64_t>{3, 5}));
    const auto before = log.before(events.back());
    ASSERT_EQ(before.size(), 2U);
    EXPECT_EQ(before[0].what, "a choice");
    EXPECT_GT(before[0].time, 1e9);
}

TEST(DeviceLog, ExportsJsonLines) {
    DeviceLog log;
    log.enable(2);
    log.add(event_of(LogKind::choice, "dropped"));
    log.add(event_of(LogKind::move, "a \"move\"\n"));
    log.add(event_of(LogKind::error, "e"));
    std::istringstream lines(log.json_lines());
    std::vector<Json> read;
    for (std::string line; std::getline(lines, line);) read.push_back(Json::parse(line));
    ASSERT_EQ(read.size(), 3U);
    EXPECT_EQ(read[0]["format"], 1);
    EXPECT_EQ(read[0]["choice"], 1);
    EXPECT_EQ(read[0]["dropped"], 1);
    EXPECT_EQ(read[1]["what"], "a \"move\"\n");
    EXPECT_EQ(read[1]["bytes"], nullptr);
    EXPECT_EQ(read[2]["preceded_by"], (Json::array({1, 2})));
}

TEST(DeviceLog, TakesEventsFromManyThreads) {
    DeviceLog log;
    log.enable(100);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int n = 0; n < 1000; ++n) log.add(event_of(LogKind::move, "m"));
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(log.counters().events[0], 4000);
    EXPECT_EQ(log.counters().dropped, 3900);
    EXPECT_EQ(log.events().back().number, 4000);
}

std::string error_of_file(const test::TempTree& tree, const char* text) {
    const auto path = tree.write("device.json", text);
    try {
        static_cast<void>(read_settings_file(path.string()));
    } catch (const SettingError& error) {
        return error.what();
    }
    return "none";
}

TEST(SettingsFile, IsReadFromAJsonFile) {
    const test::TempTree tree;
    const SettingValues expected{
        {"preferred", "cuda"}, {"fallback_enabled", "false"}, {"memory_fraction", "0.5"}};
    const std::string own =
        R"({"preferred": "cuda", "fallback_enabled": false, "memory_fraction": 0.5})";
    EXPECT_EQ(read_settings_file(tree.write("own.json", own).string()), expected);
    const auto suite = tree.write(
        "suite.json", "{\"name\": \"x\", \"device\": {\"env\": {}, " + own.substr(1) + "}");
    EXPECT_EQ(read_settings_file(suite.string()), expected);
    const Settings settings =
        resolve_settings({}, expected, [](std::string_view) { return std::nullopt; });
    EXPECT_FALSE(settings.recovery);

    EXPECT_NE(error_of_file(tree, "{").find("not JSON"), std::string::npos);
    EXPECT_NE(error_of_file(tree, "[1]").find("must be a JSON object"), std::string::npos);
    EXPECT_NE(error_of_file(tree, R"({"preferred": null})").find("key preferred"),
              std::string::npos);
    EXPECT_THROW(static_cast<void>(read_settings_file("/nowhere/device.json")), SettingError);
}

}  // namespace
}  // namespace compat::devices
