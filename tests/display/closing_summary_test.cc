// The closing lines of a run.
#include "runner/display/closing_summary.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/temp_tree.h"

namespace compat::display {
namespace {

class ClosingTest : public ::testing::Test {
  protected:
    ClosingTest() {
        model_.run.suite = "s";
        model_.run.python = (tree_.root() / "env" / "bin" / "python").string();
        model_.totals.modules = model_.totals.collected = 3;
        model_.totals.states[static_cast<size_t>(parsers::State::errored)] = 3;
        model_.load_failures = {
            {"ModuleNotFoundError: No module named 'x'", "ModuleNotFoundError", "a.py", "", 3}};
    }
    std::string printed() const {
        ::testing::internal::CaptureStdout();
        print_closing(model_, "report.md");
        std::fflush(stdout);
        return ::testing::internal::GetCapturedStdout();
    }

    test::TempTree tree_;
    reports::ReportModel model_;
};

TEST_F(ClosingTest, NamesTheOwnerOfAnEnvironmentThatLacksAPackage) {
    EXPECT_NE(printed().find("a package is missing in your Python environment: " +
                             model_.run.python + " -m pip install"),
              std::string::npos);
    tree_.write("env.complete");
    const std::string own = printed();
    EXPECT_NE(own.find("the runner made this Python environment"), std::string::npos);
    EXPECT_NE(own.find("requirements"), std::string::npos);
    EXPECT_NE(own.find("--python"), std::string::npos);
    EXPECT_EQ(own.find("your Python environment"), std::string::npos);
}

TEST_F(ClosingTest, CountsModulesIfNoTestWasCollected) {
    EXPECT_NE(printed().find("s: 3 modules could not be loaded, no test was collected ("),
              std::string::npos);
    model_.totals.collected = 5;
    EXPECT_NE(printed().find("s: 5 tests in 3 modules: 3 errored ("), std::string::npos);
    EXPECT_NE(printed().find("not loaded: 3 modules: ModuleNotFoundError: No module named 'x'\n"),
              std::string::npos);
}

TEST_F(ClosingTest, GivesNoAdviceForImportedResults) {
    model_.run.imported = true;
    EXPECT_EQ(printed().find("package is missing"), std::string::npos);
}

}  // namespace
}  // namespace compat::display
