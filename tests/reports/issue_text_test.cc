// The text for an issue: its parts, and that nothing private is in it.
#include "reports/issue_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "reports/torch_issue.h"
#include "tests/reports/sample_run.h"
#include "tests/support/temp_tree.h"

namespace compat::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

class IssueText : public testing::Test {
  protected:
    void SetUp() override { samples::make_source(root); }
    std::string text_of(std::size_t row) const {
        const samples::Model model = samples::model(stored, folder.root() / "run");
        return issue_text(model.run, model.modules.at(0).cases.at(row)).value_or("none");
    }

    test::TempTree folder;
    std::filesystem::path root = folder.root() / "src";
    samples::Run stored = samples::run(root);
};

TEST_F(IssueText, HasWhatAMaintainerAsksFor) {
    stored.info.simulated = "mps";
    const std::string text = text_of(3);
    EXPECT_THAT(text, testing::StartsWith(
                          "# `tests/ops/test_a.py::T::test_e`: `RuntimeError: no kernel`\n"));
    for (const char* part :
         {"**errored**", "Cause, by its text: `suite_error`: ", "## Traceback\n\n```text\n",
          "RuntimeError: no kernel\n```\n",
          "- [`tests/ops/test_a.py:7`](https://forge.example/alpha/blob/0123abcd/tests/ops/"
          "test_a.py#L7)\n",
          "## To reproduce\n\n```sh\ncd ", "runner suites/alpha --root ",
          "- It passes where every request gets one device (cause: `device_mismatch`)",
          "- device: `mps (simulated)`\n", "- torch: `2.13.0`\n", "- OS: `Debian 12`\n",
          "- commit: `0123abcd`\n", "- shim: `on`\n"})
        EXPECT_THAT(text, HasSubstr(part));
    EXPECT_EQ(text_of(0), "none") << "a test that passed";
    EXPECT_THAT(text_of(9), HasSubstr("**crashed**: `SIGSEGV`")) << "without a failure";
}

