// The cache, tools, sources and probes, with real tools and files. Not here: programs of `runner
// exec` (program_test.cc).
#include "runner/prepare/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

#include "runner/base/files.h"
#include "runner/base/host.h"
#include "runner/prepare/tool.h"
#include "tests/paths.h"
#include "tests/support/temp_tree.h"

namespace compat::prepare {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

TEST(ContentKey, DependsOnEveryInputAndItsLength) {
    const auto key = content_key({"a", "bc"});
    EXPECT_EQ(key.size(), 32u);
    EXPECT_EQ(key, content_key({"a", "bc"}));
    EXPECT_NE(key, content_key({"ab", "c"}));
    EXPECT_NE(key, content_key({"bc", "a"}));
    EXPECT_NE(key, content_key({"a", "bc", ""}));
}

class CacheTest : public ::testing::Test {
  protected:
    test::TempTree tree;
    Cache cache{tree.root() / "cache"};
};

TEST_F(CacheTest, CreatesAnEntryOnce) {
    int made = 0;
    const auto make = [&](const fs::path& folder, const fs::path&) -> Expected<std::string> {
        ++made;
        std::ofstream(folder / "file") << "content";
        return "note";
    };
    const auto first = cache.get("kind", "name", content_key({"x"}), make);
    const auto second = cache.get("kind", "name", content_key({"x"}), make);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(made, 1);
    EXPECT_TRUE(first->made);
    EXPECT_FALSE(second->made);
    EXPECT_EQ(second->note, "note");
    EXPECT_EQ(read_file(second->folder / "file").value(), "content");
    ASSERT_TRUE(cache.get("kind", "name", content_key({"y"}), make));
    EXPECT_EQ(made, 2);
}

TEST_F(CacheTest, LeavesNoEntryAfterAFailureAndRetries) {
    const auto bad = [&](const fs::path& folder, const fs::path&) -> Expected<std::string> {
        std::ofstream(folder / "half") << "made";
        return fail(ErrorKind::environment, "no luck");
    };
    const auto failed = cache.get("kind", "name", content_key({"x"}), bad);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message, "no luck");
    const auto good = [&](const fs::path& folder, const fs::path&) -> Expected<std::string> {
        EXPECT_TRUE(fs::is_empty(folder));
        return "";
    };
    EXPECT_TRUE(cache.get("kind", "name", content_key({"x"}), good));
}

TEST_F(CacheTest, DiscardsTheIncompleteEntryOfADeadProcess) {
    const auto key = content_key({"x"});
    tree.write(fs::path("cache/kind") / entry_name("name", key) / "half", "made");
    const auto entry = cache.get("kind", "name", key, [&](const fs::path& folder, const fs::path&) {
        EXPECT_TRUE(fs::is_empty(folder));
        return Expected<std::string>("");
    });
    EXPECT_TRUE(entry && entry->made);
}

TEST_F(CacheTest, LetsOtherThreadsWaitForTheCreator) {
    std::atomic<int> made{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            const auto entry = cache.get(
                "kind", "name", content_key({"x"}), [&](const fs::path&, const fs::path&) {
                    ++made;
                    std::this_thread::sleep_for(std::chrono::milliseconds(50));
                    return Expected<std::string>("note");
                });
            EXPECT_EQ(entry.value().note, "note");
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(made, 1);
}

TEST(Tool, NamesTheErrorLineAndTheLogOfAFailure) {
    const test::TempTree tree;
    const auto done = run_tool(
        {{"python3", "-c", "print('fine'); raise SystemExit('an error: no space')"}, ".", {}},
        tree.root() / "log");
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr("exit code 1: an error: no space"));
    EXPECT_THAT(done.error().advice, HasSubstr((tree.root() / "log").string()));
    EXPECT_THAT(read_file(tree.root() / "log").value(), HasSubstr("fine\n"));
}

TEST(Tool, EndsOneThatIgnoresItsLimit) {
    const test::TempTree tree;
    Tool tool{{"sh", "-c", "trap '' ALRM TERM; exec sleep 100"}};
    tool.limit_s = 1;
    const auto ran = run_tool(tool, tree.root() / "log");
    ASSERT_FALSE(ran);
    EXPECT_THAT(ran.error().message, HasSubstr("timed out after 1 s"));
    const auto read = output_of(tool);
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, HasSubstr("timed out after 1 s"));
}

