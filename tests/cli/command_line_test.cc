#include "runner/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "runner/cli/commands.h"
#include "runner/cli/options/help_format.h"
#include "runner/cli/options/run_options.h"
#include "runner/display/columns.h"

namespace compat::cli {
namespace {

using config::Setting;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::variant<Parsed, int> parse(std::vector<std::string> words) {
    words.insert(words.begin(), "runner");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

Parsed parsed(std::vector<std::string> words) {
    auto result = parse(std::move(words));
    EXPECT_TRUE(std::holds_alternative<Parsed>(result));
    return std::get<Parsed>(std::move(result));
}

TEST(CommandLine, ASuiteAloneMeansRun) {
    const auto line = parsed(
        {"suites/x", "a.py", "-j", "3", "b.py", "-k", "cuda", "--env", "A=b", "--env", "C=d"});
    EXPECT_EQ(line.command, "run");
    EXPECT_EQ(line.invocation->flags.at(Setting::jobs), "3");
}

TEST(CommandLine, OptionsMayComeBeforeTheSuite) {
    const auto line = parsed({"-j2", "suites/x"});
    EXPECT_EQ(line.command, "run");
    EXPECT_EQ(line.invocation->flags.at(Setting::jobs), "2");
}

TEST(CommandLine, AFolderNamedLikeACommandIsWrittenWithADot) {
    EXPECT_EQ(parsed({"./list"}).command, "run");
    EXPECT_EQ(parsed({"list", "list"}).command, "list");
}

TEST(CommandLine, WordsAfterTheDashesArePassedOn) {
    const auto line = parsed({"exec", "--env", "A=b", "-q", "--record", "r", "--policy", "full",
                              "--", "python", "-q", "--help", "--", "x y"});
    EXPECT_EQ(line.command, "exec");
    EXPECT_THAT(line.invocation->passed_on, ElementsAre("python", "-q", "--help", "--", "x y"));
    EXPECT_EQ(line.invocation->flags.at(Setting::policy), "full");
}

TEST(CommandLine, HelpIsACommand) {
    const auto printed = [](std::vector<std::string> words) {
        ::testing::internal::CaptureStdout();
        const auto result = parse(std::move(words));
        return std::to_string(std::get<int>(result)) + ::testing::internal::GetCapturedStdout();
    };
    EXPECT_EQ(printed({"help"}), printed({"--help"}));
    EXPECT_EQ(printed({"help", "rerun"}), printed({"rerun", "--help"}));
    EXPECT_EQ(printed({"help", "nonsense"}), "2");
}

// A run has many options: each stands under a heading, which is a topic of `runner help`.
TEST(CommandLine, ARunsOptionsStandUnderHeadingsThatAreTopics) {
    const auto printed = [](std::vector<std::string> words) {
        ::testing::internal::CaptureStdout();
        EXPECT_EQ(std::get<int>(parse(std::move(words))), 0);
        return ::testing::internal::GetCapturedStdout();
    };
    const std::string run = printed({"help", "run"}), all = printed({"help"});
    EXPECT_THAT(run, HasSubstr("\nOptions:\n  -h, --help              print this help\n\n"
                               "Selection:\n  -k EXPR "));
    for (const std::string_view heading : config::kHeadings) {
        if (heading == name_of(config::Heading::none)) continue;
        const std::string topic = topic_of(heading), options = printed({"help", topic});
        EXPECT_THAT(options, HasSubstr(std::string(heading) + ":\n  -")) << topic;
        EXPECT_THAT(run, HasSubstr(options)) << topic;
        EXPECT_THAT(all, HasSubstr(topic)) << "the help of all commands lists the topics";
    }
    EXPECT_THAT(printed({"runs", "--help"}), Not(HasSubstr("Output:"))) << "few need no headings";
}

TEST(CommandLine, ProgressAsJsonKeepsStdoutForPrograms) {
    EXPECT_TRUE(parsed({"suites/x", "--progress", "json"}).json_progress);
    EXPECT_FALSE(parsed({"suites/x"}).json_progress);
    ::setenv("COMPAT_PROGRESS", "json", 1);
    EXPECT_FALSE(parsed({"runs"}).json_progress);
    EXPECT_TRUE(parsed({"resume"}).json_progress);
    ::unsetenv("COMPAT_PROGRESS");
}

TEST(CommandLine, ErrorsAreOneLineWithASuggestion) {
    const auto error_of = [](std::vector<std::string> words) {
        ::testing::internal::CaptureStderr();
        const auto result = parse(std::move(words));
        return std::to_string(std::get<int>(result)) + ::testing::internal::GetCapturedStderr();
    };
    EXPECT_EQ(error_of({"run", "x", "--joobs", "3"}),
              "2runner: unknown option --joobs: did you mean \"--jobs\"?\n");
    EXPECT_EQ(error_of({"reprot", "x"}),
              "2runner: no command and no suite is named \"reprot\": did you mean \"report\"?\n");
    EXPECT_EQ(
        error_of({"x", "--jobs", "0"}),
        "2runner: --jobs: \"0\" is not a number of jobs: use a whole number from 1 to 4096\n");
    EXPECT_EQ(error_of({"gaps", "scn"}),
              "2runner: unexpected argument \"scn\": did you mean \"scan\"?\n");
    EXPECT_EQ(error_of({"list", "x", "-k", "y"}),
              "2runner: -k requires --cases: `runner list --help` lists the options\n");
    EXPECT_EQ(error_of({"gaps", "set"}),
              "2runner: SYMBOL is required: `runner gaps set --help` lists the options\n");
}

TEST(CommandLine, EachCommandIsNamedOnceAndHasHelp) {
    std::set<std::string_view> names;
    for (const CommandRow& row : kCommands) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_FALSE(row.make().help.empty()) << row.name;
    }
}

// Help of a command, or of one below it: for a terminal, and in words that can be typed.
void expect_readable(std::vector<std::string> words) {
    words.insert(words.begin(), "runner");
    words.emplace_back("--help");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(std::get<int>(parse_command_line(static_cast<int>(argv.size()), argv.data())), 0);
    std::istringstream help(::testing::internal::GetCapturedStdout());
    for (std::string line; std::getline(help, line);) {
        EXPECT_LE(display::columns_of(line), kHelpColumns) << words[1] << ": " << line;
        EXPECT_THAT(line, Not(HasSubstr("{false}"))) << words[1];
    }
}

TEST(CommandLine, HelpFitsATerminalAndNamesOptionsAsTheyAreTyped) {
    expect_readable({});
    for (const CommandRow& row : kCommands) expect_readable({std::string(row.name)});
    for (const char* name : {"scan", "list", "show", "set", "export"})
        expect_readable({"gaps", name});
}

TEST(StoredCommand, IsParsedAgain) {
    const auto stored = parse_stored_command({"runner", "suites/x", "a.py", "-j", "3", "b.py", "-k",
                                              "cuda", "--env", "A=b", "--env", "C=d"});
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->request.suite, "suites/x");
    EXPECT_THAT(stored->request.targets, ElementsAre("a.py", "b.py"));
    EXPECT_THAT(stored->request.env, ElementsAre("A=b", "C=d"));
    EXPECT_EQ(stored->request.keyword, "cuda");
    EXPECT_EQ(stored->flags.at(Setting::jobs), "3");
}

TEST(StoredCommand, KeepsTheArgumentsForTheFramework) {
    EXPECT_THAT(parsed({"suites/x", "a.py", "--", "-p", "x"}).invocation->passed_on,
                ElementsAre("-p", "x"));
    const auto stored = parse_stored_command({"runner", "suites/x", "--", "-k", "y"});
    ASSERT_TRUE(stored);
    EXPECT_THAT(stored->passed_on, ElementsAre("-k", "y"));
    EXPECT_EQ(stored->request.keyword, "");
}

TEST(StoredCommand, RefusesOptionsOfAnotherVersion) {
    EXPECT_FALSE(parse_stored_command({"runner", "suites/x", "--no-such-option"}));
}

}  // namespace
}  // namespace compat::cli
