#include "runner/base/line_mac.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace compat {
namespace {

// In Python: hashlib.blake2b(text, key=key, digest_size=16).hexdigest()
TEST(LineMac, IsPythonsBlake2b) {
    const std::string key(32, 'k');
    std::string text;
    for (int i = 0; i < 200; ++i) text += "abcdefgh";
    const std::pair<size_t, std::string_view> known[] = {
        {0, "53ca8e54b7edcd85c46e1a2915abd2f0"},
        {1, "2ff6ca8f591a6bacb2355e81c2164755"},
        {127, "7c8d665e7cbe3185f3bffff951446766"},
        {128, "2e618ce8cd659c335740c1901210f639"},
        {129, "dde6859e2f2262c5688bc11146d41b92"},
        {256, "ee5d8e0355de94d37fe976946ae226e4"},
        {1000, "72e54f732124ca48c0b5e5a65d8a408b"},
    };
    for (const auto& [length, mac] : known)
        EXPECT_EQ(mac_of(text.substr(0, length), key), mac) << length;
    EXPECT_EQ(mac_of("abc", ""), "cf4ab791c62b8d2b2109c90275287816");
}

TEST(LineMac, BelongsToOneLineAndOneKey) {
    const std::string key = new_mac_key(), text = R"({"event": "end", "state": "failed")";
    const auto line = [&](const std::string& of, const std::string& mac) {
        return fmt::format(R"({}, "mac": "{}"}})", of, mac);
    };
    const std::string mac = mac_of(text, key);
    EXPECT_TRUE(has_mac(line(text, mac), key));
    EXPECT_FALSE(has_mac(line(text, mac), new_mac_key()));
    EXPECT_FALSE(has_mac(line(R"({"event": "end", "state": "passed")", mac), key));
    EXPECT_FALSE(has_mac(line(text, std::string(32, '0')), key));
    EXPECT_FALSE(has_mac(line(text, mac) + " ", key));
    for (size_t cut = 0; cut < line(text, mac).size(); ++cut)
        EXPECT_FALSE(has_mac(line(text, mac).substr(0, cut), key));
}

TEST(LineMac, KeysDiffer) {
    EXPECT_EQ(new_mac_key().size(), 32u);
    EXPECT_NE(new_mac_key(), new_mac_key());
}

}  // namespace
}  // namespace compat
