#include "runner/plan/confirmation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace compat::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// "b.py" fails in b.py::0 with the first signatures, in b.py::1 with the second, …
UnconfirmedModule module(const std::string& path,
                         const std::vector<std::set<std::string>>& signatures) {
    UnconfirmedModule made{path, {}};
    for (size_t i = 0; i < signatures.size(); ++i)
        made.failures.push_back({path + "::" + std::to_string(i), signatures[i]});
    return made;
}

TEST(Confirmation, OneModuleConfirmsASignatureForAll) {
    const std::vector modules{module("b.py", {{"S"}}), module("a.py", {{"S"}, {"S"}}),
                              module("c.py", {{"S"}})};
    EXPECT_THAT(Confirmations().choose(modules),
                ElementsAre(IsEmpty(), ElementsAre("a.py::0", "a.py::1"), IsEmpty()));
}

TEST(Confirmation, AModuleWithMoreSignaturesIsChosenFirst) {
    EXPECT_THAT(Confirmations().choose({module("a.py", {{"S"}}), module("b.py", {{"S"}, {"T"}})}),
                ElementsAre(IsEmpty(), ElementsAre("b.py::0", "b.py::1")));
}

TEST(Confirmation, ConfirmedSignaturesAreNotRunAgain) {
    Confirmations known;
    known.add_result({"S"}, {"S", "more"});
    EXPECT_THAT(known.choose({module("a.py", {{"S"}}), module("b.py", {{"S"}, {"T"}})}),
                ElementsAre(IsEmpty(), ElementsAre("b.py::1")));
}

TEST(Confirmation, ATestWithSeveralFailuresIsConfirmedWhenAllAre) {
    Confirmations known;
    known.add_result({"S"}, {"S"});
    EXPECT_THAT(known.choose({module("a.py", {{"S", "T"}})}), ElementsAre(ElementsAre("a.py::0")));
}

TEST(Confirmation, EveryModuleConfirmsARefutedSignature) {
    Confirmations known;
    known.add_result({"S"}, {"S"});
    known.add_result({"S"}, {"other"});  // in whatever order
    known.add_result({"S"}, {"S"});
    EXPECT_THAT(known.choose({module("a.py", {{"S"}}), module("b.py", {{"S"}, {"T"}})}),
                ElementsAre(ElementsAre("a.py::0"), ElementsAre("b.py::0", "b.py::1")));
}

TEST(Confirmation, WhatIsClaimedIsNotChosenWhateverIsKnownOfIt) {
    Confirmations known;
    known.add_result({"S"}, {"other"});
    const std::vector modules{module("a.py", {{"S"}}), module("b.py", {{"S"}, {"T"}})};
    EXPECT_THAT(known.choose(modules, {"S"}), ElementsAre(IsEmpty(), ElementsAre("b.py::1")));
}

TEST(Confirmation, TheChoiceDoesNotDependOnTheOrderOfModules) {
    std::vector modules{module("a.py", {{"S"}, {"T"}}), module("b.py", {{"S"}}),
                        module("c.py", {{"U"}, {"T"}}), module("d.py", {{"U"}})};
    const auto all_chosen = [&] {
        std::set<std::string> all;
        for (const auto& ids : Confirmations().choose(modules)) all.insert(ids.begin(), ids.end());
        return all;
    };
    const auto first = all_chosen();
    EXPECT_THAT(first, ElementsAre("a.py::0", "a.py::1", "c.py::0"));
    while (std::next_permutation(modules.begin(), modules.end(),
                                 [](const auto& a, const auto& b) { return a.path < b.path; }))
        EXPECT_EQ(all_chosen(), first);
}

}  // namespace
}  // namespace compat::plan