TEST_F(IssueText, ATracebackBeginsAtTheSuitesFrame) {
    auto& failure = *stored.modules[0].attempts[0].record.cases[3].failure;
    failure.traceback =
        "Traceback (most recent call last):\n"
        "  File \"/usr/lib/python3.11/unittest/case.py\", line 57, in run\n"
        "    self._callTestMethod(testMethod)\n"
        "  File \"" +
        (root / "tests/ops/test_a.py").string() +
        "\", line 7, in test_f\n    f()\nRuntimeError: no kernel\n";
    const std::string text = text_of(3);
    EXPECT_THAT(text, HasSubstr("```text\n  File \""));
    EXPECT_THAT(text, Not(HasSubstr("unittest/case.py")));
    // Its end, which has the error, stays whatever its length.
    failure.traceback += std::string(50'000, 'x') + "\nRuntimeError: at the end";
    EXPECT_THAT(text_of(3), HasSubstr("RuntimeError: at the end\n```"));
    EXPECT_LT(text_of(3).size(), 70'000u);
}

TEST_F(IssueText, LinksIntoThisMachineArePlain) {
    stored.info.links_base.clear();
    const std::string text = text_of(2);
    EXPECT_THAT(text, HasSubstr("`tests/ops/test_a.py::T::test_f` **failed**"));
    EXPECT_THAT(text, Not(HasSubstr("](source/")));
}

TEST_F(IssueText, TextFromOutsideCannotEndItsBlock) {
    auto& test = stored.modules[0].attempts[0].record.cases[2];
    test.id = test.reason = "a`|<b>\n# ODD";
    test.failure->traceback = "```\n# ODD\n````\n";
    const std::string text = text_of(2);
    std::istringstream lines(text);
    std::string fence;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t ticks = std::min(line.find_first_not_of('`'), line.size());
        if (fence.empty()) {
            EXPECT_THAT(line, Not(testing::StartsWith("# ODD")));
            if (ticks >= 3) fence = line.substr(0, ticks);
        } else if (ticks >= fence.size() && ticks == line.size()) {
            fence.clear();
        }
    }
    EXPECT_EQ(fence, "");
}

TEST_F(IssueText, HasNoSecrets) {
    parsers::Failure& failure = *stored.modules[0].attempts[0].record.cases[3].failure;
    failure.message = "sekret99 refused; PASSWORD=\"my long phrase\"";
    failure.traceback += "RuntimeError: ENV=\"HF_TOKEN=other99\" sekret99 refused\n";
    stored.modules[0].attempts[0].record.cases[9].reason = "SIGSEGV after sekret99";
    EXPECT_THAT(text_of(3), HasSubstr("sekret99")) << "else this test would show nothing";
    const samples::Model model = samples::model(stored, folder.root() / "run", {"sekret99"});
    for (const std::size_t row : {3, 9}) {
        const auto text = issue_text(model.run, model.modules.at(0).cases.at(row));
        ASSERT_TRUE(text);
        for (const char* secret : {"sekret99", "long phrase", "other99"})
            EXPECT_THAT(*text, Not(HasSubstr(secret)));
        EXPECT_THAT(*text, HasSubstr("<set>"));
    }
}

TEST_F(IssueText, HomeFoldersAreTildes) {
    const std::vector<std::pair<std::string, std::string>> table{
        {"/home/ann/a.py: no", "~/a.py: no"},
        {"File \"/Users/bob/x/a.py\"", "File \"~/x/a.py\""},
        {"cd /root/src && env P=/root/bin:/root/lib", "cd ~/src && env P=~/bin:~/lib"},
        {"/srv/home/x/a.py", "/srv/home/x/a.py"}};
    for (const auto& [path, shown] : table) {
        stored.modules[0].attempts[0].record.cases[3].failure->traceback = path;
        EXPECT_THAT(text_of(3), HasSubstr("```text\n" + shown + "\n```"));
    }
}

class TorchIssue : public IssueText {
  protected:
    // The error of row 3 with torch 2.13.0, beside the same test with an older torch.
    std::string text(const std::function<void(samples::Run&)>& change_older) const {
        samples::Run older = stored;
        older.info.torch = "2.12.1";
        change_older(older);
        const auto side = [&](samples::Run run) {
            run.info = portable_info(run.info);
            const samples::Model model = samples::model(run, folder.root() / "run");
            return TestWithTorch{model.run, model.modules.at(0).cases.at(3)};
        };
        const TestWithTorch now = side(stored), before = side(older);
        EXPECT_EQ(torch_differs(before.test, now.test), !is_same) << "signatures decide";
        return torch_issue(now, before, {{"/venv", "ENV"}, {"/venv/lib/deep", "DEEP"}});
    }
    static parsers::CaseRecord& row(samples::Run& run) {
        return run.modules[0].attempts[0].record.cases[3];
    }
    bool is_same = false;
};

TEST_F(TorchIssue, ShowsWhatDiffersAndNothingOfThisMachine) {
    stored.info.shim = false;
    stored.info.remote = "https://forge.example/alpha.git";
    stored.info.env.emplace_back("PYTHONPATH", "/x:" + (root / "lib").string());
    row(stored).failure->traceback +=
        "/venv/lib/deep/a.py:/venv:/venv/b.py /venvs/c.py /opt/venv/x " + (root / "d.py").string() +
        " /tmp/pytest-of-ann/e.py";
    const std::string issue = text([](samples::Run& older) {
        row(older).failure->message = "another kernel";
        row(older).failure->signature = "another";
    });
    EXPECT_THAT(issue, testing::StartsWith("# `tests/ops/test_a.py::T::test_e` breaks with torch "
                                           "`2.13.0`, otherwise than with `2.12.1`\n"));
    for (const char* part :
         {"```diff\n- errored: RuntimeError: another kernel\n+ errored: RuntimeError: no "
          "kernel\n```",
          "DEEP/a.py:ENV:ENV/b.py /venvs/c.py /opt/venv/x SUITE/d.py /tmp/pytest-of-user/e.py",
          "pip install torch==2.13.0  # with 2.12.1: errored\ngit clone "
          "https://forge.example/alpha.git suite && cd suite && git checkout 0123abcd\n",
          "env 'NOTE=it'\\''s' PYTHONPATH=lib python -m unittest -v ", "PyTorch version: 2.13.0\n",
          "OS: Debian 12", "[pip3] numpy==2.4.6\n"})
        EXPECT_THAT(issue, HasSubstr(part));
    for (const std::string mine : {root.string(), std::string("ACTIVATE_"), std::string("WARNING")})
        EXPECT_THAT(issue, Not(HasSubstr(mine)));
}

TEST_F(TorchIssue, ShowsALongLineFromShortlyBeforeTheDifference) {
    const auto words = [](std::string_view word, int times) {
        std::string text;
        while (times-- > 0) text += word;
        return text;
    };
    // No character is cut: the 60 bytes before the difference begin within an "é".
    row(stored).failure->message = words("é", 2000) + " now" + words("y", 4000);
    const std::string issue = text([&](samples::Run& older) {
        row(older).failure->message = words("é", 2000) + " before";
        row(older).failure->signature = "another";
    });
    EXPECT_THAT(issue, HasSubstr("- …" + words("é", 29) + " before\n+ …" + words("é", 29) + " now" +
                                 words("y", 238) + "…\n"));
}

TEST_F(TorchIssue, WarnsOfASimulatedDevice) {
    stored.info.simulated = "mps";
    const auto pass = [](samples::Run& older) {
        row(older).state = parsers::State::passed;
        row(older).failure.reset();
    };
    const std::string issue = text(pass);
    EXPECT_THAT(issue, HasSubstr("\n\n> [!WARNING]\n> **Not for PyTorch as it is.** The device "
                                 "`mps` was **simulated** on a CPU"));
    EXPECT_LT(issue.find("WARNING"), issue.find("### "));
    EXPECT_THAT(issue, HasSubstr("- passed\n+ errored: RuntimeError: no kernel\n"));
    EXPECT_THAT(issue, HasSubstr("runner suites/alpha --root SUITE "));
    stored.info.simulated.reset();
    EXPECT_THAT(text(pass), HasSubstr("Requests for devices were **redirected**"));
}

TEST_F(TorchIssue, IsNoneWhereTheFailureIsTheSame) {
    is_same = true;
    (void)text([](samples::Run&) {});
    (void)text([](samples::Run& older) { row(older).state = parsers::State::skipped; });
}

}  // namespace
}  // namespace compat::reports
