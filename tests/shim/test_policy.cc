// The table of docs/reference/shim.md, written out as a person reads it, against every cell of
// resolve().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "tests/paths.h"

namespace compat::shim {
namespace {

struct Row {
    Requested kind;
    std::array<const char*, 4> hosts;  // on mps, cuda, another accelerator, cpu; "-" is unchanged
};

const std::map<Mode, std::vector<Row>> kExpected{
    {Mode::full,
     {{Requested::none, {"mps", "cuda", "it", "cpu"}},
      {Requested::cpu, {"mps", "cuda", "it", "cpu"}},
      {Requested::mps, {"-", "cuda", "it", "cpu"}},
      {Requested::cuda, {"mps", "-", "it", "cpu"}},
      {Requested::integer, {"mps", "-", "it", "cpu"}},
      {Requested::meta, {"-", "-", "-", "-"}},
      {Requested::other, {"-", "-", "-", "-"}}}},
    {Mode::missing,
     {{Requested::none, {"-", "-", "-", "-"}},
      {Requested::cpu, {"-", "-", "-", "-"}},
      {Requested::mps, {"-", "cuda", "it", "cpu"}},
      {Requested::cuda, {"mps", "-", "it", "cpu"}},
      {Requested::integer, {"mps", "-", "it", "cpu"}},
      {Requested::meta, {"-", "-", "-", "-"}},
      {Requested::other, {"-", "-", "-", "-"}}}},
};

std::string word(Place place) {
    switch (place) {
        case Place::unchanged:
            return "-";
        case Place::cpu:
            return "cpu";
        case Place::mps:
            return "mps";
        case Place::cuda:
            return "cuda";
        case Place::accelerator:
            return "it";
    }
    return "?";
}

std::string own_word(Requested kind) {
    switch (kind) {
        case Requested::cpu:
            return "cpu";
        case Requested::mps:
            return "mps";
        case Requested::cuda:
        case Requested::integer:
            return "cuda";
        default:
            return "-";
    }
}

// Where the answer is, with an unchanged request named by itself.
std::string landed(const Answer& answer, Requested kind) {
    return answer.place == Place::unchanged ? own_word(kind) : word(answer.place);
}

// Every cell: mode, kind of request, host, index.
template <class Check>
void for_each_cell(Check check) {
    for (const Mode mode : kModes)
        for (const Row& row : kExpected.at(mode))
            for (const Host host : kHosts)
                for (const int index : {-1, 0, 1, 7}) {
                    SCOPED_TRACE(testing::Message() << name_of(mode) << ": " << name_of(row.kind)
                                                    << " " << index << " on " << name_of(host));
                    check(mode, Request{row.kind, index}, host,
                          std::string(row.hosts[static_cast<std::size_t>(host)]));
                }
}

TEST(Table, IsWrittenOutHereForEveryRequestButTheToggle) {
    for (const Mode mode : kModes)
        EXPECT_EQ(kExpected.at(mode).size(), kRequested.size() - 1) << name_of(mode);
}

TEST(Table, LandsWhereItSays) {
    for_each_cell([](Mode mode, Request request, Host host, const std::string& expected) {
        const Answer answer = resolve(request, host, false, mode);
        EXPECT_EQ(landed(answer, request.kind),
                  expected == "-" ? own_word(request.kind) : expected);
        EXPECT_FALSE(answer.override_on);
    });
}

TEST(Table, FoldsTheIndexOfAllButCuda) {
    for_each_cell([](Mode mode, Request request, Host host, const std::string&) {
        const Answer answer = resolve(request, host, false, mode);
        const std::string place = landed(answer, request.kind);
        const bool folds = place == "mps" || place == "it" || place == "cpu";
        EXPECT_EQ(answer.index, folds && request.index > 0 ? 0 : request.index);
    });
}

TEST(Table, NamesTheChangeOnlyWhereThereIsOne) {
    for_each_cell([](Mode mode, Request request, Host host, const std::string&) {
        const Answer answer = resolve(request, host, false, mode);
        const std::string before = own_word(request.kind), after = landed(answer, request.kind);
        const bool by_default = request.kind == Requested::none && after == "cpu";
        const Change expected = before != after && !by_default  ? Change::redirect
                                : answer.index != request.index ? Change::fold
                                                                : Change::none;
        EXPECT_EQ(answer.change, expected) << name_of(answer.change);
    });
}

TEST(Override, SendsEveryPlaceToTheCpu) {
    for_each_cell([](Mode mode, Request request, Host host, const std::string&) {
        const Answer answer = resolve(request, host, true, mode);
        const std::string own = own_word(request.kind);
        const bool is_a_place = request.kind != Requested::meta && request.kind != Requested::other;
        EXPECT_EQ(landed(answer, request.kind), is_a_place ? "cpu" : "-");
        EXPECT_TRUE(answer.override_on) << "only cpu:-1 toggles";
        EXPECT_EQ(answer.index, is_a_place && request.index > 0 ? 0 : request.index);
        if (own == "cuda" || own == "mps") {
            EXPECT_EQ(answer.change, Change::override_);
        }
    });
}

TEST(Toggle, AnswersCpuAndTurnsTheOverrideOnAndOffOnEveryHostInEveryMode) {
    for (const Mode mode : kModes)
        for (const Host host : kHosts) {
            const Answer on = resolve({Requested::toggle, -1}, host, false, mode);
            EXPECT_EQ(on.place, Place::cpu);
            EXPECT_TRUE(on.override_on);
            EXPECT_EQ(on.change, Change::override_);
            const Answer off = resolve({Requested::toggle, -1}, host, on.override_on, mode);
            EXPECT_EQ(off.place, Place::cpu) << "the call that turns it off still answers CPU";
            EXPECT_FALSE(off.override_on);
        }
}

TEST(Words, AreReadBackAsTheyAreWritten) {
    for (const Mode mode : kModes) EXPECT_EQ(parse_mode(name_of(mode)), mode);
    for (const Host host : kHosts) EXPECT_EQ(parse_host(name_of(host)), host);
    EXPECT_EQ(parse_mode("Full"), std::nullopt);
    EXPECT_EQ(parse_host(""), std::nullopt);
}

TEST(Words, OfRequestsAndChangesDiffer) {
    for (const Requested one : kRequested)
        for (const Requested other : kRequested)
            EXPECT_EQ(one == other, name_of(one) == name_of(other));
}

// The policy is to be usable, and readable, without torch.
TEST(Sources, IncludeNeitherTorchNorPython) {
    for (const char* file : {"policy.h", "policy.cc"}) {
        std::ifstream source(std::string(COMPAT_SOURCE_DIR "/shim/policy/") + file);
        ASSERT_TRUE(source) << file;
        std::stringstream text;
        text << source.rdbuf();
        for (const char* header : {"ATen/", "c10/", "torch/", "Python.h", "pybind11/"})
            EXPECT_THAT(text.str(), testing::Not(testing::HasSubstr(header))) << file;
    }
}

}  // namespace
}  // namespace compat::shim