TEST(Tool, EndsWhatItStartedAtItsLimit) {
    const test::TempTree tree;
    const fs::path late = tree.root() / "late";
    Tool tool{{"sh", "-c", "(sleep 2; echo here >late) & wait"}, tree.root()};
    tool.limit_s = 1;
    ASSERT_FALSE(run_tool(tool, tree.root() / "log"));
    std::this_thread::sleep_for(std::chrono::seconds(2));
    EXPECT_FALSE(fs::exists(late));
}

TEST(Tool, ItsLongOutputIsNotHeldInMemory) {
    const test::TempTree tree;
    const auto max_rss = [] {
        rusage used{};
        ::getrusage(RUSAGE_SELF, &used);
        return bytes_of(used).max_rss;
    };
    // In a process of its own: the peak of this one is that of an earlier test.
    const pid_t child = ::fork();
    if (child == 0) {
        const auto before = max_rss();
        const auto ran = run_tool({{"sh", "-c", "yes | head -c 300000000; echo an error; exit 3"}},
                                  tree.root() / "log");
        const bool told = !ran && ran.error().message.ends_with("exit code 3: an error");
        ::_exit(!told ? 2 : max_rss() - before < 50 << 20 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

TEST(Tool, EndsOneWithALimitThatWritesWithoutEnd) {
    const test::TempTree tree;
    Tool tool{{"sh", "-c", "yes; true"}};
    tool.limit_s = 60;
    const auto ran = run_tool(tool, tree.root() / "log");
    ASSERT_FALSE(ran);
    EXPECT_THAT(ran.error().message, HasSubstr("wrote more than 64 MiB: y"));
    EXPECT_LT(fs::file_size(tree.root() / "log"), std::uintmax_t{1} << 32);
}

TEST(Tool, EndsWithABlockedSignalThatEndsUs) {
    const test::TempTree tree;
    sigset_t term, before;
    ::sigemptyset(&term);
    ::sigaddset(&term, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &term, &before);
    ::kill(::getpid(), SIGTERM);
    const auto begun = std::chrono::steady_clock::now();
    const auto ran = run_tool({{"sh", "-c", "trap '' TERM; exec sleep 30"}}, tree.root() / "log");
    const auto took = std::chrono::steady_clock::now() - begun;
    int signal = 0;
    ::sigwait(&term, &signal);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().kind, ErrorKind::interrupted);
    EXPECT_LT(took, std::chrono::seconds(20));
}

TEST(Tool, IsReadWithoutWhatItLeftBehind) {
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(output_of({{"sh", "-c", "sleep 30 & echo done"}}).value(), "done\n");
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20));
}

TEST(Tool, GitStartsNoProgramThatARepositoryNames) {
    const test::TempTree tree;
    tree.write("repository/a", "1");
    const std::string mark = tree.root() / "mark";
    const auto watch = tree.write("watch", "#!/bin/sh\ntouch '" + mark + "'\n");
    fs::permissions(watch, fs::perms::owner_all);
    const fs::path folder = tree.root() / "repository";
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"init", "--quiet"}, {"add", "a"}, {"config", "core.fsmonitor", watch}})
        ASSERT_TRUE(output_of(git(folder, words)));
    EXPECT_TRUE(output_of(git(folder, {"status", "--porcelain"})));
    EXPECT_FALSE(fs::exists(mark));
    EXPECT_TRUE(output_of({{"git", "-C", folder.string(), "status", "--porcelain"}}));
    EXPECT_TRUE(fs::exists(mark)) << "the program is never started";
}

TEST(Tool, SaysHowToInstallAMissingProgram) {
    const auto done = output_of({{"no-such-program"}, ".", {}});
    ASSERT_FALSE(done);
    EXPECT_EQ(to_line(done.error()),
              "no-such-program is not installed: install it (on Debian: apt-get install "
              "no-such-program)");
}

TEST(Tool, PassesArgumentsUnchanged) {
    EXPECT_EQ(
        output_of(
            {{"python3", "-c", "import sys; print(sys.argv[1:])", "a b", "$HOME", "'"}, ".", {}})
            .value(),
        "['a b', '$HOME', \"'\"]\n");
    EXPECT_EQ(output_of({{"python3", "-c", "import os; print(os.environ['X'])"}, ".", {{"X", "1"}}})
                  .value(),
              "1\n");
}

