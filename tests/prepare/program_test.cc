// Finding the file that a command starts and its Python, with files in a temporary folder. Not
// here: starting programs.
#include "runner/prepare/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temp_tree.h"

namespace compat::prepare {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

TEST(InterpreterOfScript, ReadsEachFormOfTheFirstLines) {
    struct Row {
        const char *head, *interpreter;
    };
    const Row table[] = {
        {"", ""},
        {"\x7f"
         "ELF",
         ""},
        {"import sys\n", ""},
        {"#!/bin/sh\necho\n", "/bin/sh"},
        {"#!/v/bin/python3.11 -u\nimport sys\n", "/v/bin/python3.11"},
        {"#! /v/bin/python\r\n", "/v/bin/python"},
        {"#!/usr/bin/env python3\n", "python3"},
        {"#!/usr/bin/env -S A=1 python3 -u\n", "python3"},
        {"#!/usr/bin/env\n", ""},
        {"#!/bin/sh\n'''exec' \"/a b/bin/python\" \"$0\" \"$@\"\n' '''\n", "/a b/bin/python"},
        {"#!/bin/sh\n'''exec' /very/long/python \"$0\" \"$@\"\n' '''\n", "/very/long/python"},
        {"#!/bin/sh\n'''exec' '/a b/python' \"$0\" \"$@\"\n' '''\n", "/a b/python"},
        {"#!/bin/sh\n'''exec' \"/cut of", "/cut of"},
        {"#!", ""},
    };
    for (const auto& row : table)
        EXPECT_EQ(interpreter_named_in(row.head), row.interpreter) << row.head;
}

class ProgramTest : public ::testing::Test {
  protected:
    fs::path program(const fs::path& path, std::string_view text =
                                               "\x7f"
                                               "ELF") const {
        const fs::path whole = tree.write(path, text);
        fs::permissions(whole, fs::perms::owner_all);
        return whole;
    }
    [[nodiscard]] std::string path() const {
        return (tree.root() / "empty").string() + ":" + (tree.root() / "bin").string();
    }

    test::TempTree tree;
};

TEST_F(ProgramTest, FindsACommandLikeAShell) {
    const auto tool = program("bin/tool");
    tree.write("bin/text", "not executable");
    fs::create_directories(tree.root() / "empty/tool");  // a folder is not a program
    EXPECT_EQ(find_command("tool", path()).value(), tool);
    EXPECT_EQ(find_command(tool.string(), "").value(), tool);
    EXPECT_THAT(find_command("text", path()).error().message,
                HasSubstr("no program text on the PATH"));
    EXPECT_THAT(find_command("", path()).error().message, HasSubstr("no program"));
    const auto folder = find_command((tree.root() / "bin").string(), path());
    EXPECT_THAT(folder.error().message, HasSubstr("a folder"));
    EXPECT_EQ(folder.error().kind, ErrorKind::usage);
    const auto broken = program("bin/broken", "#!/nowhere/python -u\n");
    EXPECT_EQ(find_command("broken", path()).error().message,
              "its first line names /nowhere/python, which does not exist");
}

TEST_F(ProgramTest, FindsThePythonThatRunsAScript) {
    const auto first = program("bin/python3");
    const auto of_venv = program("venv/bin/python");
    const auto other = program("o ther/bin/python3.11");
    const std::string venv = (tree.root() / "venv").string();
    const auto python = [&](const fs::path& file, const std::string& active) {
        return python_of(file, path(), active);
    };
    EXPECT_EQ(python(other, venv), other) << "an interpreter is its own Python";
    EXPECT_EQ(python(program("s/a", "#!" + of_venv.string() + "\n"), ""), of_venv);
    EXPECT_EQ(python(program("s/b", "#!/usr/bin/env python3\n"), venv), first);
    EXPECT_EQ(
        python(program("s/c", "#!/bin/sh\n'''exec' \"" + other.string() + "\" \"$0\"\n"), venv),
        other);
    fs::create_symlink(other, tree.root() / "s/py");
    EXPECT_EQ(python(tree.root() / "s/py", venv), tree.root() / "s/py");
}

TEST_F(ProgramTest, UsesTheActivePythonForOtherPrograms) {
    const auto first = program("bin/python3");
    const auto of_venv = program("venv/bin/python");
    for (const char* text : {"\x7f"
                             "ELF",
                             "#!/bin/sh\npython train.py\n"}) {
        const auto launcher = program("s/launch", text);
        EXPECT_EQ(python_of(launcher, path(), (tree.root() / "venv").string()), of_venv);
        EXPECT_EQ(python_of(launcher, path(), ""), first);
        EXPECT_EQ(python_of(launcher, path(), "/gone"), first);
        EXPECT_EQ(python_of(launcher, "/nowhere", ""), "");
    }
    EXPECT_EQ(python_of(program("s/python-config", "#!/bin/sh\n"), path(), ""), first);
}

}  // namespace
}  // namespace compat::prepare
