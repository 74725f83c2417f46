// The ceiling: the same algorithms over the same partials as windrow's kernels, fused by hand. bench/ceiling.py compiles
// this with g++ -O3 -march=native. A window holds the last n values; a round is evict when full, insert, query, and gives
// one result. The room is a power of two, at least n and at least 64, as in windrow. A null result is NaN here.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

using f64 = double;
using i64 = std::int64_t;
using u64 = std::uint64_t;
constexpr f64 INF = std::numeric_limits<f64>::infinity();

static i64 room(i64 n) {
    i64 capacity = 64;
    while (capacity < n) capacity <<= 1;
    return capacity;
}

// -- monoids: lift takes the two columns, of which all but ArgMax read the first ----------------------------------------

struct Sum {
    using P = f64;
    static P id() { return 0; }
    static P lift(f64 v, f64) { return v; }
    static P combine(const P& a, const P& b) { return a + b; }
    static f64 lower(const P& a) { return a; }
};
struct Max {
    using P = f64;
    static P id() { return -INF; }
    static P lift(f64 v, f64) { return v; }
    static P combine(const P& a, const P& b) { return a > b ? a : a == a ? b : a; }
    static f64 lower(const P& a) { return a; }
};
struct Mean {
    struct P { f64 sum; i64 n; };
    static P id() { return {0, 0}; }
    static P lift(f64 v, f64) { return {v, 1}; }
    static P combine(const P& a, const P& b) { return {a.sum + b.sum, a.n + b.n}; }
    static f64 lower(const P& a) { return a.sum / (f64)a.n; }
};
struct GeoMean {
    using P = Mean::P;
    static P id() { return {0, 0}; }
    static P lift(f64 v, f64) { return {v > 0 ? std::log(v) : (v == 0 ? -INF : NAN), 1}; }
    static P combine(const P& a, const P& b) { return {a.sum + b.sum, a.n + b.n}; }
    static f64 lower(const P& a) { return std::exp(a.sum / (f64)a.n); }
};
struct StdDev {
    struct P { i64 n; f64 mean, m2; };
    static P id() { return {0, 0, 0}; }
    static P lift(f64 v, f64) { return {1, v, 0}; }
    static P combine(const P& a, const P& b) {
        if (a.n == 0) return b;
        if (b.n == 0) return a;
        i64 n = a.n + b.n;
        f64 delta = b.mean - a.mean, share = (f64)b.n / (f64)n;
        return {n, a.mean + delta * share, a.m2 + b.m2 + delta * delta * ((f64)a.n * share)};
    }
    static f64 lower(const P& a) { return a.n <= 1 ? NAN : std::sqrt(a.m2 / (f64)(a.n - 1)); }
};
struct ArgMax {
    struct P { bool has; f64 key, argument; };
    static P id() { return {false, 0, 0}; }
    static P lift(f64 v, f64 w) { return {true, v, w}; }
    static P combine(const P& a, const P& b) {
        if (!b.has) return a;
        return (!a.has || b.key > a.key || (b.key != b.key && a.key == a.key)) ? b : a;
    }
    static f64 lower(const P& a) { return a.argument; }
};

// -- algorithms: first the window fills, then it slides; all steps are inlined into these two loops ----------------------

#define INLINE __attribute__((always_inline))