// Tools that run until the others' output has been read.
TEST(Tool, ReadsNoLongerThanItsOwnToolRuns) {
    const test::TempTree tree;
    constexpr unsigned kLimit = 10;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&, i] {
            const auto done = run_tool({{"bash", "-c", "until [ -e done ]; do sleep 0.1; done"},
                                        tree.root(),
                                        {},
                                        {},
                                        kLimit},
                                       tree.root() / std::to_string(i));
            EXPECT_TRUE(done) << to_line(done.error());
        });
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(output_of({{"true"}, ".", {}}));
    tree.write("done");
    for (auto& thread : threads) thread.join();
}

class SourceTest : public ::testing::Test {
  protected:
    SourceTest() {
        share.prepare = COMPAT_SOURCE_DIR "/runner/prepare";
        suite.name = "s";
        environment.python = find_program("python3");
    }
    Expected<Source> get() {
        return get_source(suite, options, environment, share, Cache(tree.root() / "cache"),
                          [](std::string_view) {});
    }
    test::TempTree tree;
    suites::Suite suite;
    Options options;
    Share share;
    Environment environment;
};

TEST_F(SourceTest, ClonesAGitSourceAtItsRevision) {
    const fs::path origin = tree.root() / "origin";
    tree.write("origin/file", "one");
    const auto git = [&](std::vector<std::string> words) {
        words.insert(words.begin(),
                     {"git", "-C", origin.string(), "-c", "user.name=n", "-c", "user.email=e@x"});
        ASSERT_TRUE(output_of({words, ".", {}}));
    };
    git({"init", "-q"});
    git({"add", "."});
    git({"commit", "-qm", "one"});
    git({"tag", "v1"});
    tree.write("origin/file", "two");
    git({"commit", "-qam", "two"});
    suite.source = {suites::SourceKind::git, "file://" + origin.string(), "v1"};
    const auto source = get();
    ASSERT_TRUE(source) << to_line(source.error());
    EXPECT_EQ(read_file(source->root / "file").value(), "one");
    EXPECT_EQ(source->commit.size(), 40u);
    EXPECT_FALSE(source->dirty);
    std::ofstream(source->root / "file") << "changed";
    EXPECT_TRUE(get()->dirty);
}

// The test program's folder is not on the PATH, as the folder of a runner in an environment that is
// not active.
TEST(BuildPath, StartsWithTheFolderOfTheProgramUnlessPathHasIt) {
    const std::string own = program_path().parent_path();
    const std::string path = std::getenv("PATH");
    EXPECT_EQ(build_path(), own + ":" + path);
    ::setenv("PATH", (path + ":" + own).c_str(), 1);
    EXPECT_EQ(build_path(), path + ":" + own);
    ::setenv("PATH", path.c_str(), 1);
}

TEST_F(SourceTest, AToolIsFoundOnItsOwnPath) {
    const fs::path file = tree.write("tools/no-such-tool-elsewhere", "#!/bin/sh\nprintf here");
    fs::permissions(file, fs::perms::owner_all);
    Tool tool{{"no-such-tool-elsewhere"}, ".", {}};
    EXPECT_FALSE(output_of(tool));
    tool.env = {{"PATH", "/none:" + file.parent_path().string()}};
    EXPECT_EQ(output_of(tool).value(), "here");
}

// Prepares a suite with scripts for its Python, git and cmake.
class PrepareTest : public SourceTest {
  protected:
    PrepareTest() {
        options.python = script(
            "python",
            R"(echo '{"torch": {"version": "9.9+cpu", "git": "", "folder": "/"}, "packages": {}}')");
        share.shim = tree.root() / "shim";
        tree.write("shim/shim.cc");
        suite.source = {suites::SourceKind::git, "file:///nowhere", "v1"};
    }
    fs::path script(const std::string& name, const std::string& body) {
        const fs::path file = tree.root() / "bin" / name;
        tree.write(fs::path("bin") / name, "#!/bin/bash\ncd " + tree.root().string() + "\n" + body);
        fs::permissions(file, fs::perms::owner_all);
        return file;
    }
    Expected<Prepared> prepare_suite(const Say& say = [](std::string_view) {}) {
        const std::string path = std::getenv("PATH");
        ::setenv("PATH", ((tree.root() / "bin").string() + ":" + path).c_str(), 1);
        auto prepared = prepare(suite, options, share, Cache(tree.root() / "cache"), say);
        ::setenv("PATH", path.c_str(), 1);
        return prepared;
    }
};

