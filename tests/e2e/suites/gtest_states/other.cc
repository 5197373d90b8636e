// Programs beside the tests that are none of GoogleTest's.
#include <cstdio>

int main(int argc, char**) {
#if defined(REFUSES)
    if (argc > 1) {
        std::puts("unknown flag");
        return 2;
    }
#endif
    std::puts("nothing to test");
    return argc < 1;
}
