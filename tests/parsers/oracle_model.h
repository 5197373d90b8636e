// A record against what a framework's own objects say of the same module (golden/oracle_*.py): the
// whole model, not samples of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "parsers/record.h"

namespace compat::parsers::testing {

using nlohmann::json;

// A failure in the oracle's shape, with what the oracle has of it.
inline json model_of(const Failure& failure, const json& like) {
    json out = {{"type", failure.type}, {"message", failure.message}};
    if (like.contains("frames")) {
        out["frames"] = json::array();
        for (const Frame& frame : failure.frames) out["frames"].push_back({frame.file, frame.line});
    }
    return out;
}

// The oracle's failure, as far as a text can tell it: blanks at a message's end are lost in print.
inline json as_printed(const json& failure) {
    std::string message = failure.value("message", "");
    message.erase(message.find_last_not_of(" \n") + 1);
    json out = {{"type", failure.value("type", "")}, {"message", message}};
    if (failure.contains("frames")) {
        out["frames"] = json::array();
        for (const json& frame : failure["frames"]) out["frames"].push_back({frame[0], frame[1]});
    }
    return out;
}

inline void expect_failures(const CaseRecord& found, const json& wanted) {
    std::vector<Failure> all;
    if (found.failure) all.push_back(*found.failure);
    all.insert(all.end(), found.also.begin(), found.also.end());
    ASSERT_EQ(all.size(), wanted.size()) << found.id;
    for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(model_of(all[i], wanted[i]), as_printed(wanted[i])) << found.id;
        EXPECT_EQ(name_of(all[i].counted.value_or(found.state)), wanted[i]["state"]) << found.id;
        // pytest's text has a function's name only where its source is printed.
        const json frames = wanted[i].value("frames", json::array());
        if (frames.empty() || frames[0].size() < 3) continue;
        for (size_t n = 0; n < all[i].frames.size(); ++n)
            EXPECT_EQ(all[i].frames[n].function, frames[n][2]) << found.id;
    }
}

inline void expect_subcases(const CaseRecord& found, const json& wanted) {
    ASSERT_EQ(found.subcases.size(), wanted.size()) << found.id;
    for (const json& sub : wanted) {
        const auto it =
            std::find_if(found.subcases.begin(), found.subcases.end(), [&](const SubCase& s) {
                return s.label == sub["label"] && name_of(s.state) == sub["state"];
            });
        ASSERT_NE(it, found.subcases.end()) << found.id << " " << sub;
        if (!sub.contains("type")) continue;
        ASSERT_TRUE(it->failure) << sub;
        EXPECT_EQ(model_of(*it->failure, sub), as_printed(sub));
    }
}

inline void expect_model(const ModuleRecord& record, const json& model) {
    std::vector<std::string> ids;
    for (const CaseRecord& c : record.cases) {
        ids.push_back(c.id);
        const auto it = model["cases"].find(c.name == record.path ? "<module>" : c.id);
        const auto by_id = it != model["cases"].end() ? it : model["cases"].find(c.id);
        ASSERT_NE(by_id, model["cases"].end()) << c.id << " is not in the model";
        const json& wanted = *by_id;
        EXPECT_EQ(name_of(c.state), wanted["state"]) << c.id;
        if (wanted.contains("reason") && !wanted["reason"].is_null()) {
            EXPECT_EQ(c.reason, wanted["reason"]) << c.id;
        }
        // The oracle knows only the state of a module that was not loaded.
        if (wanted.contains("failures") && (!c.pseudo || record.framework == "unittest"))
            expect_failures(c, wanted["failures"]);
        expect_subcases(c, wanted["subtests"]);
    }
    EXPECT_EQ(ids.size(), model["cases"].size());
}

}  // namespace compat::parsers::testing
