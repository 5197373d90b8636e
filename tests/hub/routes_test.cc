#include "runner/hub/server/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compat::hub {
namespace {

using testing::ElementsAre;

Asked asked(std::string target, http::Method method = http::Method::get, std::string body = {},
            std::string type = {}) {
    http::Request request;
    request.target = std::move(target);
    request.method = method;
    request.body = std::move(body);
    request.content_type = std::move(type);
    return route_of(request);
}

struct Row {
    const char* target;
    Route route;
    Kind kind;
    const char *name, *revision, *path;
};

// Addresses as the packages' own sources make them.
constexpr Row kRows[]{
    {"/api/models/gpt2", Route::info, Kind::model, "gpt2", "main", ""},
    {"/api/models/org/name?blobs=True", Route::info, Kind::model, "org/name", "main", ""},
    {"/api/models/org/name/revision/v1.0", Route::info, Kind::model, "org/name", "v1.0", ""},
    {"/api/models/gpt2/revision/main?expand=siblings", Route::info, Kind::model, "gpt2", "main",
     ""},
    {"/api/datasets/org/name/tree/main/data%20x?recursive=True", Route::tree, Kind::dataset,
     "org/name", "main", "data x"},
    {"/api/datasets/squad/tree/refs%2Fconvert%2Fparquet", Route::tree, Kind::dataset, "squad",
     "refs/convert/parquet", ""},
    {"/api/spaces/org/name/refs", Route::refs, Kind::space, "org/name", "main", ""},
    {"/org/name/resolve/main/a/b.json", Route::file, Kind::model, "org/name", "main", "a/b.json"},
    {"/gpt2/resolve/main/config.json", Route::file, Kind::model, "gpt2", "main", "config.json"},
    {"/datasets/org/name/resolve/refs%2Fpr%2F1/x", Route::file, Kind::dataset, "org/name",
     "refs/pr/1", "x"},
    {"/datasets/a/b/resolve/refs/convert/parquet/x/0.parquet", Route::file, Kind::dataset, "a/b",
     "refs/convert/parquet", "x/0.parquet"},
    {"/org/name/raw/main/README.md", Route::raw, Kind::model, "org/name", "main", "README.md"},
    {"/_url/https/huggingface.co/org/name/resolve/main/x", Route::file, Kind::model, "org/name",
     "main", "x"},
    {"/api/models/org/tree", Route::info, Kind::model, "org/tree", "main", ""},
};

TEST(HubRoute, KnowsAddressesOfRepositories) {
    for (const Row& row : kRows) {
        const Asked found = asked(row.target);
        EXPECT_EQ(found.route, row.route) << row.target;
        EXPECT_EQ(found.kind, row.kind) << row.target;
        EXPECT_EQ(found.name, row.name) << row.target;
        EXPECT_EQ(found.revision, row.revision) << row.target;
        EXPECT_EQ(found.path, row.path) << row.target;
    }
    EXPECT_TRUE(asked("/api/models/a/b?blobs=true").blobs);
    EXPECT_TRUE(asked("/api/models/a/b/tree/main?recursive=True&expand=1").expand);
}

TEST(HubRoute, ReadsPathsFromAFormAndFromJson) {
    const Asked form =
        asked("/api/models/a/b/paths-info/main", http::Method::post,
              "paths=a+b%2Fc&paths=d&expand=True", "application/x-www-form-urlencoded");
    EXPECT_EQ(form.route, Route::paths);
    EXPECT_THAT(form.paths, ElementsAre("a b/c", "d"));
    EXPECT_TRUE(form.expand);
    const Asked json = asked("/api/datasets/a/b/paths-info/main", http::Method::post,
                             R"({"paths": ["x", 1, "y"], "expand": false})", "application/json");
    EXPECT_THAT(json.paths, ElementsAre("x", "y"));
    for (const std::string& body :
         {std::string(1'000, '['), std::string("\xff{"), std::string("[]")})
        EXPECT_TRUE(
            asked("/api/models/a/b/paths-info/main", http::Method::post, body, "application/json")
                .paths.empty());
}

TEST(HubRoute, KnowsOtherAddresses) {
    EXPECT_EQ(asked("/api/whoami-v2").route, Route::whoami);
    EXPECT_EQ(asked("/api/telemetry/x").route, Route::telemetry);
    EXPECT_EQ(asked("/api/repos/create", http::Method::post).route, Route::read_only);
    EXPECT_EQ(asked("/api/models/a/b/commit/main", http::Method::post).route, Route::read_only);
    EXPECT_EQ(asked("/api/models?search=a").url, "https://huggingface.co/api/models?search=a");
    const Asked image = asked("/_url/http/images.example.org:81/a/b.jpg?w=1&sig=2");
    EXPECT_EQ(image.route, Route::address);
    EXPECT_EQ(image.url, "http://images.example.org:81/a/b.jpg?w=1");
    EXPECT_EQ(image.full_url, "http://images.example.org:81/a/b.jpg?w=1&sig=2");
}

TEST(HubRoute, RefusesPathsThatLeadOut) {
    for (const char* bad :
         {"/org/name/resolve/main/../../etc/passwd", "/org/name/resolve/main/%2e%2e/x",
          "/org/name/resolve/main/a%2F..%2F..%2Fx", "/org/name/resolve/main/", "no address", "/%zz",
          "/org/name/resolve/%0d%0aX/x", "/_url/file/etc/passwd", "/org/name/raw/main"})
        EXPECT_TRUE(asked(bad).route == Route::unreadable || asked(bad).route == Route::address)
            << bad;
    EXPECT_EQ(asked("/org/name/resolve/main/../x").route, Route::unreadable);
    EXPECT_EQ(asked("/_url/file/etc/passwd").route, Route::unreadable);
}

TEST(HubRoute, MakesThePathThatItReads) {
    Repository one;
    one.kind = Kind::dataset;
    one.name = "a/b";
    const Asked found = asked(resolve_path(one, "refs/pr/1", "x y/ü.json"));
    EXPECT_EQ(found.kind, Kind::dataset);
    EXPECT_EQ(found.revision, "refs/pr/1");
    EXPECT_EQ(found.path, "x y/ü.json");
}

}  // namespace
}  // namespace compat::hub
