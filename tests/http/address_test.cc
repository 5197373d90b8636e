#include "runner/http/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compat::http {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(PercentDecoded, DecodesEachByteOnce) {
    EXPECT_THAT(percent_decoded("a%20b%2Fc%2f%C3%A9"), Optional(std::string("a b/c/é")));
    EXPECT_THAT(percent_decoded("%252e"), Optional(std::string("%2e")));
    EXPECT_THAT(percent_decoded("+"), Optional(std::string("+")));
    EXPECT_THAT(percent_decoded(""), Optional(std::string()));
}

TEST(PercentDecoded, RefusesWhatIsNotAnEncoding) {
    for (const char* text : {"%", "%2", "a%", "%zz", "%2g", "%-1", "%00", "a%00b"})
        EXPECT_FALSE(percent_decoded(text)) << text;
    EXPECT_FALSE(percent_decoded(std::string_view("a\0b", 3)));
}

TEST(ComponentsOf, DecodesAfterItSplits) {
    EXPECT_THAT(components_of("/"), Optional(ElementsAre()));
    EXPECT_THAT(components_of("/runs/x/"), Optional(ElementsAre("runs", "x", "")));
    EXPECT_THAT(components_of("/tests/a%2Fb%3A%3Ac/"),
                Optional(ElementsAre("tests", "a/b::c", "")));
    EXPECT_THAT(components_of("/a?b/c#d"), Optional(ElementsAre("a")));
    EXPECT_THAT(components_of("//a/%2e%2E/"), Optional(ElementsAre("", "a", "..", "")));
    for (const char* target : {"", "a", "*", "http://localhost/", "/%", "/a/%00"})
        EXPECT_FALSE(components_of(target)) << target;
}

TEST(EncodedComponent, IsReadBackForEveryByte) {
    std::string bytes;
    for (int byte = 1; byte < 256; ++byte) bytes += static_cast<char>(byte);
    const std::string encoded = encoded_component(bytes);
    EXPECT_EQ(encoded.find_first_of("/?#<>\"'& :"), std::string::npos);
    EXPECT_THAT(components_of("/" + encoded), Optional(ElementsAre(bytes)));
}

TEST(IsFileName, IsNeitherAPathNorAFolderAbove) {
    for (const char* name : {"a", "a.log", "...", "..a", "%2e%2e", "a\\b"})
        EXPECT_TRUE(is_file_name(name)) << name;
    for (const char* name : {"", ".", "..", "a/b", "/", "../a"})
        EXPECT_FALSE(is_file_name(name)) << name;
}

struct HostCase {
    const char* host;
    bool on_loopback, on_all;
};

TEST(KnownHosts, AreOurNamesAndAddressesOnAnyPort) {
    const KnownHosts loopback("127.0.0.1", "127.0.0.1"), all("0.0.0.0", "0.0.0.0");
    for (const HostCase& row :
         std::initializer_list<HostCase>{{"localhost", true, true},
                                         {"LocalHost:80", true, true},
                                         {"127.0.0.1:8737", true, true},
                                         {"[::1]:1", true, true},
                                         {"192.0.2.1", false, true},
                                         {"[2001:db8::1]:80", false, true},
                                         {"evil.example", false, false},
                                         {"localhost.evil.example", false, false},
                                         {"localhost:", false, false},
                                         {"localhost:1x", false, false},
                                         {"localhost@evil", false, false},
                                         {"[::1", false, false},
                                         {"[::1]x", false, false},
                                         {"::1", false, false},
                                         {"", false, false}}) {
        EXPECT_EQ(loopback.has(row.host), row.on_loopback) << row.host;
        EXPECT_EQ(all.has(row.host), row.on_all) << row.host;
    }
    const KnownHosts named("192.0.2.1", "Build.Example");
    EXPECT_TRUE(named.has("build.example:80"));
    EXPECT_TRUE(named.has("192.0.2.1"));
    EXPECT_FALSE(named.has("192.0.2.2"));
}

TEST(RangeOf, ReadsOneRange) {
    const auto of = [](std::string_view header) {
        const auto range = range_of(header, 100);
        return range ? std::pair<long, long>(range->first, range->size)
                     : std::pair<long, long>(-1, -1);
    };
    using Pair = std::pair<long, long>;
    EXPECT_EQ(of("bytes=0-9"), Pair(0, 10));
    EXPECT_EQ(of("bytes=90-"), Pair(90, 10));
    EXPECT_EQ(of("bytes=90-1000"), Pair(90, 10));
    EXPECT_EQ(of("bytes=-5"), Pair(95, 5));
    EXPECT_EQ(of("bytes=-500"), Pair(0, 100));
    EXPECT_EQ(of("bytes=0-18446744073709551615"), Pair(0, 100));
    EXPECT_EQ(of("bytes=100-").second, 0);
    EXPECT_EQ(of("bytes=-0").second, 0);
    for (const char* ignored :
         {"", "lines=0-1", "bytes=", "bytes=-", "bytes=5", "bytes=9-5", "bytes=0-1,3-4",
          "bytes=a-b", "bytes= 0-1", "bytes=99999999999999999999-"})
        EXPECT_EQ(of(ignored), Pair(-1, -1)) << ignored;
}

}  // namespace
}  // namespace compat::http