template <class M> struct TwoStacksLite {
    using P = typename M::P;
    i64 n, mask, front = 0, back = 0, end = 0;
    P back_sum = M::id();
    std::vector<P> ring;
    explicit TwoStacksLite(i64 n) : n(n), mask(room(n) - 1), ring(room(n)) {}
    void roll(const f64* xs, const f64* ys, i64 count, f64* out) {
        i64 F = front, B = back, E = end;
        P sum = back_sum;
        P* q = ring.data();
        auto evict = [&]() INLINE {
            if (F == B) {
                P acc = q[(E - 1) & mask];
                for (i64 j = E - 2; j >= F; j--) { acc = M::combine(q[j & mask], acc); q[j & mask] = acc; }
                B = E;
                sum = M::id();
            }
            F++;
        };
        auto insert_and_query = [&](i64 i) INLINE {
            P x = M::lift(xs[i], ys[i]);
            sum = M::combine(sum, x);
            q[E & mask] = x;
            E++;
            out[i] = M::lower(F == B ? sum : M::combine(q[F & mask], sum));
        };
        i64 i = 0;
        for (; i < count && E - F < n; i++) insert_and_query(i);
        while (i < count) {
            evict();
            insert_and_query(i++);
            // until the front stack has one value left, evicting only moves the front
            for (i64 stop = std::min(count, i + B - F - 1); i < stop; i++) {
                P x = M::lift(xs[i], ys[i]);
                sum = M::combine(sum, x);
                q[E++ & mask] = x;
                out[i] = M::lower(M::combine(q[++F & mask], sum));
            }
        }
        front = F; back = B; end = E; back_sum = sum;
    }
};

template <class M> struct DABALite {  // a window with a value has a front list: [DABA] lemma 4.1
    using P = typename M::P;
    i64 n, mask, F = 0, L = 0, R = 0, A = 0, B = 0, E = 0;
    P mid_sum = M::id(), back_sum = M::id();
    std::vector<P> ring;
    explicit DABALite(i64 n) : n(n), mask(room(n) - 1), ring(room(n)) {}
    void roll(const f64* xs, const f64* ys, i64 count, f64* out) {
        i64 f = F, l = L, r = R, a = A, b = B, e = E;
        P mid = mid_sum, sum = back_sum;
        P* q = ring.data();
        auto step = [&]() INLINE {
            if (l == b) { l = f; a = b = e; mid = sum; sum = M::id(); }
            if (l == r) { l++; r++; a++; return; }
            q[l & mask] = M::combine(q[l & mask], mid);
            l++;
            a--;
            if (a + 1 != b) q[a & mask] = M::combine(q[a & mask], q[(a + 1) & mask]);
        };
        auto fixup = [&]() INLINE {
            if (f == b) { l = r = a = b = e; mid = sum = M::id(); return; }
            step();
        };
        auto add = [&](i64 i) INLINE {
            P x = M::lift(xs[i], ys[i]);
            sum = M::combine(sum, x);
            q[e & mask] = x;
            e++;
        };
        auto query = [&](i64 i) INLINE { out[i] = M::lower(M::combine(q[f & mask], sum)); };
        i64 i = 0;
        for (; i < count && e - f < n; i++) { add(i); fixup(); query(i); }
        if (n == 1) for (; i < count; i++) { f++; fixup(); add(i); fixup(); query(i); }
        for (; i < count; i++) { f++; step(); add(i); step(); query(i); }
        F = f; L = l; R = r; A = a; B = b; E = e; mid_sum = mid; back_sum = sum;
    }
};

template <class M> struct DABA {
    using P = typename M::P;
    i64 n, mask, F = 0, L = 0, R = 0, A = 0, B = 0, E = 0;
    std::vector<P> ring;  // value and aggregate of a position side by side
    explicit DABA(i64 n) : n(n), mask(room(n) - 1), ring(2 * room(n)) {}
    void roll(const f64* xs, const f64* ys, i64 count, f64* out) {
        i64 f = F, l = L, r = R, a = A, b = B, e = E;
        P* q = ring.data();
        auto val = [&](i64 p) INLINE -> P& { return q[2 * (p & mask)]; };
        auto agg = [&](i64 p) INLINE -> P& { return q[2 * (p & mask) + 1]; };
        auto fixup = [&]() INLINE {
            if (f == b) { l = r = a = b = e; return; }
            if (l == b) { l = f; a = b = e; }
            if (l == r) { l++; r++; a++; return; }
            P left = M::combine(agg(l), agg(a - 1)), value = val(a - 1);
            if (a != b) {
                left = M::combine(left, agg(a));
                value = M::combine(value, agg(a));
            }
            agg(l) = left;
            agg(a - 1) = value;
            l++;
            a--;
        };
        auto insert_and_query = [&](i64 i) INLINE {
            P x = M::lift(xs[i], ys[i]);
            P sum = b == e ? x : M::combine(agg(e - 1), x);
            val(e) = x;
            agg(e) = sum;
            e++;
            fixup();
            out[i] = M::lower(b == e ? agg(f) : M::combine(agg(f), agg(e - 1)));
        };
        i64 i = 0;
        for (; i < count && e - f < n; i++) insert_and_query(i);
        for (; i < count; i++) { f++; fixup(); insert_and_query(i); }
        F = f; L = l; R = r; A = a; B = b; E = e;
    }
};

