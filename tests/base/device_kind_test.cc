#include "runner/base/device_kind.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "policy/device_kind.h"

namespace compat {
namespace {

TEST(DeviceKinds, AreThoseOfTheShim) {
    ASSERT_EQ(kDeviceKinds.size(), shim::kDeviceKinds.size());
    for (std::size_t i = 0; i < kDeviceKinds.size(); ++i) {
        const DeviceKind& own = kDeviceKinds[i];
        const shim::DeviceKind& twin = shim::kDeviceKinds[i];
        EXPECT_EQ(own.word, twin.word);
        EXPECT_EQ(own.title, twin.title) << own.word;
        EXPECT_EQ(own.family, twin.family) << own.word;
        EXPECT_EQ(own.is_accelerator, twin.is_accelerator) << own.word;
        EXPECT_EQ(own.has_kernels, twin.has_kernels) << own.word;
        EXPECT_EQ(own.serves_cuda, twin.serves_cuda) << own.word;
        EXPECT_EQ(own.has_fallback, twin.has_fallback) << own.word;
        EXPECT_EQ(own.simulated, twin.simulated) << own.word;
    }
}

TEST(DeviceKinds, AreFoundByNameWithOrWithoutAnIndex) {
    for (const DeviceKind& row : kDeviceKinds) {
        EXPECT_EQ(&device_kind(row.word), &row);
        EXPECT_EQ(&device_kind(std::string(row.word) + ":1"), &row);
    }
    EXPECT_EQ(&device_kind("privateuseone:0"), &kDeviceKinds.back());
    EXPECT_EQ(simulation_with("jobs"), nullptr);
    EXPECT_EQ(simulation_with(""), nullptr);
}

TEST(PortingColumns, AreOfSimulatedDevicesBesidePlainCpu) {
    std::set<std::string_view> words, simulated;
    for (const ColumnRow& row : kColumns) {
        EXPECT_EQ(&row_of(row.column), &row);
        EXPECT_TRUE(words.insert(row.name).second) << row.name;
        if (row.column == kBaseline) continue;
        EXPECT_GT(row.device().simulated, 0) << row.name;
        simulated.insert(row.simulated);
        EXPECT_FALSE(row_of(strict_of(row.column)).redirects()) << row.name;
        EXPECT_FALSE(row_of(strict_of(row.column)).falls_back()) << row.name;
        EXPECT_EQ(row_of(strict_of(row.column)).simulated, row.simulated);
        EXPECT_FALSE(row.redirects() && row.device().serves_cuda) << row.name;
    }
    for (const DeviceKind& row : kDeviceKinds) {
        EXPECT_EQ(simulated.contains(row.word), row.simulated > 0) << row.word;
        EXPECT_EQ(row.machine.empty(), row.simulated == 0) << row.word;
    }
    EXPECT_TRUE(row_of(column_with_cuda()).device().serves_cuda);
}

}  // namespace
}  // namespace compat