// git and cmake each wait until the other has been called.
TEST_F(PrepareTest, TheShimIsBuiltWhileTheSourceIsFetched) {
    const std::string wait = "for i in $(seq 100); do [ -e $0.other ] && break; sleep 0.1; done; ";
    script("git", "touch bin/cmake.other; " + wait + "[ -e $0.other ]");
    script("cmake",
           "touch bin/git.other; " + wait +
               "for a; do case $a in -DCMAKE_INSTALL_PREFIX=*) echo ${a#*=} >prefix;; esac; done\n"
               "[ $1 != --install ] || touch $(cat prefix)/_compat_shim.abi.so");
    const auto prepared = prepare_suite();
    ASSERT_TRUE(prepared) << to_line(prepared.error());
    EXPECT_EQ(prepared->shim_library.filename(), "_compat_shim.abi.so");
}

// git and the installation of torch each wait until the other has begun.
TEST_F(PrepareTest, TheSourceIsFetchedWhileTorchIsInstalled) {
    const std::string wait =
        "for i in $(seq 100); do [ -e $me ] && exit 0; sleep 0.1; done; exit 1";
    script("git", "touch pip; me=git; " + wait);
    options.base_python = script("base", "[ $1 != -m ] || mkdir -p $3/bin && cp bin/python $3/bin");
    script("python", "case \"$*\" in *install*9.9*) touch git; me=pip; " + wait + ";; esac\n" +
                         read_file(options.python).value());
    options.python.clear();
    options.torch_requirement = "torch==9.9";
    options.shim = false;
    const auto prepared = prepare_suite();
    ASSERT_TRUE(prepared) << to_line(prepared.error());
    EXPECT_EQ(prepared->environment.torch_version, "9.9+cpu");
    EXPECT_TRUE(fs::exists(prepared->source.root));
}

// The source fails while the shim's thread, which hashes a large file first, has yet to read what
// it builds for.
TEST_F(PrepareTest, TheShimsThreadOutlivesAFailingSource) {
    script("git", "exit 1");
    script("cmake", "[ $1 != -S ] || echo $@ >asked; exit 1");
    tree.write("shim/large.h", std::string(8 << 20, ' '));
    const auto prepared = prepare_suite([](std::string_view line) {
        if (line.starts_with("building")) std::this_thread::sleep_for(std::chrono::seconds(1));
    });
    ASSERT_FALSE(prepared);
    EXPECT_THAT(prepared.error().message, HasSubstr("cannot get the source"));
    EXPECT_THAT(read_file(tree.root() / "asked").value(),
                HasSubstr("-DPython_EXECUTABLE=" + options.python.string() + " "));
}

TEST_F(PrepareTest, MissingHeadersOfPythonAreReportedBeforeTheBuild) {
    options.python = script(
        "python",
        R"(echo '{"torch": {"version": "9.9+cpu"}, "headers": "/nowhere", "packages": {}}')");
    script("cmake", "touch called; exit 1");
    options.root = tree.root();
    const auto prepared = prepare_suite();
    ASSERT_FALSE(prepared);
    EXPECT_THAT(to_line(prepared.error()), HasSubstr("/nowhere/Python.h"));
    EXPECT_THAT(to_line(prepared.error()), HasSubstr("apt-get install python3-dev"));
    EXPECT_FALSE(fs::exists(tree.root() / "called"));
}

TEST_F(PrepareTest, AFreeThreadedPythonIsRefusedBeforeAnythingIsBuilt) {
    const std::string answer =
        R"(echo '{"soabi": "cpython-314t-x86_64-linux-gnu", "torch": {"version": "9.9"}, "packages": {}}')";
    script("cmake", "touch called; exit 1");
    options.root = tree.root();
    options.python = script("python", answer);
    const auto existing = prepare_suite();
    ASSERT_FALSE(existing);
    EXPECT_THAT(to_line(existing.error()), HasSubstr("free-threaded"));
    EXPECT_THAT(to_line(existing.error()), HasSubstr(options.python.string()));
    options.python.clear();
    options.base_python = script("base", "[ $1 != -m ] || touch called; " + answer);
    const auto made = prepare_suite();
    ASSERT_FALSE(made);
    EXPECT_THAT(to_line(made.error()), HasSubstr("free-threaded"));
    EXPECT_FALSE(fs::exists(tree.root() / "called"));
    options.shim = false;
    options.python = script("python", answer);
    EXPECT_TRUE(prepare_suite());
}

