#include "runner/display/porting_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "runner/display/columns.h"
#include "tests/reports/porting_sample.h"

namespace compat::display {
namespace {

using reports::Column;
namespace samples = reports::porting_samples;
using parsers::State;
using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

reports::PortingView sample_view() {
    const std::string message = "Expected all tensors to be on the same device, but found two";
    reports::PortingBuilder builder("alpha_1", "alpha");
    samples::put(builder, Column::cpu, {samples::test("t", State::passed)});
    samples::put(builder, Column::cuda,
                 {samples::test("t", State::errored, samples::failure("RuntimeError", message))});
    samples::put(builder, Column::mps, {samples::skipped("t", "no CUDA")});
    builder.note_missing(Column::mps_strict, "interrupted before it began");
    return builder.finish();
}

TEST(PortingSummary, FitsTheTerminal) {
    for (const size_t columns : {80, 200, 60, 40}) {
        const std::string text = porting_summary(sample_view(), "/page.md", columns);
        for (const std::string& line : lines_of(text)) EXPECT_LE(columns_of(line), columns) << line;
    }
}

TEST(PortingSummary, FoldsColumnsOfTheTableThatDoNotFit) {
    EXPECT_THAT(porting_summary(sample_view(), "/page.md", 80),
                HasSubstr("     tests ok failing differ break    run gain device time\n"
                          "CPU      1  1       0      -     -      -    -      - 0.0s\n"
                          "CUDA     1  0       1      1     1      0    0      1 0.0s\n"));
    EXPECT_THAT(porting_summary(sample_view(), "/page.md", 44),
                HasSubstr("MPS      1  0       0      1     0      1\n"
                          "    gain: 0, used device: 1, time: 0.0s\n"));
}

TEST(PortingSummary, NamesChangesAsThePageDoes) {
    const std::string text = porting_summary(sample_view(), "/page.md", 200);
    EXPECT_THAT(text, HasSubstr(" do not "));
    for (const auto words : {reports::kGroupWords[0], reports::kGroupWords[2]})
        EXPECT_THAT(text, HasSubstr(" " + std::string(words) + " "));
}

TEST(Wrapped, BreaksAtSpacesAndKeepsLongWords) {
    EXPECT_EQ(wrapped("a bc de", 4, 1), "a bc\n de\n");
    EXPECT_EQ(wrapped("  abcdefgh ij", 4, 2), "  abcdefgh\n  ij\n");
    EXPECT_EQ(wrapped("", 4, 2), "\n");
}

}  // namespace
}  // namespace compat::display
