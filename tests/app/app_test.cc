#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "runner/app/cli.h"
#include "runner/app/display.h"
#include "runner/app/fingerprint.h"
#include "runner/app/recorder.h"
#include "runner/app/settings.h"
#include "runner/app/verdict.h"

namespace compat::app {
namespace {

using parsers::ModuleOutcome;
using parsers::State;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

parsers::ModuleRecord record_of(std::vector<State> states, std::string framework = "unittest",
                                ModuleOutcome outcome = ModuleOutcome::completed) {
    parsers::ModuleRecord record;
    record.framework = std::move(framework);
    record.outcome = outcome;
    for (const State state : states) {
        parsers::CaseRecord test;
        test.state = state;
        record.cases.push_back(test);
    }
    return record;
}

TEST(Verdict, EachStateGivesItsExitCode) {
    struct Row {
        State state;
        const char* framework;
        ExitCode code;
    };
    const std::vector<Row> table{
        {State::passed, "unittest", ExitCode::ok},
        {State::skipped, "unittest", ExitCode::ok},
        {State::xfailed, "pytest", ExitCode::ok},
        {State::xpassed, "pytest", ExitCode::ok},
        {State::xpassed, "unittest", ExitCode::unexpected_results},
        {State::failed, "unittest", ExitCode::unexpected_results},
        {State::errored, "pytest", ExitCode::unexpected_results},
        {State::crashed, "pytest", ExitCode::unexpected_results},
        {State::timed_out, "pytest", ExitCode::unexpected_results},
        {State::not_run, "pytest", ExitCode::unexpected_results},
    };
    for (const auto& row : table) {
        RunFacts facts;
        add(facts, record_of({State::passed, row.state}, row.framework));
        EXPECT_EQ(exit_code(facts), row.code)
            << parsers::name_of(row.state) << " in " << row.framework;
    }
}

TEST(Verdict, TheHighestPriorityWins) {
    RunFacts facts;
    EXPECT_EQ(exit_code(facts), ExitCode::nothing_selected);
    add(facts, record_of({State::failed}));
    EXPECT_EQ(exit_code(facts), ExitCode::unexpected_results);
    facts.unaccounted = true;
    EXPECT_EQ(exit_code(facts), ExitCode::unaccounted);
    add(facts, record_of({}, "unittest", ModuleOutcome::spawn_failed));
    EXPECT_EQ(exit_code(facts), ExitCode::infrastructure);
    facts.interrupted = true;
    EXPECT_EQ(exit_code(facts), ExitCode::interrupted);
}

TEST(Verdict, AModuleThatDiedAfterItsTestsIsUnexpected) {
    RunFacts facts;
    add(facts, record_of({State::passed}, "unittest", ModuleOutcome::crashed));
    EXPECT_EQ(exit_code(facts), ExitCode::unexpected_results);
}

Invocation parsed(std::vector<std::string> words) {
    words.insert(words.begin(), "runner");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    auto result = parse_command_line(static_cast<int>(argv.size()), argv.data());
    EXPECT_TRUE(std::holds_alternative<Invocation>(result));
    return std::get<Invocation>(std::move(result));
}

TEST(CommandLine, ASuiteAloneMeansRun) {
    const auto invocation = parsed(
        {"suites/x", "a.py", "-j", "3", "b.py", "-k", "cuda", "--env", "A=b", "--env", "C=d"});
    const auto& run = std::get<RunCommand>(invocation.command);
    EXPECT_EQ(run.suite, "suites/x");
    EXPECT_THAT(run.targets, ElementsAre("a.py", "b.py"));
    EXPECT_THAT(run.env, ElementsAre("A=b", "C=d"));
    EXPECT_EQ(run.keyword, "cuda");
    EXPECT_EQ(invocation.flags.at(Setting::jobs), "3");
}

TEST(CommandLine, OptionsMayComeBeforeTheSuite) {
    const auto invocation = parsed({"-j2", "suites/x"});
    EXPECT_EQ(std::get<RunCommand>(invocation.command).suite, "suites/x");
    EXPECT_EQ(invocation.flags.at(Setting::jobs), "2");
}

TEST(CommandLine, AFolderNamedLikeACommandIsWrittenWithADot) {
    EXPECT_EQ(std::get<RunCommand>(parsed({"./list"}).command).suite, "./list");
    EXPECT_EQ(std::get<ListCommand>(parsed({"list", "list"}).command).suite, "list");
}

class SettingsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        for (const auto& row : kSettings) ::unsetenv(std::string(row.variable).c_str());
    }
    void TearDown() override { SetUp(); }
};

