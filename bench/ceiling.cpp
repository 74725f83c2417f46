// The ceiling: the same algorithms over the same partials, hand-fused in C++, compiled by bench/core.py with
// g++ -O3 -march=native. Each window is a count window of n values: evict when full, insert, query, a result a value.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>
#include <x86intrin.h>

using f64 = double;
using i64 = std::int64_t;
using u64 = std::uint64_t;
constexpr f64 INF = std::numeric_limits<f64>::infinity();

struct Sum {
    using P = f64;
    static P id() { return 0; }
    static P lift(f64 v) { return v; }
    static P combine(const P& a, const P& b) { return a + b; }
    static f64 lower(const P& a) { return a; }
};
struct Max {
    using P = f64;
    static P id() { return -INF; }
    static P lift(f64 v) { return v; }
    static P combine(const P& a, const P& b) { return (a > b || a != a) ? a : b; }
    static f64 lower(const P& a) { return a; }
};
struct Mean {
    struct P { f64 s; i64 n; };
    static P id() { return {0, 0}; }
    static P lift(f64 v) { return {v, 1}; }
    static P combine(const P& a, const P& b) { return {a.s + b.s, a.n + b.n}; }
    static f64 lower(const P& a) { return a.s / (f64)a.n; }
};
struct GeoMean {
    using P = Mean::P;
    static P id() { return {0, 0}; }
    static P lift(f64 v) { return {v > 0 ? std::log(v) : (v == 0 ? -INF : NAN), 1}; }
    static P combine(const P& a, const P& b) { return {a.s + b.s, a.n + b.n}; }
    static f64 lower(const P& a) { return std::exp(a.s / (f64)a.n); }
};
struct StdDev {
    struct P { i64 n; f64 mean, m2; };
    static P id() { return {0, 0, 0}; }
    static P lift(f64 v) { return {1, v, 0}; }
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
    struct P { bool has; f64 key, arg; };
    static P id() { return {false, 0, 0}; }
    static P lift(f64 v) { return {true, v, v}; }
    static P combine(const P& a, const P& b) {
        if (!b.has) return a;
        return (!a.has || b.key > a.key || (b.key != b.key && a.key == a.key)) ? b : a;
    }
    static f64 lower(const P& a) { return a.arg; }
};

static i64 pow2(i64 n) { i64 c = 64; while (c < n + 1) c <<= 1; return c; }

template <class M> struct TwoStacksLite {
    using P = typename M::P;
    i64 n, mask, front = 0, back = 0, end = 0;
    P back_sum = M::id();
    std::vector<P> ring;
    explicit TwoStacksLite(i64 n) : n(n), mask(pow2(n) - 1), ring(pow2(n)) {}
    void roll(const f64* xs, i64 count, f64* out, u64* cycles) {
        i64 F = front, B = back, E = end;
        P sum = back_sum;
        P* q = ring.data();
        for (i64 i = 0; i < count; i++) {
            u64 t0 = cycles ? __rdtsc() : 0;
            if (E - F == n) {
                if (F == B) {
                    P acc = q[(E - 1) & mask];
                    for (i64 j = E - 2; j >= F; j--) { acc = M::combine(q[j & mask], acc); q[j & mask] = acc; }
                    B = E;
                    sum = M::id();
                }
                F++;
            }
            P x = M::lift(xs[i]);
            sum = M::combine(sum, x);
            q[E & mask] = x;
            E++;
            out[i] = M::lower(F == B ? sum : M::combine(q[F & mask], sum));
            if (cycles) cycles[i] = __rdtsc() - t0;
        }
        front = F; back = B; end = E; back_sum = sum;
    }
};

template <class M> struct DABALite {
    using P = typename M::P;
    i64 n, mask, F = 0, L = 0, R = 0, A = 0, B = 0, E = 0;
    P mid = M::id(), sum = M::id();
    std::vector<P> ring;
    explicit DABALite(i64 n) : n(n), mask(pow2(n) - 1), ring(pow2(n)) {}
    void roll(const f64* xs, i64 count, f64* out, u64* cycles) {
        i64 f = F, l = L, r = R, a = A, b = B, e = E;
        P m = mid, s = sum;
        P* q = ring.data();
        auto fixup = [&]() __attribute__((always_inline)) {
            if (f == b) { l = r = a = b = e; m = s = M::id(); return; }
            if (l == b) { l = f; a = b = e; m = s; s = M::id(); }
            if (l == r) { l++; r++; a++; return; }
            q[l & mask] = M::combine(q[l & mask], m);
            l++;
            a--;
            if (a + 1 != b) q[a & mask] = M::combine(q[a & mask], q[(a + 1) & mask]);
        };
        for (i64 i = 0; i < count; i++) {
            u64 t0 = cycles ? __rdtsc() : 0;
            if (e - f == n) { f++; fixup(); }
            P x = M::lift(xs[i]);
            s = M::combine(s, x);
            q[e & mask] = x;
            e++;
            fixup();
            out[i] = M::lower(f == b ? s : M::combine(q[f & mask], s));
            if (cycles) cycles[i] = __rdtsc() - t0;
        }
        F = f; L = l; R = r; A = a; B = b; E = e; mid = m; sum = s;
    }
};

