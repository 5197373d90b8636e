#include "runner/analysis/op_table.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <set>
#include <unordered_map>

namespace compat::analysis {

namespace {

using Keys = std::set<std::string>;

// "CPU, CUDA: kernel" names two.
void add_keys(const std::string& names, Keys& keys) {
    for (size_t from = 0; from <= names.size();) {
        const size_t comma = std::min(names.find(',', from), names.size());
        const size_t begin = names.find_first_not_of(' ', from);
        if (begin < comma)
            keys.insert(names.substr(begin, names.find_last_not_of(' ', comma - 1) + 1 - begin));
        from = comma + 1;
    }
}

Keys keys_of(const YAML::Node& entry) {
    Keys keys;
    if (const YAML::Node dispatch = entry["dispatch"])
        for (const auto& row : dispatch) add_keys(row.first.as<std::string>(), keys);
    else if (!entry["structured_delegate"])
        keys.insert("CompositeImplicitAutograd");
    return keys;
}

bool is_composite(const Keys& keys) {
    return keys.contains("CompositeImplicitAutograd") ||
           keys.contains("CompositeExplicitAutograd") ||
           keys.contains("CompositeExplicitAutogradNonFunctional");
}

}  // namespace

Expected<std::vector<Operator>> operators_of(std::string_view yaml) {
    try {
        const YAML::Node file = YAML::Load(std::string(yaml));
        if (!file.IsSequence() || file.size() == 0)
            return fail(ErrorKind::environment, "this is no list of native functions");
        std::vector<Operator> operators;
        std::unordered_map<std::string, Keys> keys;
        std::vector<std::string> delegates;
        for (const YAML::Node& entry : file) {
            const auto func = entry["func"].as<std::string>();
            std::string name = func.substr(0, func.find('('));
            delegates.push_back(entry["structured_delegate"].as<std::string>(""));
            keys.emplace(name, keys_of(entry));
            operators.push_back({std::move(name)});
        }
        for (size_t i = 0; i < operators.size(); ++i) {
            Keys own = keys[operators[i].name];
            if (const auto to = keys.find(delegates[i]); to != keys.end())
                own.insert(to->second.begin(), to->second.end());
            for (size_t kind = 0; kind < kDeviceKinds.size(); ++kind)
                operators[i].kernels[kind] = own.contains(std::string(kDeviceKinds[kind].title));
            operators[i].composite = is_composite(own);
        }
        return operators;
    } catch (const YAML::Exception& error) {
        return fail(
            ErrorKind::environment,
            fmt::format("torch's list of native functions cannot be read: {}", error.what()),
            "give the Python of an environment whose torch is whole");
    }
}

std::string qualified(const Operator& op) { return "aten::" + op.name; }

}  // namespace compat::analysis
