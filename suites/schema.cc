#include "suites/schema.h"

#include <algorithm>
#include <array>
#include <memory>
#include <regex>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "runner/base/names.h"
#include "runner/base/nearest.h"
#include "suites/positions.h"

namespace compat::suites {

namespace {

using nlohmann::json;

struct CompiledSchema {
    json text;
    valijson::Schema compiled;
};

// A file that may also be a bare list has the schema of its usual form in `definitions`.
const json usual_form(json schema) {
    if (!schema.contains("anyOf")) return schema;
    json form = schema["definitions"]["file"];
    form["definitions"] = schema["definitions"];
    return form;
}

std::unique_ptr<const CompiledSchema> compile(SchemaOf file) {
    auto made = std::make_unique<CompiledSchema>();
    made->text = usual_form(json::parse(schema_text(file)));
    valijson::SchemaParser parser;
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(made->text), made->compiled);
    return made;
}

const CompiledSchema& schema_of(SchemaOf file) {
    static const std::array schemas{compile(SchemaOf::suite), compile(SchemaOf::expectations),
                                    compile(SchemaOf::hub_names), compile(SchemaOf::nightly)};
    return *schemas[static_cast<std::size_t>(file)];
}

const json* member(const json& node, const char* key) {
    const auto found = node.find(key);
    return found == node.end() ? nullptr : &*found;
}

// The target of a `$ref`; in our schema its siblings are only notes (default, description).
const json& resolved(const json& schema, const json& node) {
    const json* reference = member(node, "$ref");
    if (!reference) return node;
    return schema.at(json::json_pointer(reference->get<std::string>().substr(1)));
}

// The schema in `patternProperties` that matches this key; null: none.
const json* by_pattern(const json& node, const std::string& key) {
    if (const json* patterns = member(node, "patternProperties"))
        for (const auto& [pattern, schema] : patterns->items())
            if (std::regex_search(key, std::regex(pattern))) return &schema;
    return nullptr;
}

// The schema of the value at `token` in a value with schema `node`.
const json* child(const json& node, const std::string& token) {
    if (const json* items = member(node, "items")) return items;
    if (const json* properties = member(node, "properties"))
        if (const auto found = properties->find(token); found != properties->end()) return &*found;
    return by_pattern(node, token);
}

bool has_type(const json& value, std::string_view type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    return type == "integer" && value.is_number_integer();
}

std::string article(std::string_view type) {
    const bool vowel = std::string_view("aeiou").find(type.front()) != std::string_view::npos;
    return (vowel ? "an " : "a ") + std::string(type);
}

std::string comma_list(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

// A value as in the file, truncated.
std::string shown(const json& value) {
    std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
    constexpr std::size_t kMost = 40;
    return text.size() > kMost ? std::string(first_bytes(text, kMost)) + "…" : text;
}

std::string under(const std::string& pointer, const std::string& key) {
    return pointer + '/' + pointer_token(key);
}

std::optional<Violation> explain_object(const json& node, const json& value,
                                        const std::string& pointer) {
    for (const auto& [key, ignored] : value.items()) {
        if (child(node, key)) continue;
        const std::string quoted = "\"" + key + "\"";
        if (const json* expected = member(node, "expectedKey"))
            return Violation{under(pointer, key), true,
                             quoted + ": expected " + expected->get<std::string>()};
        std::vector<std::string> names;
        for (const auto& [name, inner] : node.at("properties").items()) names.push_back(name);
        const std::string guess = did_you_mean(nearest(key, names, 1));
        return Violation{under(pointer, key), true,
                         "unknown key " + quoted + (guess.empty() ? "" : "; " + guess) +
                             " (allowed: " + comma_list(names) + ")"};
    }
    if (const json* required = member(node, "required"))
        for (const json& key : *required)
            if (!value.contains(key.get<std::string>()))
                return Violation{pointer, false, "\"" + key.get<std::string>() + "\" is missing"};
    if (const json* dependencies = member(node, "dependencies"))
        for (const auto& [key, needed] : dependencies->items())
            for (const json& other : needed)
                if (value.contains(key) && !value.contains(other.get<std::string>()))
                    return Violation{
                        under(pointer, key), true,
                        "\"" + key + "\" needs \"" + other.get<std::string>() + "\" beside it"};
    return std::nullopt;
}

// The error for a value that the validator has rejected.
Violation explain(const json& node, const json& value, const std::string& pointer,
                  const std::string& description) {
    if (const json* type = member(node, "type"); type && !has_type(value, type->get<std::string>()))
        return {pointer, false,
                shown(value) + " is " + article(value.type_name()) + "; expected " +
                    article(type->get<std::string>())};
    if (const json* allowed = member(node, "enum")) {
        std::vector<std::string> words, names;
        for (const json& word : *allowed) {
            words.push_back(word.dump());
            if (word.is_string()) names.push_back(word.get<std::string>());
        }
        const std::string guess =
            value.is_string() ? did_you_mean(nearest(value.get<std::string>(), names, 1)) : "";
        return {pointer, false,
                shown(value) + ": expected " + (words.size() > 1 ? "one of " : "") +
                    comma_list(words) + (guess.empty() ? "" : "; " + guess)};
    }
    if (value.is_object())
        if (auto violation = explain_object(node, value, pointer)) return *violation;
    if (const json* expected = member(node, "expected"))
        return {pointer, false, shown(value) + ": expected " + expected->get<std::string>()};
    return {pointer, false, shown(value) + ": " + description};
}

// valijson writes paths as {"<root>", "[key]", "[0]", …}.
std::vector<std::string> tokens_of(const std::vector<std::string>& context) {
    std::vector<std::string> tokens;
    for (std::size_t i = 1; i < context.size(); ++i)
        tokens.push_back(context[i].substr(1, context[i].size() - 2));
    return tokens;
}

}  // namespace

std::optional<Violation> find_violation(const json& document, SchemaOf file) {
    const CompiledSchema& schema = schema_of(file);
    valijson::ValidationResults results;
    valijson::Validator validator;
    if (validator.validate(schema.compiled, valijson::adapters::NlohmannJsonAdapter(document),
                           &results))
        return std::nullopt;

    // The values that contain an invalid value are invalid too; the deepest one is the cause.
    const auto deepest = std::max_element(
        results.begin(), results.end(),
        [](const auto& a, const auto& b) { return a.context.size() < b.context.size(); });
    const json* node = &schema.text;
    const json* value = &document;
    std::string pointer;
    for (const std::string& token : tokens_of(deepest->context)) {
        const json* next = child(resolved(schema.text, *node), token);
        const json::json_pointer step('/' + pointer_token(token));
        if (!next || !value->contains(step)) break;
        node = next;
        value = &value->at(step);
        pointer += step.to_string();
    }
    return explain(resolved(schema.text, *node), *value, pointer, deepest->description);
}

std::string flag_text(const nlohmann::ordered_json& value) {
    if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
    return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace compat::suites
