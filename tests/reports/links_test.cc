#include "reports/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runner/base/files.h"
#include "tests/support/temp_tree.h"

namespace compat::reports {
namespace {

namespace fs = std::filesystem;

TEST(ForgeTemplate, SupportsTheFormsOfRemotesAndForges) {
    const struct {
        const char* remote;
        const char* link;
    } table[] = {
        {"https://github.com/a/b.git", "https://github.com/a/b/blob/c0ffee/{path}#L{line}"},
        {"https://github.com/a/b", "https://github.com/a/b/blob/c0ffee/{path}#L{line}"},
        {"https://github.com/a/b/", "https://github.com/a/b/blob/c0ffee/{path}#L{line}"},
        {"git@github.com:a/b.git", "https://github.com/a/b/blob/c0ffee/{path}#L{line}"},
        {"ssh://git@github.com:22/a/b.git", "https://github.com/a/b/blob/c0ffee/{path}#L{line}"},
        {"git://github.com/a/b", "https://github.com/a/b/blob/c0ffee/{path}#L{line}"},
        {"https://user:word@gitlab.example.org/g/s/b.git",
         "https://gitlab.example.org/g/s/b/-/blob/c0ffee/{path}#L{line}"},
        {"https://codeberg.org/a/b.git",
         "https://codeberg.org/a/b/src/commit/c0ffee/{path}#L{line}"},
        {"https://gitea.example:3000/a/b",
         "https://gitea.example:3000/a/b/src/commit/c0ffee/{path}#L{line}"},
        {"https://example.org/a/b.git", ""},
        {"/srv/git/b.git", ""},
        {"", ""},
    };
    for (const auto& [remote, link] : table)
        EXPECT_EQ(forge_template(remote, "c0ffee"), link) << remote;
    EXPECT_EQ(forge_template("https://github.com/a/b", ""), "");
}

class LinksTest : public testing::Test {
  protected:
    void SetUp() override { write("tests/test_a.py", "one\ntwo\nthree"); }
    void write(const std::string& path, const std::string& text) const {
        fs::create_directories((root / path).parent_path());
        std::ofstream(root / path) << text;
    }
    LinkSource source() const {
        LinkSource s;
        s.root = root;
        s.copies = folder.root() / "run/source";
        s.report_folder = folder.root() / "run";
        return s;
    }