template <class M> struct DABA {
    using P = typename M::P;
    i64 n, mask, F = 0, L = 0, R = 0, A = 0, B = 0, E = 0;
    std::vector<P> ring;  // value and aggregate of a position side by side
    explicit DABA(i64 n) : n(n), mask(pow2(n) - 1), ring(2 * pow2(n)) {}
    void roll(const f64* xs, i64 count, f64* out, u64* cycles) {
        i64 f = F, l = L, r = R, a = A, b = B, e = E;
        P* q = ring.data();
        auto val = [&](i64 p) -> P& { return q[2 * (p & mask)]; };
        auto agg = [&](i64 p) -> P& { return q[2 * (p & mask) + 1]; };
        auto fixup = [&]() __attribute__((always_inline)) {
            if (f == b) { l = r = a = b = e; return; }
            if (l == b) { l = f; a = b = e; }
            if (l == r) { l++; r++; a++; return; }
            P acc = a == b ? M::id() : agg(a);
            P right = r == a ? M::id() : agg(a - 1);
            agg(l) = M::combine(M::combine(agg(l), right), acc);
            agg(a - 1) = M::combine(val(a - 1), acc);
            l++;
            a--;
        };
        for (i64 i = 0; i < count; i++) {
            u64 t0 = cycles ? __rdtsc() : 0;
            if (e - f == n) { f++; fixup(); }
            P x = M::lift(xs[i]);
            P s = b == e ? x : M::combine(agg(e - 1), x);
            val(e) = x;
            agg(e) = s;
            e++;
            fixup();
            P front = f == b ? M::id() : agg(f);
            P back = b == e ? M::id() : agg(e - 1);
            out[i] = M::lower(M::combine(front, back));
            if (cycles) cycles[i] = __rdtsc() - t0;
        }
        F = f; L = l; R = r; A = a; B = b; E = e;
    }
};

template <class M> struct FlatFAT {
    using P = typename M::P;
    i64 n, cap = 1, front = 0, end = 0;
    std::vector<P> tree;
    explicit FlatFAT(i64 n) : n(n) { while (cap < n) cap <<= 1; tree.assign(2 * cap, M::id()); }
    void set(i64 slot, const P& x) {
        i64 v = cap + slot;
        tree[v] = x;
        for (v >>= 1; v >= 1; v >>= 1) tree[v] = M::combine(tree[2 * v], tree[2 * v + 1]);
    }
    void roll(const f64* xs, i64 count, f64* out, u64* cycles) {
        i64 mask = cap - 1;
        for (i64 i = 0; i < count; i++) {
            u64 t0 = cycles ? __rdtsc() : 0;
            P x = M::lift(xs[i]);
            bool full = end - front == n;
            if (full && n != cap) set(front & mask, M::id());
            if (full) front++;
            set(end & mask, x);
            end++;
            i64 f = front & mask, b = (end - 1) & mask;
            P total;
            if (f <= b) total = tree[1];
            else {
                i64 v = cap + f;
                P suffix = tree[v];
                for (; v > 1; v >>= 1) if (!(v & 1)) suffix = M::combine(suffix, tree[v ^ 1]);
                v = cap + b;
                P prefix = tree[v];
                for (; v > 1; v >>= 1) if (v & 1) prefix = M::combine(tree[v ^ 1], prefix);
                total = M::combine(suffix, prefix);
            }
            out[i] = M::lower(total);
            if (cycles) cycles[i] = __rdtsc() - t0;
        }
    }
};

