// With real programs, in Python, that misbehave.
#include "runner/hub/source/line_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <thread>

#include "runner/base/files.h"
#include "tests/support/temp_tree.h"

namespace compat::hub {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr auto kPatience = 20s;

class HubLines : public testing::Test {
  protected:
    // A program that reads lines as `ask` and can `say` objects.
    std::unique_ptr<LineClient> client(const std::string& body, std::chrono::seconds limit = 0s) {
        const auto file = tree.write("program.py",
                                     "import json, os, sys, time\n"
                                     "def say(**x): print(json.dumps(x), flush=True)\n" +
                                         body);
        Program program{{"/usr/bin/env", "python3", file.string()},
                        {{"PATH", std::getenv("PATH")}},
                        tree.root()};
        return std::make_unique<LineClient>(program, "the test's program", limit);
    }
    static std::future<Expected<json>> ask(LineClient& client, json request) {
        auto promise = std::make_shared<std::promise<Expected<json>>>();
        client.ask(std::move(request),
                   [promise](Expected<json> answer) { promise->set_value(std::move(answer)); });
        return promise->get_future();
    }
    static Expected<json> result(std::future<Expected<json>> answer) {
        if (answer.wait_for(kPatience) != std::future_status::ready)
            return fail(ErrorKind::spawn, "no answer in time");
        return answer.get();
    }

    test::TempTree tree;
};

constexpr const char* kEcho =
    "for line in sys.stdin:\n"
    "    ask = json.loads(line)\n"
    "    if ask.get('die'): sys.stderr.write('no more\\n'); sys.exit(7)\n"
    "    if ask.get('garbage'): print('garbage', flush=True); continue\n"
    "    if ask.get('deep'): print('['*5000, flush=True); continue\n"
    "    if ask.get('sleep'): time.sleep(600)\n"
    "    say(id=ask['id'], got=ask['x'])\n";

TEST_F(HubLines, GivesEachRequestItsAnswer) {
    const auto program = client(kEcho);
    std::vector<std::future<Expected<json>>> answers;
    for (int x = 0; x < 50; ++x) answers.push_back(ask(*program, {{"x", x}}));
    for (int x = 0; x < 50; ++x) {
        const auto answer = result(std::move(answers[static_cast<std::size_t>(x)]));
        ASSERT_TRUE(answer) << to_line(answer.error());
        EXPECT_EQ((*answer)["got"], x);
    }
}

TEST_F(HubLines, StartsAProgramAgainThatDied) {
    const auto program = client(kEcho);
    auto dying = ask(*program, {{"x", 1}, {"die", true}}), other = ask(*program, {{"x", 2}});
    const auto died = result(std::move(dying));
    ASSERT_FALSE(died);
    EXPECT_THAT(died.error().message, HasSubstr("exit code 7"));
    EXPECT_THAT(died.error().message, HasSubstr("no more"));
    const auto answer = result(std::move(other));
    ASSERT_TRUE(answer) << to_line(answer.error());
    EXPECT_EQ((*answer)["got"], 2);
}

TEST_F(HubLines, EndsAProgramThatWritesSomethingElse) {
    for (const char* what : {"garbage", "deep"}) {
        const auto program = client(kEcho);
        const auto answer = result(ask(*program, {{"x", 1}, {what, true}}));
        ASSERT_FALSE(answer);
        EXPECT_THAT(answer.error().message, HasSubstr("no JSON object"));
    }
}

TEST_F(HubLines, EndsAProgramThatTakesTooLong) {
    const auto program = client(kEcho, 1s);
    const auto answer = result(ask(*program, {{"x", 1}, {"sleep", true}}));
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message, HasSubstr("no answer within 1 s"));
}

TEST_F(HubLines, DoesNotWaitForAProgramThatDoesNotRead) {
    const auto program = client("time.sleep(600)\n");
    const std::string much(1 << 20, 'x');
    const auto answer = result(ask(*program, {{"x", much}}));
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message, HasSubstr("does not read"));
}

// A pipe holds 64 KiB, and a program that makes something reads nothing meanwhile.
TEST_F(HubLines, WaitsForAProgramThatIsBusy) {
    const auto program = client("time.sleep(1)\n" + std::string(kEcho));
    std::vector<std::future<Expected<json>>> answers;
    for (int x = 0; x < 40; ++x)
        answers.push_back(ask(*program, {{"x", x}, {"much", std::string(10'000, 'x')}}));
    for (int x = 0; x < 40; ++x) {
        const auto answer = result(std::move(answers[static_cast<std::size_t>(x)]));
        ASSERT_TRUE(answer) << to_line(answer.error());
        EXPECT_EQ((*answer)["got"], x);
    }
}

TEST_F(HubLines, CountsStartsSinceTheLastAnswer) {
    const auto program = client(kEcho);
    for (int x = 0; x < 12; ++x) {
        EXPECT_FALSE(result(ask(*program, {{"x", x}, {"die", true}})));
        EXPECT_TRUE(result(ask(*program, {{"x", x}})));
    }
}

// What is called may use what its owner destroys after `stop`.
TEST_F(HubLines, CallsNobodyAfterItHasStopped) {
    const auto program = client(kEcho);
    std::promise<void> called;
    std::atomic<bool> is_over = false;
    program->ask({{"x", 1}, {"die", true}}, [&](const Expected<json>&) {
        called.set_value();
        std::this_thread::sleep_for(200ms);
        is_over = true;
    });
    called.get_future().wait();
    program->stop();
    EXPECT_TRUE(is_over);
}

TEST_F(HubLines, DoesNotStartAProgramWithoutEnd) {
    const auto program =
        client("open('starts', 'a').write('x')\nsys.stdin.readline()\nsys.exit(1)\n");
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(result(ask(*program, {{"x", i}})));
    EXPECT_LE(read_file(tree.root() / "starts").value().size(), 10U);
}

TEST_F(HubLines, SaysWhyAProgramCannotBeStarted) {
    LineClient client({{"/no/such/program"}, {}, tree.root()}, "it", 0s);
    const auto answer = result(ask(client, {{"x", 1}}));
    ASSERT_FALSE(answer);
    EXPECT_THAT(to_line(answer.error()), HasSubstr("/no/such/program"));
}

TEST_F(HubLines, LeavesNoProcess) {
    auto program = client(
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        "say(id=1, pids=[os.getpid(), child.pid])\n"
        "sys.stdin.close()\n"
        "time.sleep(600)\n");
    const auto answer = result(ask(*program, {}));
    ASSERT_TRUE(answer) << to_line(answer.error());
    const auto begun = std::chrono::steady_clock::now();
    program.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
    for (const auto& pid : (*answer)["pids"]) {
        // The one whose parent died may take a moment to go.
        for (int i = 0; i < 100 && ::kill(pid.get<int>(), 0) == 0; ++i)
            std::this_thread::sleep_for(20ms);
        const auto stat = read_file("/proc/" + std::to_string(pid.get<int>()) + "/stat");
        EXPECT_TRUE(!stat || stat->find(") Z ") != std::string::npos) << pid;
    }
}

TEST_F(HubLines, AnswersWhatIsDueWhenItStops) {
    const auto program = client(kEcho);
    auto due = ask(*program, {{"x", 1}, {"sleep", true}});
    program->stop();
    const auto answer = result(std::move(due));
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message, HasSubstr("the run ends"));
}

}  // namespace
}  // namespace compat::hub
