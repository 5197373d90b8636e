// Tests output of Slurm's commands, recorded from 22.05.8 with four nodes, and the command lines
// that we write. tests/slurm/on_slurm.py does the same with the real thing.
#include "runner/slurm/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/slurm/states.h"

namespace compat::slurm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

TEST(Client, ReadsTheQueueOfAnArray) {
    // squeue -h -r -t all -j 5 -o '%K|%T|%N|%r'
    const auto elements = parse_queue(
        "2|FAILED|n3|JobLaunchFailure\n"
        "0|FAILED|n1|NonZeroExitCode\n"
        "1|OUT_OF_MEMORY|n2|OutOfMemory\n"
        "3|PENDING||JobArrayTaskLimit\n"
        "4|RUNNING|n2|None\n");
    EXPECT_THAT(elements, ElementsAre(Element{2, "FAILED", "n3", "JobLaunchFailure"},
                                      Element{0, "FAILED", "n1", "NonZeroExitCode"},
                                      Element{1, "OUT_OF_MEMORY", "n2", "OutOfMemory"},
                                      Element{3, "PENDING", "", "JobArrayTaskLimit"},
                                      Element{4, "RUNNING", "n2", "None"}));
}

TEST(Client, ReadsAJobWithoutElements) {
    EXPECT_THAT(parse_queue("N/A|COMPLETED|n2|None\n"),
                ElementsAre(Element{0, "COMPLETED", "n2", "None"}));
}

TEST(Client, IgnoresWhatIsNoRow) {
    EXPECT_TRUE(parse_queue("").empty());
    EXPECT_TRUE(parse_queue("slurm_load_jobs error: Unable to contact slurm controller\n").empty());
    EXPECT_TRUE(parse_accounted("Slurm accounting storage is disabled\n").empty());
}

TEST(Client, ReadsEachStartOfARequeuedElement) {
    // sacct -n -P -X -D -j 1 -o JobID,State,NodeList
    const auto elements = parse_accounted(
        "1_0|COMPLETED|n1\n"
        "1_2|NODE_FAIL|n3\n"
        "1_2|COMPLETED|n4\n"
        "1_4|CANCELLED by 0|n2\n"
        "1_[5-7%2]|PENDING|None assigned\n"
        "1_8|CANCELLED by 0|None assigned\n");
    EXPECT_THAT(
        elements,
        ElementsAre(Element{0, "COMPLETED", "n1", ""}, Element{2, "NODE_FAIL", "n3", ""},
                    Element{2, "COMPLETED", "n4", ""}, Element{4, "CANCELLED by 0", "n2", ""},
                    Element{8, "CANCELLED by 0", "", ""}));
}

TEST(Client, ReadsTheConfiguration) {
    const auto cluster = parse_cluster(
        "Configuration data as of 2026-11-25T06:52:05\n"
        "AccountingStorageType   = accounting_storage/slurmdbd\n"
        "MaxArraySize            = 1001\n"
        "MinJobAge               = 300 sec\n"
        "SLURM_VERSION           = 22.05.8\n");
    EXPECT_EQ(cluster.version, "22.05.8");
    EXPECT_EQ(cluster.max_array_size, 1001);
    EXPECT_TRUE(cluster.accounting);
    EXPECT_FALSE(parse_cluster("AccountingStorageType   = accounting_storage/none\n").accounting);
}

TEST(Client, SubmitsAnArray) {
    const BatchJob job{"plan-1",
                       {"--partition=p", "--time=10:00"},
                       12,
                       3,
                       true,
                       "/share/shard.sh",
                       {"/bin/runner", "/a b/$HOME;x"},
                       "/r/shard-%a.log",
                       "/work"};
    const auto argv = sbatch_tool(job).argv;
    EXPECT_EQ(argv.front(), "sbatch");
    for (const char* word : {"--parsable", "--array=1-12%3", "--requeue", "--open-mode=append",
                             "--output=/r/shard-%a.log", "--chdir=/work", "--partition=p"})
        EXPECT_THAT(argv, Contains(word));
    // The script and its words come last, each as it is: no shell reads them.
    EXPECT_THAT(std::vector(argv.end() - 3, argv.end()),
                ElementsAre("/share/shard.sh", "/bin/runner", "/a b/$HOME;x"));
    EXPECT_THAT(sbatch_tool(job).unset, Contains("SBATCH_WAIT"));
}

TEST(Client, SubmitsAJobWithoutElements) {
    const auto argv = sbatch_tool({"check", {}, 0, 0, false, "/s.sh", {}, "/dev/null", "/"}).argv;
    EXPECT_THAT(argv, Contains("--no-requeue"));
    for (const auto& word : argv) EXPECT_FALSE(word.starts_with("--array")) << word;
}

TEST(Client, WritesSizesAsSbatchReadsThem) {
    EXPECT_EQ(memory_option("8G"), "8G");
    EXPECT_EQ(memory_option("512m"), "512M");
    EXPECT_EQ(memory_option("2GiB"), "2G");
    EXPECT_EQ(memory_option("1048576"), "1024K");
    EXPECT_EQ(memory_option("1"), "1K");
}

TEST(Client, SaysThatSlurmIsNotInstalled) {
    const std::string path = std::getenv("PATH");
    ::setenv("PATH", "/nonexistent", 1);
    const auto found = cluster();
    ::setenv("PATH", path.c_str(), 1);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::environment);
    EXPECT_NE(found.error().message.find("scontrol is not installed"), std::string::npos);
    EXPECT_NE(found.error().advice.find("slurm-client"), std::string::npos);
}

}  // namespace
}  // namespace compat::slurm
