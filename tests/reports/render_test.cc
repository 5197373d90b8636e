#include "reports/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/base/files.h"
#include "tests/reports/sample_run.h"
#include "tests/support/temp_tree.h"

namespace compat::reports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Formats, AreParsedFromAList) {
    EXPECT_THAT(*formats_of("md"), ElementsAre(Format::markdown));
    EXPECT_THAT(*formats_of("json,md,json"), ElementsAre(Format::json, Format::markdown));
    for (const auto* wrong : {"", "pdf", "md,", "md json", "MD"}) {
        const auto refused = formats_of(wrong);
        ASSERT_FALSE(refused) << wrong;
        EXPECT_EQ(refused.error().kind, ErrorKind::usage);
        EXPECT_THAT(refused.error().advice, HasSubstr("md, json"));
    }
}

class WriteReports : public testing::Test {
  protected:
    Expected<std::vector<RenderedFile>> write(const std::filesystem::path& to,
                                              const std::vector<Format>& formats) const {
        auto writer = ReportWriter::open(model, to, formats, {});
        if (!writer) return tl::unexpected(writer.error());
        for (const ModuleView& module : model.modules) writer->add(module);
        return writer->finish();
    }

    test::TempTree folder;
    samples::Model model = samples::model(samples::run(folder.root() / "src"), folder.root());
};

TEST_F(WriteReports, WritesEachFormatIntoAFolderItMakes) {
    const auto files = write(folder.root() / "new/folder", {Format::markdown, Format::json});
    ASSERT_TRUE(files) << to_line(files.error());
    ASSERT_EQ(files->size(), 2u);
    EXPECT_EQ(files->at(0).path, folder.root() / "new/folder/report.md");
    EXPECT_EQ(*read_file(files->at(0).path), samples::to_markdown(model));
    EXPECT_EQ(*read_file(files->at(1).path), samples::to_json(model));
}

TEST_F(WriteReports, ReadersSeeTheOldReportUntilTheNewOneIsThere) {
    const auto path = folder.root() / "report.json";
    ASSERT_TRUE(write_file(path, "old"));
    {
        auto writer = ReportWriter::open(model, folder.root(), {Format::json}, {});
        ASSERT_TRUE(writer);
        writer->add(model.modules.at(0));
        EXPECT_EQ(*read_file(path), "old");
    }
    EXPECT_EQ(*read_file(path), "old");
    for (const auto& entry : std::filesystem::directory_iterator(folder.root()))
        EXPECT_THAT(entry.path().filename(), testing::Not(HasSubstr("tmp"))) << "half a report";
}

TEST_F(WriteReports, AReportThatCannotBeRenamedIsAnIoError) {
    std::filesystem::create_directories(folder.root() / "report.json/x");
    const auto refused = write(folder.root(), {Format::json});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::io);
}

TEST_F(WriteReports, AFolderThatCannotBeMadeIsAnIoError) {
    ASSERT_TRUE(write_file(folder.root() / "file", "x"));
    const auto refused = write(folder.root() / "file/under", {Format::json});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::io);
}

}  // namespace
}  // namespace compat::reports