template <class M> struct FlatFAT {
    using P = typename M::P;
    i64 n, capacity, front = 0, end = 0;
    std::vector<P> tree;
    explicit FlatFAT(i64 n) : n(n), capacity(room(n)), tree(2 * capacity, M::id()) {}
    void roll(const f64* xs, const f64* ys, i64 count, f64* out) {
        i64 mask = capacity - 1, F = front, E = end;
        P* t = tree.data();
        auto renew = [&](i64 v) INLINE { t[v] = M::combine(t[2 * v], t[2 * v + 1]); };
        auto insert = [&](i64 i) INLINE {
            i64 v = capacity + (E & mask);
            t[v] = M::lift(xs[i], ys[i]);
            for (v >>= 1; v >= 1; v >>= 1) renew(v);
            E++;
        };
        auto slide = [&](i64 i) INLINE {  // two paths up the tree, and one from where they meet
            i64 old = capacity + (F & mask), v = capacity + (E & mask);
            t[old] = M::id();
            t[v] = M::lift(xs[i], ys[i]);
            for (old >>= 1, v >>= 1; old != v; old >>= 1, v >>= 1) { renew(old); renew(v); }
            for (; v >= 1; v >>= 1) renew(v);
            F++;
            E++;
        };
        auto query = [&]() INLINE {
            i64 low = F & mask, high = (E - 1) & mask;
            if (low <= high) return t[1];
            i64 v = capacity + low;
            P suffix = t[v];
            for (; v > 1; v >>= 1) if (!(v & 1)) suffix = M::combine(suffix, t[v + 1]);
            v = capacity + high;
            P prefix = t[v];
            for (; v > 1; v >>= 1) if (v & 1) prefix = M::combine(t[v - 1], prefix);
            return M::combine(suffix, prefix);
        };
        i64 i = 0;
        for (; i < count && E - F < n; i++) { insert(i); out[i] = M::lower(query()); }
        for (; i < count; i++) { slide(i); out[i] = M::lower(query()); }
        front = F; end = E;
    }
};

// -- Bloom filters of 16,384 bits: a partial is a row of words, combined in place; the result is how many bits are set ---

constexpr int WORDS = 16384 / 64, HASHES = 4;

