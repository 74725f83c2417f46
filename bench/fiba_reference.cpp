// Windows in the FiBA of its authors, for bench/fiba.py: the same rows, the same window, the same results.
//
// FiBA.hpp is theirs and is not part of this repository: -I names its folder. The oldest time is read from the left
// finger, as windrow does; their own oldest() descends from the root.
#include "utils.h"
#include "AggregationFunctions.hpp"
#include "BulkAdapter.hpp"
#include <cassert>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <tuple>
#include <vector>
#define private public
#include "FiBA.hpp"
#undef private

template <int minArity>
struct Window {
    using Operation = Sum<double>;
    btree::Aggregate<int64_t, minArity, btree::finger, Operation> tree{Operation()};
    int64_t latest = std::numeric_limits<int64_t>::min();

    void roll(const int64_t* times, const double* values, int64_t count, int64_t size, double* out) {
        for (int64_t i = 0; i < count; ++i) {
            latest = std::max(latest, times[i]);
            if (latest - times[i] < size)
                tree.insert(times[i], values[i]);
            while (latest - tree._leftFinger->getTime(0) >= size)
                tree.evict();
            out[i] = tree.query();
        }
    }
};

#define WINDOW(arity)                                                                                              \
    extern "C" void* new_##arity() { return new Window<arity>; }                                                   \
    extern "C" void del_##arity(void* window) { delete static_cast<Window<arity>*>(window); }                      \
    extern "C" void roll_##arity(void* window, const int64_t* times, const double* values, int64_t count,          \
                                 int64_t size, double* out) {                                                      \
        static_cast<Window<arity>*>(window)->roll(times, values, count, size, out);                                \
    }

WINDOW(2)
WINDOW(4)
WINDOW(8)