TEST(Gil, IsMissingWhereTheAbiSaysSo) {
    Environment environment;
    for (const auto& [abi, has_gil] :
         std::map<std::string, bool>{{"cpython-315t-darwin", false},
                                     {"cpython-314td-x86_64-linux-gnu", false},
                                     {"cpython-314-x86_64-linux-gnu", true},
                                     {"cpython-38d-x86_64-linux-gnu", true},
                                     {"pypy311-pp73-x86_64-linux-gnu", true},
                                     {"", true}}) {
        environment.soabi = abi;
        EXPECT_EQ(check_gil(environment).has_value(), has_gil) << abi;
    }
}

TEST_F(PrepareTest, AMissingRootIsReportedBeforeAnythingIsBuilt) {
    script("cmake", "touch called; exit 1");
    options.root = tree.root() / "none";
    const auto prepared = prepare_suite();
    ASSERT_FALSE(prepared);
    EXPECT_THAT(prepared.error().message, HasSubstr("not a folder"));
    EXPECT_FALSE(fs::exists(tree.root() / "called"));
    EXPECT_FALSE(fs::exists(tree.root() / "cache"));
}

TEST_F(SourceTest, SuggestsRootForAnUnavailableSource) {
    suite.source = {suites::SourceKind::git, "file:///nonexistent", "v1"};
    const auto source = get();
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().kind, ErrorKind::environment);
    EXPECT_THAT(to_line(source.error()), HasSubstr("--root DIR"));
    options.root = tree.root();
    EXPECT_EQ(get()->root, fs::canonical(tree.root()));
}

TEST_F(SourceTest, SaysHowToInstallADebianSource) {
    suite.source = {suites::SourceKind::debian, "no-such-package-anywhere", ""};
    const auto source = get();
    ASSERT_FALSE(source);
    EXPECT_THAT(to_line(source.error()), HasSubstr("apt-get install no-such-package-anywhere"));
    suite.source.spec = "dpkg";
    EXPECT_EQ(get()->root, "/");
}

TEST(Tool, ReportsHowAToolEnded) {
    const auto said = [](std::vector<std::string> words, unsigned limit = 0) {
        words.insert(words.begin(), {"python3", "-c"});
        return output_of({std::move(words), ".", {}, {}, limit}).error().message;
    };
    EXPECT_THAT(said({"raise SystemExit(3)"}), ::testing::EndsWith("failed with exit code 3"));
    EXPECT_THAT(said({"print('an error'); raise SystemExit(3)"}),
                ::testing::EndsWith("failed with exit code 3: an error"));
    EXPECT_THAT(said({"import os; os.kill(os.getpid(), 11)"}),
                ::testing::EndsWith("was killed by signal 11 (Segmentation fault)"));
    EXPECT_THAT(said({"import time; time.sleep(60)"}, 1),
                ::testing::EndsWith("timed out after 1 s"));
    EXPECT_EQ(output_of({{"python3", "-c", "print(7)"}, ".", {}, {}, 60}).value(), "7\n");
}

TEST_F(CacheTest, FindsCompleteEntriesWithoutCreatingAny) {
    EXPECT_FALSE(cache.find("kind", "name", "key"));
    EXPECT_FALSE(fs::exists(tree.root() / "cache"));
    tree.write(fs::path("cache/kind") / entry_name("name", "key") / "half", "made");
    EXPECT_FALSE(cache.find("kind", "name", "key"));
    const auto made = cache.get("kind", "name", "key", [](const fs::path&, const fs::path&) {
        return Expected<std::string>("note");
    });
    const auto found = cache.find("kind", "name", "key");
    ASSERT_TRUE(made && found);
    EXPECT_EQ(found->folder, made->folder);
    EXPECT_EQ(found->note, "note");
    EXPECT_FALSE(found->made);
}

TEST(Probe, DescribesARealPython) {
    Share share;
    share.prepare = COMPAT_SOURCE_DIR "/runner/prepare";
    const auto environment = probe(find_program("python3"), share);
    ASSERT_TRUE(environment) << to_line(environment.error());
    EXPECT_EQ("Python " + environment->version + "\n",
              output_of({{"python3", "--version"}, ".", {}}).value());
    EXPECT_THAT(environment->soabi, HasSubstr("cpython"));
}