    test::TempTree folder;
    fs::path root = folder.root() / "src";
};

TEST_F(LinksTest, ABaseLinksToPlacesInTheSource) {
    LinkSource s = source();
    s.base = "https://forge.example/b/{commit}/{path}?x#L{line}";
    s.commit = "v1";
    LinkResolver links(s);
    const std::string file = root / "tests/test_a.py";
    EXPECT_EQ(links.resolve({file, 3}), "https://forge.example/b/v1/tests/test_a.py?x#L3");
    EXPECT_EQ(links.resolve({file, 0}), "https://forge.example/b/v1/tests/test_a.py?x");
    EXPECT_EQ(links.resolve({file, 4}), "") << "three lines, the last without an end";
    EXPECT_EQ(links.resolve({file, -1}), "");
    EXPECT_EQ(links.resolve({root / "tests/none.py", 1}), "");
    EXPECT_EQ(links.resolve({root / "tests", 0}), "") << "a folder";
    EXPECT_EQ(links.resolve({"/etc/passwd", 1}), "");
    EXPECT_EQ(links.resolve({root / "../src2/test_a.py", 1}), "");
    EXPECT_EQ(links.resolve({"", 0}), "");
    links.count({file, 3});
    links.count({file, 4});
    links.count({"/etc/passwd", 1});
    EXPECT_EQ(links.total(), 3);
    EXPECT_EQ(links.unresolved(), 2);
    EXPECT_FALSE(fs::exists(folder.root() / "run")) << "copies are for sources without a forge";
}

TEST_F(LinksTest, FilesAreFoundUnderOtherNamesOfTheRoot) {
    fs::create_directory_symlink(root, folder.root() / "alias");
    LinkSource s = source();
    s.base = "https://forge.example/{path}#L{line}";
    LinkResolver links(s);
    const std::string alias = folder.root() / "alias/tests/../tests/test_a.py";
    EXPECT_TRUE(links.in_suite(alias));
    EXPECT_EQ(links.shown(alias), "tests/test_a.py");
    EXPECT_EQ(links.resolve({alias, 1}), "https://forge.example/tests/test_a.py#L1");
    EXPECT_EQ(links.resolve({"tests/test_a.py", 2}), "https://forge.example/tests/test_a.py#L2");
    for (const char* other :
         {"/usr/lib/python3/unittest.py", "<frozen os>", "<string>", "<lambda>.0"})
        EXPECT_FALSE(links.in_suite(other)) << other;
    EXPECT_EQ(links.shown("/usr/lib/python3/unittest.py"), "/usr/lib/python3/unittest.py");
}

TEST_F(LinksTest, PackagesOfTheProjectsEnvironmentAreNotItsCode) {
    const std::string torch = ".venv/lib/python3.11/site-packages/torch/cuda/__init__.py";
    write(torch, "one");
    LinkResolver links(source());
    EXPECT_FALSE(links.in_suite(root / torch));
    EXPECT_EQ(links.resolve({root / torch, 1}), "");
    // A suite may itself be installed.
    LinkSource installed = source();
    installed.root = root / ".venv/lib/python3.11/site-packages/torch";
    EXPECT_TRUE(LinkResolver(installed).in_suite(root / torch));
}

TEST_F(LinksTest, PathsOnAForgeStartAtTheTopOfTheWorkTree) {
    fs::create_directory(folder.root() / ".git");
    LinkSource s = source();
    s.remote = "git@github.com:a/b.git";
    s.commit = "c0ffee";
    LinkResolver links(s);
    EXPECT_EQ(links.resolve({root / "tests/test_a.py", 1}),
              "https://github.com/a/b/blob/c0ffee/src/tests/test_a.py#L1");
}

TEST_F(LinksTest, WithoutAForgeTheFilesAreCopiedAndLinkedRelatively) {
    const struct {
        const char* why;
        void (*change)(LinkSource&);
    } table[] = {
        {"no remote", [](LinkSource& s) { s.commit = "c"; }},
        {"changed since the commit",
         [](LinkSource& s) {
             s.remote = "https://github.com/a/b";
             s.commit = "c";
             s.dirty = true;
         }},
        {"a base that needs a commit and has none",
         [](LinkSource& s) { s.base = "https://x.example/{commit}/{path}#L{line}"; }},
        {"a base that no browser should follow",
         [](LinkSource& s) { s.base = "javascript:alert('{path}#L{line}')"; }},
    };
    for (const auto& [why, change] : table) {
        fs::remove_all(folder.root() / "run");
        LinkSource s = source();
        change(s);
        LinkResolver links(s);
        EXPECT_EQ(links.resolve({root / "tests/test_a.py", 2}), "source/tests/test_a.py#L2") << why;
        EXPECT_EQ(links.resolve({root / "tests/none.py", 0}), "") << why;
        EXPECT_EQ(read_file(folder.root() / "run/source/tests/test_a.py"), "one\ntwo\nthree")
            << why;
    }
}

TEST_F(LinksTest, NothingIsReadWhereLinksLeadOutOfTheProject) {
    const auto secret = folder.write("elsewhere/secret.py", "one\n");
    fs::create_symlink(secret, root / "tests/link.py");
    fs::create_directory_symlink(secret.parent_path(), root / "folder");
    fs::create_symlink("test_a.py", root / "tests/inside.py");
    LinkResolver links(source());
    EXPECT_EQ(links.resolve({root / "tests/link.py", 1}), "");
    EXPECT_EQ(links.resolve({root / "folder/secret.py", 1}), "");
    EXPECT_EQ(links.resolve({root / "tests/inside.py", 1}), "source/tests/inside.py#L1");
    EXPECT_FALSE(fs::exists(folder.root() / "run/source/tests/link.py"));
    EXPECT_EQ(source_of_frame(root, secret), "");
    EXPECT_EQ(source_of_frame(root, "tests/test_a.py"), root / "tests/test_a.py");
    const auto installed = folder.write("env/lib/site-packages/a.py", "one\n");
    EXPECT_EQ(source_of_frame(root, installed), installed);
}

TEST_F(LinksTest, WithoutLeaveToCopyOnlyCopiesThatAreThereAreLinked) {
    write("tests/test_b.py", "one\n");
    LinkSource s = source();
    EXPECT_NE(LinkResolver(s).resolve({root / "tests/test_a.py", 1}), "");
    s.may_copy = false;
    LinkResolver links(s);
    for (const char* file : {"tests/test_a.py", "tests/test_b.py"}) links.count({root / file, 1});
    EXPECT_EQ(links.resolve({root / "tests/test_a.py", 1}), "source/tests/test_a.py#L1");
    EXPECT_EQ(links.resolve({root / "tests/test_b.py", 1}), "");
    EXPECT_FALSE(fs::exists(folder.root() / "run/source/tests/test_b.py"));
    EXPECT_THAT(links.copied(), testing::ElementsAre("tests/test_a.py"));
    EXPECT_EQ(links.total(), 2);
    EXPECT_EQ(links.unresolved(), 0) << "the line is there";
    links.count({root / "tests/test_b.py", 2});
    EXPECT_EQ(links.unresolved(), 1);
}

TEST_F(LinksTest, CopiesOutliveTheSource) {
    EXPECT_NE(LinkResolver(source()).resolve({root / "tests/test_a.py", 3}), "");
    write("tests/test_a.py", "now\nit\nis\nlonger\n");
    EXPECT_EQ(LinkResolver(source()).resolve({root / "tests/test_a.py", 4}), "")
        << "the run saw three lines";
    fs::remove_all(root);
    LinkSource s = source();
    s.report_folder = folder.root() / "else/where";
    EXPECT_EQ(LinkResolver(s).resolve({root / "tests/test_a.py", 3}),
              "../../run/source/tests/test_a.py#L3");
}

TEST_F(LinksTest, NamesAreEncoded) {
    write("tests/a b(1)#%?.py", "x\n");
    LinkSource s = source();
    s.base = "https://forge.example/{path}#L{line}";
    EXPECT_EQ(LinkResolver(s).resolve({root / "tests/a b(1)#%?.py", 1}),
              "https://forge.example/tests/a%20b%281%29%23%25%3F.py#L1");
}

}  // namespace
}  // namespace compat::reports