static inline u64 code_of(i64 value) {  // splitmix64, as in windrow.monoids.hashing
    u64 z = (u64)value + 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
static inline void bloom_clear(u64* row) { std::memset(row, 0, WORDS * sizeof(u64)); }
static inline void bloom_lift(i64 value, u64* row) {
    u64 code = code_of(value), position = code >> 32, step = (code & 0xffffffffull) | 1;
    bloom_clear(row);
    for (u64 k = 0; k < HASHES; k++) {
        u64 bit = position % (WORDS * 64);
        row[bit >> 6] |= 1ull << (bit & 63);
        position += step;
        step += k;
    }
}
static inline void bloom_or(const u64* a, const u64* b, u64* out) {
    for (int k = 0; k < WORDS; k++) out[k] = a[k] | b[k];
}
static inline i64 bloom_lower(const u64* row) {
    i64 ones = 0;
    for (int k = 0; k < WORDS; k++) ones += __builtin_popcountll(row[k]);
    return ones;
}

struct alignas(64) Row { u64 words[WORDS] = {}; };  // a row begins with a cache line

struct BloomTwoStacksLite {
    i64 n, mask, F = 0, B = 0, E = 0;
    std::vector<Row> ring;
    Row back_sum, total;
    explicit BloomTwoStacksLite(i64 n) : n(n), mask(room(n) - 1), ring(room(n)) {}
    u64* at(i64 p) { return ring[p & mask].words; }
    void roll(const i64* xs, const i64*, i64 count, i64* out) {
        for (i64 i = 0; i < count; i++) {
            if (E - F == n) {
                if (F == B) {
                    for (i64 j = E - 2; j >= F; j--) bloom_or(at(j), at(j + 1), at(j));
                    B = E;
                    bloom_clear(back_sum.words);
                }
                F++;
            }
            bloom_lift(xs[i], at(E));
            bloom_or(back_sum.words, at(E), back_sum.words);
            E++;
            if (F == B) { out[i] = bloom_lower(back_sum.words); continue; }
            bloom_or(at(F), back_sum.words, total.words);
            out[i] = bloom_lower(total.words);
        }
    }
};

struct BloomDABALite {
    i64 n, mask, F = 0, L = 0, R = 0, A = 0, B = 0, E = 0;
    std::vector<Row> ring;
    Row back_sum, mid_sum, total;
    explicit BloomDABALite(i64 n) : n(n), mask(room(n) - 1), ring(room(n)) {}
    u64* at(i64 p) { return ring[p & mask].words; }
    void fixup() {
        if (F == B) {
            L = R = A = B = E;
            bloom_clear(back_sum.words);
            bloom_clear(mid_sum.words);
            return;
        }
        if (L == B) {
            L = F;
            A = B = E;
            mid_sum = back_sum;
            bloom_clear(back_sum.words);
        }
        if (L == R) { L++; R++; A++; return; }
        bloom_or(at(L), mid_sum.words, at(L));
        L++;
        A--;
        if (A + 1 != B) bloom_or(at(A), at(A + 1), at(A));
    }
    void roll(const i64* xs, const i64*, i64 count, i64* out) {
        for (i64 i = 0; i < count; i++) {
            if (E - F == n) { F++; fixup(); }
            bloom_lift(xs[i], at(E));
            bloom_or(back_sum.words, at(E), back_sum.words);
            E++;
            fixup();
            if (F == B) { out[i] = bloom_lower(back_sum.words); continue; }
            bloom_or(at(F), back_sum.words, total.words);
            out[i] = bloom_lower(total.words);
        }
    }
};

// -- what Python calls: new_A_M(n), roll_A_M(window, xs, ys, count, out), del_A_M(window) ----------------------------------

#define EXPORT_AS(name, type, number)                                                                      \
    extern "C" void* new_##name(i64 n) { return new type(n); }                                             \
    extern "C" void del_##name(void* window) { delete (type*)window; }                                     \
    extern "C" void roll_##name(void* window, const number* xs, const number* ys, i64 count, number* out) { \
        ((type*)window)->roll(xs, ys, count, out);                                                         \
    }
#define EXPORT(algorithm, monoid) EXPORT_AS(algorithm##_##monoid, algorithm<monoid>, f64)
#define EXPORT_ALL(algorithm)                                                     \
    EXPORT(algorithm, Sum) EXPORT(algorithm, Max) EXPORT(algorithm, Mean)         \
    EXPORT(algorithm, StdDev) EXPORT(algorithm, GeoMean) EXPORT(algorithm, ArgMax)
EXPORT_ALL(TwoStacksLite) EXPORT_ALL(DABALite) EXPORT_ALL(DABA) EXPORT_ALL(FlatFAT)
EXPORT_AS(TwoStacksLite_Bloom, BloomTwoStacksLite, i64)
EXPORT_AS(DABALite_Bloom, BloomDABALite, i64)
