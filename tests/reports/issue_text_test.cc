// The text for an issue: its parts, and that nothing private is in it.
#include "reports/issue_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace compat::reports
