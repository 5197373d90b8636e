#include "runner/serve/run_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "runner/http/body.h"
#include "tests/support/temp_tree.h"

namespace compat::serve {
namespace {

std::string read(http::Body& body) {
    std::string text;
    for (std::string_view piece = body.next(); !piece.empty(); piece = body.next()) text += piece;
    return text;
}

class RunFiles : public testing::Test {
  protected:
    // "<none>": there is no such file.
    std::string read(const std::vector<std::string>& components) const {
        const auto file = open_below(tree.root() / "run", components);
        return file ? serve::read(*http::file_body(file->fd, 0, file->size)) : "<none>";
    }
    test::TempTree tree;
};

TEST_F(RunFiles, AreReadBelowTheFolderAlone) {
    tree.write("run/modules/a/1.log", "log");
    tree.write("run/a%2e", "odd");
    tree.write("secret", "secret");
    EXPECT_EQ(read({"modules", "a", "1.log"}), "log");
    EXPECT_EQ(read({"a%2e"}), "odd");
    using Components = std::vector<std::string>;
    for (const Components& path :
         {Components{}, Components{"modules"}, Components{"modules", ""},
          Components{"..", "secret"}, Components{"../secret"},
          Components{"modules", "..", "..", "secret"}, Components{tree.root() / "secret"},
          Components{"a%2e", "x"}, Components{".", "a%2e"}, Components{"nothing"}})
        EXPECT_EQ(read(path), "<none>") << testing::PrintToString(path);
}

TEST_F(RunFiles, AreNoLinksAndNoPipes) {
    tree.write("run/file", "text");
    tree.write("secret/file", "secret");
    const auto run = tree.root() / "run";
    std::filesystem::create_symlink(tree.root() / "secret/file", run / "link");
    std::filesystem::create_symlink(tree.root() / "secret", run / "folder");
    std::filesystem::create_symlink("file", run / "inside");
    ASSERT_EQ(::mkfifo((run / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(read({"link"}), "<none>");
    EXPECT_EQ(read({"folder", "file"}), "<none>");
    EXPECT_EQ(read({"inside"}), "<none>");
    EXPECT_EQ(read({"pipe"}), "<none>");  // and does not wait for a writer
    EXPECT_EQ(read({"file"}), "text");
}

TEST_F(RunFiles, GiveTheBytesOfARange) {
    const std::string text(200'000, 'x');
    tree.write("run/file", text + "end");
    const std::vector<std::string> path{"file"};
    const auto file = open_below(tree.root() / "run", path);
    ASSERT_TRUE(file);
    const auto body = http::file_body(file->fd, 1, file->size - 1);
    EXPECT_EQ(body->size(), text.size() + 2);
    EXPECT_EQ(serve::read(*body), text.substr(1) + "end");
}

TEST(TypeOf, IsTextUnlessATableSaysOtherwise) {
    EXPECT_EQ(type_of("1.log"), "text/plain; charset=utf-8");
    EXPECT_EQ(type_of("x.svg"), "text/plain; charset=utf-8");  // a script could be in it
    EXPECT_EQ(type_of("report.html"), "text/html; charset=utf-8");
    EXPECT_EQ(type_of("report.json"), "application/json");
}

}  // namespace
}  // namespace compat::serve