TEST_F(SettingsTest, FlagOverVariableOverSuiteOverDefault) {
    suites::Suite suite;
    suite.name = "x";
    const auto origin = [&](const std::map<Setting, std::string>& flags) {
        const auto settings = Settings::resolve(flags, &suite);
        return settings
                   ? (*settings)[Setting::timeout].text + " " + (*settings)[Setting::timeout].origin
                   : to_line(settings.error());
    };
    EXPECT_EQ(origin({}), "30m default");
    suite.limits.module_timeout = std::chrono::minutes(5);
    EXPECT_EQ(origin({}), "5m suite: limits.module_timeout");
    ::setenv("COMPAT_TIMEOUT", "90s", 1);
    EXPECT_EQ(origin({}), "90s COMPAT_TIMEOUT");
    EXPECT_EQ(origin({{Setting::timeout, "1h"}}), "1h --timeout");
}

TEST_F(SettingsTest, ABadValueNamesWhereItStands) {
    ::setenv("COMPAT_SHIM", "perhaps", 1);
    const auto settings = Settings::resolve({}, nullptr);
    ASSERT_FALSE(settings);
    EXPECT_EQ(to_line(settings.error()),
              "COMPAT_SHIM: \"perhaps\" is not allowed: use one of on|off");
}

TEST_F(SettingsTest, EachRowOfTheTableHasItsOwnSettingAndVariable) {
    std::set<Setting> settings;
    std::set<std::string_view> variables;
    for (const auto& row : kSettings) {
        EXPECT_TRUE(settings.insert(row.setting).second);
        EXPECT_TRUE(variables.insert(row.variable).second);
    }
}

TEST(Fingerprint, SecretsAreMasked) {
    EXPECT_THAT(
        masked(plan::Variables{
            {"HF_TOKEN", "x"}, {"api_key", "y"}, {"DB_PASSWORD", ""}, {"PLAIN", "z"}}),
        ElementsAre(::testing::Pair("HF_TOKEN", "<set>"), ::testing::Pair("api_key", "<set>"),
                    ::testing::Pair("DB_PASSWORD", "<set>"), ::testing::Pair("PLAIN", "z")));
}

TEST(Fingerprint, SecretsOfACommandLineAreMasked) {
    EXPECT_THAT(masked(std::vector<std::string>{"runner", "s", "--env", "MY_TOKEN=a=b",
                                                "--env=KEY=c", "--env", "PLAIN=d", "x=TOKEN"}),
                ElementsAre("runner", "s", "--env", "MY_TOKEN=<set>", "--env=KEY=<set>", "--env",
                            "PLAIN=d", "x=TOKEN"));
}

TEST(Display, NothingFromASuiteReachesTheTerminalRaw) {
    EXPECT_EQ(printable("a\033[31mb\r\nc\td\x7f"), "a\\x1b[31mb\\x0d c d\\x7f");
    EXPECT_EQ(printable("übertragen"), "übertragen");
}

TEST(Display, CountsInWords) {
    std::array<long, parsers::kStateNames.size()> counts{};
    EXPECT_EQ(count_words(counts), "no tests");
    counts[static_cast<size_t>(State::passed)] = 3;
    counts[static_cast<size_t>(State::timed_out)] = 1;
    EXPECT_EQ(count_words(counts), "3 passed, 1 timed out");
}

TEST(Recorder, EveryOutcomeHasItsProcessEnd) {
    using Kind = parsers::ProcessEnd::Kind;
    EXPECT_EQ(process_end(exec::Exited{3}).code, 3);
    EXPECT_EQ(process_end(exec::Signaled{11}).detail, "SIGSEGV");
    EXPECT_EQ(process_end(exec::TimedOut{Milliseconds(1000)}).kind, Kind::timed_out);
    EXPECT_EQ(process_end(exec::Stopped{"why"}).detail, "why");
    EXPECT_EQ(process_end(exec::SpawnFailed{"how"}).kind, Kind::spawn_failed);
}

}  // namespace
}  // namespace compat::app
