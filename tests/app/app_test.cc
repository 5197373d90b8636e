#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "runner/app/cli.h"
#include "runner/app/devices_words.h"
#include "runner/app/display.h"
#include "runner/app/exec_report.h"
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

TEST(CommandLine, BehindTheDashesNothingIsOurs) {
    const auto invocation = parsed({"exec", "--env", "A=b", "-q", "--record", "r", "--policy",
                                    "full", "--", "python", "-q", "--help", "--", "x y"});
    const auto& exec = std::get<ExecCommand>(invocation.command);
    EXPECT_THAT(exec.words, ElementsAre("python", "-q", "--help", "--", "x y"));
    EXPECT_THAT(exec.env, ElementsAre("A=b"));
    EXPECT_EQ(exec.record, "r");
    EXPECT_TRUE(exec.quiet);
    EXPECT_EQ(invocation.flags.at(Setting::policy), "full");
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

class ProgramReport : public ::testing::Test {
  protected:
    ProgramReport() {
        run.command = "python train.py";
        run.outcome = exec::Exited{0};
        run.took = std::chrono::milliseconds(1500);
        run.python = "/env/bin/python";
        run.cwd = "/home/me";
        run.record = "/tmp/r.jsonl";
        recorded.shim = parsers::ShimSession{"0.1.0", "2.13.0+cpu", "cpu", "missing", "", false};
        recorded.watched = 2;
        recorded.with_torch = 1;
    }
    void event(const char* kind, const char* op, const char* from, const char* file, int line,
               std::int64_t count, const char* test = "") {
        recorded.events.push_back({test, kind, op, from, "cpu", {file, line}, count});
    }
    [[nodiscard]] std::string text() const { return program_report(run, recorded); }

    ProgramRun run;
    parsers::DevicesResult recorded;
};

TEST_F(ProgramReport, SitesAreAddedUpOverTestsAndProcessesAndSortedByCount) {
    event("redirect", "aten::ones", "mps", "/elsewhere/lib.py", 9, 2);
    event("redirect", "aten::zeros", "cuda:1", "/home/me/train.py", 4, 3, "a");
    event("redirect", "aten::zeros", "cuda:1", "/home/me/train.py", 4, 4, "b");
    event("fold", "aten::to.device", "cpu:1", "", 0, 1);
    event("refusal", "torch._C._CUDAGraph", "", "/home/me/x/g.py", 7, 1);
    event("stub", "torch.cuda.nvtx", "", "/home/me/train.py", 8, 5);
    event("fallback", "aten::eigh", "mps:0", "/home/me/train.py", 9, 6);
    EXPECT_EQ(text(),
              "runner: python train.py: exit code 0 (1.5s)\n"
              "runner: policy missing, host cpu, torch 2.13.0+cpu of /env/bin/python; 2 processes "
              "recorded, 1 with torch\n"
              "runner: 10 requests redirected at 3 places\n"
              "         7  redirect  aten::zeros      cuda:1 -> cpu  train.py:4\n"
              "         2  redirect  aten::ones       mps -> cpu     /elsewhere/lib.py:9\n"
              "         1  fold      aten::to.device  cpu:1 -> cpu   (no Python frame)\n"
              "runner: 6 calls fell back to the CPU at 1 place\n"
              "         6  aten::eigh  train.py:9\n"
              "runner: 1 call refused at 1 place\n"
              "         1  torch._C._CUDAGraph  x/g.py:7\n"
              "runner: 5 calls answered without effect at 1 place\n"
              "         5  torch.cuda.nvtx  train.py:8\n"
              "runner: record: /tmp/r.jsonl\n");
}

TEST_F(ProgramReport, WhatIsNotShownIsCounted) {
    for (int line = 1; line <= 15; ++line)
        event("redirect", "aten::ones", "cuda", "/home/me/a.py", line, line);
    EXPECT_THAT(text(), HasSubstr("runner: 120 requests redirected at 15 places\n        15  "));
    EXPECT_THAT(text(), HasSubstr("a.py:4\n         6  at 3 more places not shown here\n"));
    EXPECT_THAT(text(), ::testing::Not(HasSubstr("a.py:3\n")));
}

TEST_F(ProgramReport, WhyNothingWasRedirected) {
    EXPECT_THAT(text(), HasSubstr("runner: 0 requests redirected\n"));
    recorded.with_torch = 0;
    EXPECT_THAT(text(), HasSubstr("nothing was redirected: torch was not imported (2 processes)"));
    recorded.watched = 0;
    EXPECT_THAT(text(), HasSubstr("nothing was redirected: no Python with the shim was started"));
    run.unwatched = "the shim was off";
    EXPECT_THAT(text(), HasSubstr("nothing was redirected: the shim was off\n"));
}

TEST_F(ProgramReport, ACrashAndABrokenRecordAreSaid) {
    run.outcome = exec::Signaled{11};
    recorded.diagnostics.push_back({"devices", 512, "this line was cut off"});
    event("redirect", "aten::\033[31m", "cuda", "/home/me/\n.py", 1, 1);
    EXPECT_THAT(text(), HasSubstr("runner: python train.py: SIGSEGV (1.5s)\n"));
    EXPECT_THAT(text(), HasSubstr("loses what it had counted since it last wrote\n"));
    EXPECT_THAT(text(), HasSubstr("runner: record, byte 512: this line was cut off\n"));
    EXPECT_THAT(text(), HasSubstr("aten::\\x1b[31m"));
    EXPECT_THAT(text(), HasSubstr("1 request redirected at 1 place\n"));
}

TEST(DevicesWords, ALineADeviceAndOneForWhatFailed) {
    const char* report = R"({"format": 1, "torch": "2.13.0", "built": ["cpu", "mps"], "devices": [
        {"device": "cpu", "type": "cpu", "name": "M2", "memory_total": 17179869184,
         "memory_free": 8589934592, "capability": "DEFAULT",
         "dtypes": {"fp32": {"works": true, "why": null}, "bf16": {"works": true, "why": null}}},
        {"device": "mps:0", "type": "mps", "name": null, "memory_total": null, "memory_free": null,
         "capability": null, "dtypes": {"fp64": {"works": false, "why": "no float64 here"}}}],
        "failed": [{"asked": "xpu", "why": "Aborted, counting devices"}]})";
    EXPECT_THAT(devices_words(report),
                ElementsAre("cpu     M2: 16.0 GiB (8.0 GiB free), DEFAULT, fp32 bf16",
                            "mps:0   no name: ? (? free), no dtype, not fp64 (no float64 here)",
                            "xpu     could not be asked: Aborted, counting devices"));
    for (const char* other : {"", "[]", R"({"format": 2})", "killed"})
        EXPECT_THAT(devices_words(other), ElementsAre(HasSubstr("format that is not known")));
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
