#include "runner/plan/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace compat::plan {
namespace {

using ::testing::ElementsAre;

class CommandTest : public ::testing::Test {
  protected:
    CommandTest() {
        suite.framework = Framework::pytest;
        suite.layout.pythonpath = {".", "src"};
        suite.env = {{"FROM_SUITE", "s"}, {"BOTH", "suite"}};
        settings.python = "/env/bin/python";
        settings.root = "/root dir";
        settings.harness = "/share/harness/main.py";
        settings.activation = "/share/shim/python/activate";
        settings.shim_library = "/cache/shim.so";
        settings.threads = 3;
        settings.inherited = {{"PATH", "/usr/bin"},
                              {"HOME", "/h"},
                              {"PYTHONPATH", "/mine"},
                              {"ACTIVATE_TORCH_DEVICE", "1"}};
        settings.from_user = {{"BOTH", "user"}};
    }
    std::map<std::string, std::string> env() const {
        const auto common = child_variables(suite, settings);
        std::map<std::string, std::string> all{common.begin(), common.end()};
        for (const auto& [name, value] : child_command(suite, settings, job, paths).env)
            all[name] = value;
        return all;
    }

    suites::Suite suite;
    ChildSettings settings;
    Job job{"tests/test_a b.py", {}, 0};
    AttemptPaths paths{"/r/1.log", "/r/1.events.jsonl", "/r/1.devices.jsonl", "/r/1.only", "r/1"};
};

TEST_F(CommandTest, ArgvNeedsNoShell) {
    EXPECT_THAT(child_command(suite, settings, job, paths).argv,
                ElementsAre("/env/bin/python", "/share/harness/main.py", "--framework", "pytest",
                            "--module", "tests/test_a b.py", "--root", "/root dir", "--events",
                            "/r/1.events.jsonl", "--signed", "--events-bytes", "16777216"));
    job.only = {"tests/test_a b.py::T"};
    settings.keyword = "a and not b";
    settings.collect_only = true;
    settings.maxfail = 3;
    paths.random_stream = 7;
    settings.options = {"-p", "no:cacheprovider"};
    const auto argv = child_command(suite, settings, job, paths).argv;
    EXPECT_THAT(std::vector<std::string>(argv.begin() + 13, argv.end()),
                ElementsAre("--only", "/r/1.only", "--select", "a and not b", "--option", "-p",
                            "--option", "no:cacheprovider", "--collect-only", "--maxfail", "3",
                            "--random-stream", "7"));
}

TEST_F(CommandTest, ZygoteAndChildShareTheBeginningOfArgv) {
    EXPECT_THAT(zygote_argv(suite, settings, 3, {"torch", "a.b"}),
                ElementsAre("/env/bin/python", "/share/harness/main.py", "--zygote", "3", "pytest",
                            "/root dir", "torch", "a.b"));
}

TEST_F(CommandTest, CompleteEnvironmentOfAChild) {
    const std::map<std::string, std::string> expected{
        {"ACTIVATE_TORCH_DEVICE", "1"},
        {"BOTH", "user"},
        {"COMPAT_JOB", "r/1"},
        {"COMPAT_SHIM_LIBRARY", "/cache/shim.so"},
        {"COMPAT_SHIM_PYTHON", "/share/shim/python"},
        {"FROM_SUITE", "s"},
        {"HOME", "/h"},
        {"OMP_NUM_THREADS", "3"},
        {"PATH", "/env/bin:/usr/bin"},
        {"PYTHONHASHSEED", "0"},
        {"PYTHONPATH", "/share/shim/python/activate:/root dir:/root dir/src:/mine"},
        {"PYTORCH_ENABLE_MPS_FALLBACK", "1"},
        {"TORCHDEVICE_MASQUERADE", "off"},
        {"TORCHDEVICE_MODE", "missing"},
        {"TORCHDEVICE_RECORD", "/r/1.devices.jsonl"},
        {"TORCHDEVICE_SUMMARY", "off"},
    };
    EXPECT_EQ(env(), expected);
}

TEST_F(CommandTest, ShimOffSetsNoShimVariables) {
    settings.shim_library.clear();
    settings.fallback = false;
    const auto seen = env();
    for (const char* name : {"ACTIVATE_TORCH_DEVICE", "COMPAT_SHIM_LIBRARY", "COMPAT_SHIM_PYTHON",
                             "TORCHDEVICE_MODE", "TORCHDEVICE_RECORD"})
        EXPECT_FALSE(seen.contains(name)) << name;
    EXPECT_EQ(seen.at("PYTHONPATH"), "/root dir:/root dir/src:/mine");
    EXPECT_EQ(seen.at("PYTORCH_ENABLE_MPS_FALLBACK"), "0");
}

TEST_F(CommandTest, KeepsSetVariablesAndJoinsSearchPaths) {
    settings.inherited.emplace_back("OMP_NUM_THREADS", "7");
    settings.inherited.emplace_back("PYTHONHASHSEED", "random");
    settings.from_user = {{"PYTHONPATH", "/theirs"}, {"PATH", "/tools"}};
    const auto seen = env();
    EXPECT_EQ(seen.at("OMP_NUM_THREADS"), "7");
    EXPECT_EQ(seen.at("PYTHONHASHSEED"), "random");
    EXPECT_EQ(seen.at("PYTHONPATH"), "/share/shim/python/activate:/root dir:/root dir/src:/theirs");
    EXPECT_EQ(seen.at("PATH"), "/env/bin:/tools");
}

TEST_F(CommandTest, ExecKeepsPathAndThreads) {
    settings.python.clear();
    settings.threads = 0;
    const auto variables = [&](const char* record) {
        const auto all = program_variables(settings, record);
        return std::map<std::string, std::string>{all.begin(), all.end()};
    };
    const std::map<std::string, std::string> expected{
        {"ACTIVATE_TORCH_DEVICE", "1"},
        {"BOTH", "user"},
        {"COMPAT_SHIM_LIBRARY", "/cache/shim.so"},
        {"COMPAT_SHIM_PYTHON", "/share/shim/python"},
        {"HOME", "/h"},
        {"PATH", "/usr/bin"},
        {"PYTHONHASHSEED", "0"},
        {"PYTHONPATH", "/share/shim/python/activate:/mine"},
        {"PYTORCH_ENABLE_MPS_FALLBACK", "1"},
        {"TORCHDEVICE_MASQUERADE", "off"},
        {"TORCHDEVICE_MODE", "missing"},
        {"TORCHDEVICE_RECORD", "/r"},
    };
    EXPECT_EQ(variables("/r"), expected);
    EXPECT_FALSE(variables("").contains("TORCHDEVICE_RECORD"));
    EXPECT_EQ(variables("").at("TORCHDEVICE_SUMMARY"), "off");
    settings.python = "/env/bin/python";
    EXPECT_EQ(variables("").at("PATH"), "/env/bin:/usr/bin");
    settings.shim_library.clear();
    EXPECT_FALSE(variables("/r").contains("ACTIVATE_TORCH_DEVICE"));
    EXPECT_FALSE(variables("/r").contains("TORCHDEVICE_RECORD"));
}

TEST_F(CommandTest, TheRecordHoldsOnlyAddedVariables) {
    const auto added = added_variables(suite, settings);
    for (const auto& [name, value] : added) EXPECT_NE(name, "HOME");
    EXPECT_THAT(added, ::testing::Contains(::testing::Pair("BOTH", "user")));
}

TEST_F(CommandTest, AHubOverridesTheSuiteAndTheUserTheHub) {
    settings.hub = {"http://127.0.0.1:8737", "/r/hub-home", "/share/hub/child/activate", false};
    settings.inherited.insert(settings.inherited.end(), {{"HF_TOKEN", "hf_secret"},
                                                         {"HF_HUB_CACHE", "/real"},
                                                         {"NO_PROXY", "intern"},
                                                         {"COMPAT_HUB_RECORD", "outer"}});
    suite.env = {{"HF_HUB_OFFLINE", "1"},
                 {"TRANSFORMERS_CACHE", "/real"},
                 {"HF_HOME", "/real"},
                 {"TORCH_HOME", "/real"}};
    settings.from_user = {{"TRANSFORMERS_OFFLINE", "1"}};
    auto all = env();
    EXPECT_EQ(all["HF_ENDPOINT"], "http://127.0.0.1:8737");
    EXPECT_EQ(all["COMPAT_HUB_ENDPOINT"], "http://127.0.0.1:8737");
    EXPECT_EQ(all["HF_HOME"], "/r/hub-home");
    EXPECT_EQ(all["TORCH_HOME"], "/r/hub-home/torch");
    EXPECT_EQ(all["HF_HUB_OFFLINE"], "0");
    EXPECT_EQ(all["TRANSFORMERS_OFFLINE"], "1");
    EXPECT_EQ(all["NO_PROXY"], "intern,127.0.0.1");
    EXPECT_EQ(all["no_proxy"], "127.0.0.1");
    EXPECT_EQ(all["COMPAT_HUB_RECORD"], "/r/1.hub.jsonl");
    EXPECT_EQ(
        all["PYTHONPATH"],
        "/share/shim/python/activate:/share/hub/child/activate:/root dir:/root dir/src:/mine");
    for (const char* other : {"HF_TOKEN", "HF_HUB_CACHE", "TRANSFORMERS_CACHE"})
        EXPECT_FALSE(all.contains(other)) << other;
    settings.hub.takes_tokens = true;
    EXPECT_EQ(env()["HF_TOKEN"], "hf_secret");
}

TEST_F(CommandTest, WithoutAHubNothingOfItIsThere) {
    settings.inherited.emplace_back("COMPAT_HUB_ENDPOINT", "http://127.0.0.1:1");
    settings.inherited.emplace_back("HF_HUB_CACHE", "/mine");
    const auto all = env();
    for (const char* of_hub :
         {"COMPAT_HUB_ENDPOINT", "COMPAT_HUB_RECORD", "HF_ENDPOINT", "NO_PROXY"})
        EXPECT_FALSE(all.contains(of_hub)) << of_hub;
    EXPECT_EQ(all.at("HF_HUB_CACHE"), "/mine");
}

}  // namespace
}  // namespace compat::plan