TEST(Probe, IncludesPythonpathOnlyForPrograms) {
    const test::TempTree tree;
    tree.write("torch/__init__.py", "");
    tree.write("torch/version.py", "__version__ = '9.9.9+none'");
    Share share;
    share.prepare = COMPAT_SOURCE_DIR "/runner/prepare";
    const auto python = find_program("python3");
    const auto program = probe(python, share, {{"PYTHONPATH", tree.root()}});
    ASSERT_TRUE(program) << to_line(program.error());
    EXPECT_EQ(program->torch_version, "9.9.9+none");
    EXPECT_EQ(program->torch_folder, tree.root() / "torch");

    ::setenv("PYTHONPATH", tree.root().c_str(), 1);
    const auto alone = probe(python, share);
    ::unsetenv("PYTHONPATH");
    ASSERT_TRUE(alone) << to_line(alone.error());
    EXPECT_NE(alone->torch_version, "9.9.9+none");
}

TEST(Probe, AnEnvironmentWithoutRequirementsIsProbedOnce) {
    test::TempTree tree;
    const fs::path python = tree.root() / "python", calls = tree.root() / "calls";
    tree.write("python",
               "#!/bin/bash\n"
               "echo $@ >>" +
                   calls.string() +
                   "\n"
                   "[ $2 != venv ] || { mkdir -p $3/bin; cp $0 $3/bin/python; }\n"
                   "case $2 in */probe.py) echo '{\"torch\": null, \"packages\": {}}' ;; esac\n");
    fs::permissions(python, fs::perms::owner_all);
    Options options;
    options.base_python = python;
    Share share;
    share.prepare = "/share";
    suites::Suite suite;
    suite.framework = Framework::unittest;
    ASSERT_TRUE(make_environment(suite, options, share, Cache(tree.root() / "cache"),
                                 [](std::string_view) {}));
    EXPECT_THAT(read_file(calls).value(), ::testing::MatchesRegex("--version\n-I /share/probe.py\n"
                                                                  "-m venv [^\n]*\n"
                                                                  "-m pip [^\n]*\n"
                                                                  "-I /share/probe.py\n"
                                                                  "-I -c import torch\n"));
}

TEST(Probe, IgnoresATorchInTheCurrentFolder) {
    test::TempTree tree;
    tree.write("torch/__init__.py", "print('a checkout', end=''); raise SystemExit");
    const fs::path before = fs::current_path();
    fs::current_path(tree.root());
    Environment environment;
    environment.python = find_program("python3");
    environment.torch_version = "9.9";
    Share share;
    share.shim = COMPAT_SOURCE_DIR "/shim";
    const auto accelerator = accelerator_of(environment, share);
    fs::current_path(before);
    EXPECT_EQ(accelerator.value_or(""), "cpu");
}

TEST(Unpack, DropsTheTopFolderOfAnSdistOnly) {
    const test::TempTree tree;
    tree.write("p-1.0/p-1.0/inner.py", "1");
    tree.write("p-1.0/setup.py", "2");
    const auto python = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "python3");
        return output_of({words, tree.root(), {}});
    };
    ASSERT_TRUE(python({"-m", "tarfile", "-c", "p.tar.gz", "p-1.0"}));
    ASSERT_TRUE(python({"-m", "zipfile", "-c", "p.whl", "p-1.0/setup.py"}));
    fs::create_directory(tree.root() / "out");
    fs::create_directory(tree.root() / "wheel");
    const std::string unpack = COMPAT_SOURCE_DIR "/runner/prepare/unpack.py";
    const auto hash = python({unpack, "p.tar.gz", "out"});
    ASSERT_TRUE(hash);
    EXPECT_EQ(hash->size(), 65u);
    EXPECT_EQ(read_file(tree.root() / "out/setup.py").value(), "2");
    EXPECT_EQ(read_file(tree.root() / "out/p-1.0/inner.py").value(), "1");
    ASSERT_TRUE(python({unpack, "p.whl", "wheel"}));
    EXPECT_EQ(read_file(tree.root() / "wheel/setup.py").value(), "2");
}

}  // namespace
}  // namespace compat::prepare
