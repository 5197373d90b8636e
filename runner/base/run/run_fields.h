// The one list of a run's fields: for the database's columns, the first line of record.jsonl
// (runner/archive/run_record.h), comparability (runner/store/comparable.h), merging shards, and
// report.json. Not here: how a run ended, and how a value becomes a column or JSON text.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "runner/base/run/run_info.h"

namespace compat {

// Where a field stands, and what it decides.
struct RunField {
    enum class Reported { no, as_it_is, or_null };

    std::string_view key;     // in record.jsonl, and in report.json
    std::string_view column;  // of the table `run`
    bool separates = false;
    // Its name where shards of one run agree in it; empty: they need not.
    std::string_view shared{};
    Reported report = Reported::no;
    bool listed = true;  // false: it is long, and lists of runs leave it out

    constexpr explicit RunField(std::string_view name) : key(name), column(name) {}

    [[nodiscard]] constexpr RunField in(std::string_view other_column) const {
        return changed([=](RunField& field) { field.column = other_column; });
    }
    // Runs that differ in it are not compared; of a number, runs with none and with some.
    [[nodiscard]] constexpr RunField separating() const {
        return changed([](RunField& field) { field.separates = true; });
    }
    [[nodiscard]] constexpr RunField same_in_shards(std::string_view name = {}) const {
        return changed([=](RunField& field) { field.shared = name.empty() ? field.key : name; });
    }
    [[nodiscard]] constexpr RunField reported() const {
        return changed([](RunField& field) { field.report = Reported::as_it_is; });
    }
    // An empty text is null.
    [[nodiscard]] constexpr RunField reported_or_null() const {
        return changed([](RunField& field) { field.report = Reported::or_null; });
    }
    [[nodiscard]] constexpr RunField left_out_of_lists() const {
        return changed([](RunField& field) { field.listed = false; });
    }

  private:
    template <class Change>
    [[nodiscard]] constexpr RunField changed(Change change) const {
        RunField field = *this;
        change(field);
        return field;
    }
};

// Calls `visit(RunField, member)` for each field of a RunInfo.
template <class Run, class Visit>
void run_fields(Run& run, Visit visit) {
    using Field = RunField;
    visit(Field("run").in("name"), run.id);
    visit(Field("suite").separating().same_in_shards().reported(), run.suite);
    visit(Field("series").separating().reported(), run.series);
    visit(Field("started_ms"), run.started);
    visit(Field("framework").separating().same_in_shards().reported(), run.framework);
    visit(Field("shim").separating().same_in_shards(), run.shim);
    visit(Field("policy").separating().same_in_shards().reported_or_null(), run.policy);
    visit(Field("masquerade").separating().same_in_shards().reported(), run.masquerade);
    visit(Field("device").separating().same_in_shards().reported(), run.device);
    visit(Field("simulated").separating().same_in_shards("simulated device").reported(),
          run.simulated);
    visit(Field("fallback").separating().same_in_shards().reported(), run.fallback);
    visit(Field("keep_going").separating().same_in_shards("keep going").reported(), run.keep_going);
    visit(Field("seeds").separating().same_in_shards().reported(), run.seeds);
    visit(Field("diagnose").reported(), run.diagnose);
    visit(Field("isolation").separating().same_in_shards().reported(), run.isolation);
    visit(Field("network").separating().same_in_shards().reported(), run.network);
    visit(Field("hub").separating().same_in_shards().reported(), run.hub);
    visit(Field("commit").in("commit_id").same_in_shards().reported_or_null(), run.commit);
    visit(Field("dirty").reported(), run.dirty);
    visit(Field("remote").left_out_of_lists(), run.remote);
    visit(Field("torch").same_in_shards().reported_or_null(), run.torch);
    visit(Field("root").reported().left_out_of_lists(), run.root);
    visit(Field("links_base").left_out_of_lists(), run.links_base);
    visit(Field("python").left_out_of_lists(), run.python);
    visit(Field("env").left_out_of_lists(), run.env);
    visit(Field("argv").left_out_of_lists(), run.argv);
    visit(Field("rerun_argv").left_out_of_lists(), run.rerun_argv);
    visit(Field("fingerprint").left_out_of_lists(), run.fingerprint);
    visit(Field("folder"), run.folder);
    visit(Field("folder_format"), run.folder_format);
    visit(Field("shard").separating(), run.shard);
    visit(Field("repeat_of"), run.repeat_of);
    visit(Field("plan").same_in_shards().left_out_of_lists(), run.plan);
    visit(Field("column").same_in_shards(), run.column);
    visit(Field("subset"), run.subset);
    visit(Field("expectations_file").left_out_of_lists(), run.expectations_file);
    visit(Field("expectations").same_in_shards().left_out_of_lists(), run.expectations);
}

// A field as text: equal texts are equal values. For people where it has few values.
template <class T>
[[nodiscard]] std::string field_text(const T& value) {
    if constexpr (std::is_same_v<T, std::string>)
        return value;
    else if constexpr (std::is_same_v<T, bool>)
        return value ? "on" : "off";
    else if constexpr (std::is_same_v<T, std::optional<std::string>>)
        return value.value_or("none");
    else if constexpr (std::is_same_v<T, WallTime>)
        return std::to_string(value.time_since_epoch().count());
    else
        return nlohmann::json(value).dump();
}

}  // namespace compat