// Bloom filters: a partial is a row of W words, combined in place.
constexpr int W = 16384 / 64, HASHES = 4;
static inline u64 mix(u64 z) {  // splitmix64
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
static inline void bloom_lift(u64 hash, u64* row) {
    std::memset(row, 0, W * 8);
    u64 step = mix(hash) | 1;
    for (int k = 0; k < HASHES; k++) { u64 bit = (hash + k * step) % (W * 64); row[bit >> 6] |= 1ull << (bit & 63); }
}
static inline void bloom_or(const u64* a, const u64* b, u64* out) { for (int k = 0; k < W; k++) out[k] = a[k] | b[k]; }
static inline i64 bloom_lower(const u64* a) { i64 ones = 0; for (int k = 0; k < W; k++) ones += __builtin_popcountll(a[k]); return ones; }

struct BloomTwoStacksLite {
    i64 n, mask, F = 0, B = 0, E = 0;
    std::vector<u64> ring, back, tmp;
    explicit BloomTwoStacksLite(i64 n) : n(n), mask(pow2(n) - 1), ring(pow2(n) * W), back(W), tmp(W) {}
    u64* at(i64 p) { return ring.data() + (p & mask) * W; }
    void roll(const u64* xs, i64 count, i64* out) {
        for (i64 i = 0; i < count; i++) {
            if (E - F == n) {
                if (F == B) {
                    for (i64 j = E - 2; j >= F; j--) bloom_or(at(j), at(j + 1), at(j));
                    B = E;
                    std::memset(back.data(), 0, W * 8);
                }
                F++;
            }
            bloom_lift(xs[i], at(E));
            bloom_or(back.data(), at(E), back.data());
            E++;
            if (F == B) out[i] = bloom_lower(back.data());
            else { bloom_or(at(F), back.data(), tmp.data()); out[i] = bloom_lower(tmp.data()); }
        }
    }
};
struct BloomDABALite {
    i64 n, mask, F = 0, L = 0, R = 0, A = 0, B = 0, E = 0;
    std::vector<u64> ring, back, mid, tmp;
    explicit BloomDABALite(i64 n) : n(n), mask(pow2(n) - 1), ring(pow2(n) * W), back(W), mid(W), tmp(W) {}
    u64* at(i64 p) { return ring.data() + (p & mask) * W; }
    void fixup() {
        if (F == B) { L = R = A = B = E; std::memset(back.data(), 0, W * 8); std::memset(mid.data(), 0, W * 8); return; }
        if (L == B) { L = F; A = B = E; mid = back; std::memset(back.data(), 0, W * 8); }
        if (L == R) { L++; R++; A++; return; }
        bloom_or(at(L), mid.data(), at(L));
        L++;
        A--;
        if (A + 1 != B) bloom_or(at(A), at(A + 1), at(A));
    }
    void roll(const u64* xs, i64 count, i64* out) {
        for (i64 i = 0; i < count; i++) {
            if (E - F == n) { F++; fixup(); }
            bloom_lift(xs[i], at(E));
            bloom_or(back.data(), at(E), back.data());
            E++;
            fixup();
            if (F == B) out[i] = bloom_lower(back.data());
            else { bloom_or(at(F), back.data(), tmp.data()); out[i] = bloom_lower(tmp.data()); }
        }
    }
};

#define EXPORT(alg, monoid)                                                                          \
    extern "C" void* new_##alg##_##monoid(i64 n) { return new alg<monoid>(n); }                      \
    extern "C" void del_##alg##_##monoid(void* w) { delete (alg<monoid>*)w; }                        \
    extern "C" void roll_##alg##_##monoid(void* w, const f64* xs, i64 count, f64* out, u64* cycles) { \
        if (cycles) ((alg<monoid>*)w)->roll(xs, count, out, cycles);                                 \
        else ((alg<monoid>*)w)->roll(xs, count, out, nullptr);                                       \
    }
#define MONOIDS(alg) EXPORT(alg, Sum) EXPORT(alg, Max) EXPORT(alg, Mean) EXPORT(alg, StdDev) EXPORT(alg, GeoMean) EXPORT(alg, ArgMax)
MONOIDS(TwoStacksLite) MONOIDS(DABALite) MONOIDS(DABA) MONOIDS(FlatFAT)

#define EXPORT_BLOOM(alg)                                                                                               \
    extern "C" void* new_##alg##_Bloom(i64 n) { return new Bloom##alg(n); }                                             \
    extern "C" void del_##alg##_Bloom(void* w) { delete (Bloom##alg*)w; }                                               \
    extern "C" void roll_##alg##_Bloom(void* w, const u64* xs, i64 count, i64* out, u64*) { ((Bloom##alg*)w)->roll(xs, count, out); }
EXPORT_BLOOM(TwoStacksLite) EXPORT_BLOOM(DABALite)
