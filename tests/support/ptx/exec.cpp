#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <random>
#include <set>
#include <stdexcept>

#include "ptx.hpp"
namespace ptx {
using std::string;
Stats stats;
Options options;
int constant_of(u64 v);

// ---------------------------------------------------------------- memory
static std::map<u64, u64> allocations;
static u64 last_at = 0, last_end = 0;
void add_allocation(u64 at, u64 size) { allocations[at] = size; }
void remove_allocation(u64 at) {
  allocations.erase(at);
  last_at = last_end = 0;
}
bool find_allocation(u64 at, u64 size) {
  if (at >= last_at && at + size <= last_end) return true;
  auto it = allocations.upper_bound(at);
  if (it == allocations.begin()) return false;
  --it;
  if (at + size > it->first + it->second) return false;
  last_at = it->first;
  last_end = it->first + it->second;
  return true;
}
constexpr u64 shared_window = u64{1} << 56, local_window = u64{1} << 57,
              param_window = u64{1} << 58;

struct MBarrier {
  u32 expected = 0, pending = 0;
  s64 tx = 0;
  u32 phase = 0;
  std::vector<u32> vc, done_vc;
  u32 gen = 0, done_gen = 0;
};
struct Bulk {
  u32 to;
  u64 from;
  u32 bytes;
  u32 bar;
  u32 clock;
  int line;
};
struct Word {
  u32 wt = 0, wc = 0, wgen = 0;
  u8 async = 0;
};
struct Group {
  int pc;
  u32 mask;
  bool blocked;
};
struct CpAsync {
  u32 to;
  u64 from;
  u32 bytes;
  int lane;
};
struct WgRange {
  u32 from, to;
};
struct Warp {
  Kernel* k;
  Block* b;
  u32 id;
  u32 alive;
  u32 lanes;
  std::vector<u64> regs;
  std::vector<u32> preds;
  std::vector<u8> local;
  const u64* splat;
  u64* r;
  u32* p;
  std::vector<Group> groups;
  int waiting = -1;  // barrier
  const I* red = nullptr;
  u32 red_mask = 0, red_true = 0;
  int line = 0;
  const I* at = nullptr;
  // cp.async: of each lane, open group and closed ones
  std::vector<CpAsync> open[32];
  std::vector<std::vector<CpAsync>> closed[32];
  // wgmma
  std::vector<u8> dirty;         // written since the last fence
  std::vector<u16> pending;      // 1 + group of a wgmma under way that has the register, 0 none
  std::vector<u8> pending_acc;   // as an accumulator
  u32 wg_open = 1, wg_done = 0;  // groups: the open one, the last that is over
  bool wg_any = false, fenced = false;
  std::vector<std::pair<u32, WgRange>> wg_reads;
  u32 wg_count = 0;
  int setmaxnreg = -1;
  u64* D(int i) { return r + (size_t)i * 32; }
  const u64* S(int i) const { return i >= 0 ? r + (size_t)i * 32 : splat + (size_t)(~i) * 32; }
};
struct Barrier {
  u32 arrived = 0, expected = 0;
  std::vector<u32> warps;
  bool used = false;
};
struct WgLog {
  int pc;
  u64 a, b;
  bool scale;
};
struct Grid;
struct Block {
  Grid* g;
  u32 ctaid[3];
  u32 threads;
  u64 index;
  std::vector<u8> mem, state;
  std::vector<std::unique_ptr<Warp>> warps;
  Barrier bars[16];
  std::map<u32, MBarrier> mbar;
  std::vector<Bulk> bulks;
  // races
  u32 gen = 1;
  std::vector<u32> clk, fence_clk, row_gen;
  std::vector<std::vector<u32>> vc;
  std::vector<Word> words;
  std::vector<u64> reads;  // [word][warp]: gen(16) | lane(8) | clock(40)
  u32 async_clock = 0;
  std::vector<std::vector<WgLog>> wg_log;
  bool exited_warps = false;
  u32 nwarps() const { return (u32)warps.size(); }
};
struct Grid {
  Kernel* k;
  const Launch* l;
  std::vector<u64> splat;
  u64 workspace = 0;
  std::mt19937_64 rng;
  u64 budget;
};
[[noreturn]] static void fault(Warp& w, const string& why, int lane = -1) {
  char buf[256];
  std::snprintf(buf, sizeof buf, " [%s:%d, kernel %.90s, block %llu warp %u lane %d]",
                w.k->module->name.c_str(), w.at ? w.at->line : -1, w.k->name.c_str(),
                (unsigned long long)w.b->index, w.id, lane);
  throw std::runtime_error(why + buf);
}
// ---- races in shared memory
static bool& races() {
  static bool on = std::getenv("PTXSIM_NORACE") == nullptr;
  return on;
}
static std::vector<u32>& row(Block& b, u32 t) {
  auto& v = b.vc[t];
  if (b.row_gen[t] != b.gen) {
    v.assign(b.threads + 1, 0);
    b.row_gen[t] = b.gen;
  }
  return v;
}
static bool ordered(Block& b, u32 rt, u32 rc, u32 rgen, u32 u) {
  if (rgen < b.gen || rt == u) return true;
  if (b.row_gen[u] != b.gen) return false;
  return b.vc[u][rt] >= rc;
}
static void note_write(Warp& w, u32 at, u32 n, u32 t, bool proxy = false) {
  if (!races()) return;
  Block& b = *w.b;
  for (u32 i = at / 4; i <= (at + n - 1) / 4; ++i) {
    Word& x = b.words[i];
    if (!ordered(b, x.wt, x.wc, x.wgen, t))
      fault(w,
            "race: write of shared " + std::to_string(i * 4) + " by thread " + std::to_string(t) +
                ", before it written by " + std::to_string(x.wt),
            t % 32);
    u64* r = &b.reads[(size_t)i * b.nwarps()];
    for (u32 q = 0; q < b.nwarps(); ++q)
      if (r[q]) {
        u32 g = (u32)(r[q] >> 40), rt = q * 32 + (u32)(r[q] >> 32 & 31), c = (u32)r[q];
        const bool areads = r[q] >> 39 & 1;
        if (!ordered(b, rt, c, g, t))
          fault(w,
                "race: write of shared " + std::to_string(i * 4) + " by thread " +
                    std::to_string(t) + ", before it read by " + std::to_string(rt),
                t % 32);
        if (proxy && !areads && rt < b.threads && !(b.fence_clk[rt] > c))
          fault(w, "async copy over shared " + std::to_string(i * 4) + " that thread " +
                       std::to_string(rt) + " read, without a proxy fence after it");
      }
    if (proxy && x.wgen && !x.async && !(b.fence_clk[x.wt] > x.wc))
      fault(w, "async copy over shared " + std::to_string(i * 4) + " that thread " +
                   std::to_string(x.wt) + " wrote, without a proxy fence after it");
    if (!proxy) {
      x.wt = t;
      x.wc = b.clk[t];
      x.wgen = b.gen;
      x.async = 0;
    }
  }
}
static void note_read(Warp& w, u32 at, u32 n, u32 t, bool proxy = false) {
  if (!races()) return;
  Block& b = *w.b;
  for (u32 i = at / 4; i <= (at + n - 1) / 4; ++i) {
    Word& x = b.words[i];
    if (!ordered(b, x.wt, x.wc, x.wgen, t))
      fault(w,
            "race: read of shared " + std::to_string(i * 4) + " by thread " + std::to_string(t) +
                ", written by " + std::to_string(x.wt),
            t % 32);
    if (proxy && x.wgen && !x.async && !(b.fence_clk[x.wt] > x.wc))
      fault(w, "matrix instruction reads shared " + std::to_string(i * 4) + " that thread " +
                   std::to_string(x.wt) + " wrote without a proxy fence");
    if (!proxy)
      b.reads[(size_t)i * b.nwarps() + t / 32] = (u64)b.gen << 40 | (u64)(t % 32) << 32 | b.clk[t];
  }
}
static void join(Block& b, const std::vector<u32>& threads) {
  if (!races()) return;
  std::vector<u32> all(b.threads + 1, 0);
  for (u32 t : threads) {
    if (b.row_gen[t] == b.gen) {
      auto& v = b.vc[t];
      for (size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], v[i]);
    }
    all[t] = std::max(all[t], b.clk[t]);
  }
  for (u32 t : threads) {
    auto& v = row(b, t);
    v = all;
    ++b.clk[t];
  }
}
// ---- access
static u8* shared_at(Warp& w, u64 addr, u32 n, int lane) {
  Block& b = *w.b;
  if (addr < 1024 || addr + n > b.mem.size())
    fault(w, "shared address " + std::to_string(addr) + " of " + std::to_string(b.mem.size()),
          lane);
  return b.mem.data() + addr;
}
static u8* resolve(Warp& w, const I& in, u64 addr, u32 n, int lane, bool write) {
  if (addr % n != 0)
    fault(w, "misaligned address " + std::to_string(addr) + " of " + std::to_string(n) + " bytes",
          lane);
  Space s = in.space;
  if (s == Generic) {
    if (addr & shared_window) {
      s = Shared;
      addr &= ~shared_window;
    } else if (addr & local_window) {
      s = Local;
      addr &= ~local_window;
    } else if (addr & param_window)
      s = Param;
    else
      s = Global;
  }
  switch (s) {
    case Shared: {
      addr &= 0xffffffffu;
      u8* at = shared_at(w, addr, n, lane);
      u8* st = w.b->state.data() + addr;
      for (u32 i = 0; i < n; ++i) {
        if (st[i] == 2) fault(w, "shared " + std::to_string(addr) + " has a copy under way", lane);
        if (st[i] == 3) fault(w, "shared " + std::to_string(addr) + " is an mbarrier", lane);
        if (write)
          st[i] = 1;
        else if (st[i] == 0)
          fault(w, "shared " + std::to_string(addr + i) + " is read before it is written", lane);
      }
      if (write) {
        note_write(w, (u32)addr, n, w.id * 32 + lane);
        for (auto& [g, r] : w.wg_reads)
          if (addr < r.to && addr + n > r.from)
            fault(w, "write of shared under a matrix instruction", lane);
      } else
        note_read(w, (u32)addr, n, w.id * 32 + lane);
      return at;
    }
    case Local:
      if (addr + n > w.k->local_bytes) fault(w, "local address " + std::to_string(addr), lane);
      return w.local.data() + (size_t)lane * w.k->local_bytes + addr;
    case Param: {
      addr &= ~param_window;
      if (write) fault(w, "write of a parameter", lane);
      bool in_one = false;
      for (auto [o, sz] : w.k->params) in_one |= addr >= o && addr + n <= o + sz;
      if (!in_one) fault(w, "parameter address " + std::to_string(addr), lane);
      return const_cast<u8*>(w.b->g->l->params) + addr;
    }
    default:
      if (!find_allocation(addr, n)) {
        char t[64];
        std::snprintf(t, sizeof t, "global address %llx of %u bytes%s", (unsigned long long)addr, n,
                      write ? ", write" : "");
        fault(w, t, lane);
      }
      return (u8*)addr;
  }
}
// ---------------------------------------------------------------- lanes
template <class F>
static inline void each(u32 m, F&& f) {
  if (m == ~0u) {
    for (int l = 0; l < 32; ++l) f(l);
  } else
    for (; m; m &= m - 1) f(std::countr_zero(m));
}
template <class T>
static inline T rd(u64 v) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(v);
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>((u32)v);
  else
    return (T)v;
}
template <class T>
static inline u64 wr(T v) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<u64>(v);
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<u32>(v);
  else
    return (u64)(std::make_unsigned_t<T>)v;
}
template <class T, class Op>
static void un(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  each(m, [&](int l) { d[l] = wr<T>(Op{}(rd<T>(a[l]))); });
}
template <class T, class Op>
static void bin(Warp& w, const I& i, u32 m) {
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]);
  auto* d = w.D(i.d);
  each(m, [&](int l) { d[l] = wr<T>(Op{}(rd<T>(a[l]), rd<T>(b[l]))); });
}
template <class T, class Op>
static void tri(Warp& w, const I& i, u32 m) {
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]), *c = w.S(i.s[2]);
  auto* d = w.D(i.d);
  each(m, [&](int l) { d[l] = wr<T>(Op{}(rd<T>(a[l]), rd<T>(b[l]), rd<T>(c[l]))); });
}
struct Add {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return (T)((std::make_unsigned_t<T>)a + (std::make_unsigned_t<T>)b);
    else
      return a + b;
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return (T)((std::make_unsigned_t<T>)a - (std::make_unsigned_t<T>)b);
    else
      return a - b;
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return (T)((u64)a * (u64)b);
    else
      return a * b;
  }
};
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return (T)-1;
      if (std::is_signed_v<T> && b == (T)-1) return (T)(0 - (std::make_unsigned_t<T>)a);
      return (T)(a / b);
    } else
      return a / b;
  }
};
struct Rem {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == (T)-1) return 0;
    return (T)(a % b);
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return std::min(a, b);
    else {
      if (std::isnan(a)) return b;
      if (std::isnan(b)) return a;
      if (a == b) return std::signbit(a) ? a : b;
      return a < b ? a : b;
    }
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return std::max(a, b);
    else {
      if (std::isnan(a)) return b;
      if (std::isnan(b)) return a;
      if (a == b) return std::signbit(a) ? b : a;
      return a > b ? a : b;
    }
  }
};
struct MinNaN {
  template <class T>
  T operator()(T a, T b) const {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    return Min{}(a, b);
  }
};
struct MaxNaN {
  template <class T>
  T operator()(T a, T b) const {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    return Max{}(a, b);
  }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};
struct Not {
  template <class T>
  T operator()(T a) const {
    return (T)~a;
  }
};
struct Cnot {
  template <class T>
  T operator()(T a) const {
    return a == 0;
  }
};
struct Neg {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_integral_v<T>)
      return (T)(0 - (std::make_unsigned_t<T>)a);
    else
      return wr<T>(a), rd<T>(wr<T>(a) ^ (sizeof(T) == 8 ? u64{1} << 63 : u64{1} << 31));
  }
};
struct Abs {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_integral_v<T>)
      return a < 0 ? (T)(0 - (std::make_unsigned_t<T>)a) : a;
    else
      return std::fabs(a);
  }
};
struct Mov {
  template <class T>
  T operator()(T a) const {
    return a;
  }
};
struct Fma {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
struct MadLo {
  template <class T>
  T operator()(T a, T b, T c) const {
    return (T)((u64)a * (u64)b + (u64)c);
  }
};
struct MulHi {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (sizeof(T) == 8) {
      if constexpr (std::is_signed_v<T>)
        return (T)(((__int128)a * b) >> 64);
      else
        return (T)(((unsigned __int128)a * b) >> 64);
    } else if constexpr (std::is_signed_v<T>)
      return (T)(((s64)a * (s64)b) >> (8 * sizeof(T)));
    else
      return (T)(((u64)a * (u64)b) >> (8 * sizeof(T)));
  }
};
struct MadHi {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add{}(MulHi{}(a, b), c);
  }
};
struct CopySign {
  template <class T>
  T operator()(T a, T b) const {
    return std::copysign(b, a);
  }
};
struct Sqrt {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct Rcp {
  template <class T>
  T operator()(T a) const {
    return T{1} / a;
  }
};
struct FmaDown {
  float operator()(float a, float b, float c) const {
    const double product = double{a} * b, sum = product + c, back = sum - product;
    const double error = (product - (sum - back)) + (c - back);
    float down = static_cast<float>(sum);
    if (down > sum || (down == sum && error < 0)) down = std::nextafterf(down, -INFINITY);
    return down;
  }
};
static void mul_wide(Warp& w, const I& i, u32 m) {  // flag: 2 u16, 4 u32; flag2: signed
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]);
  auto* c = i.s[2] == INT32_MIN ? nullptr : w.S(i.s[2]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    u64 x;
    if (i.flag == 4)
      x = i.flag2 ? (u64)((s64)(s32)a[l] * (s64)(s32)b[l]) : (u64)(u32)a[l] * (u32)b[l];
    else
      x = i.flag2 ? (u32)((s32)(int16_t)a[l] * (s32)(int16_t)b[l])
                  : (u32)(u16)a[l] * (u32)(u16)b[l];
    if (c) x += c[l];
    d[l] = i.flag == 4 ? x : (u32)x;
  });
}
template <class T>
static void shl(Warp& w, const I& i, u32 m) {
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    u32 n = (u32)b[l];
    d[l] = n >= 8 * sizeof(T) ? 0 : wr<T>((T)((u64)rd<T>(a[l]) << n));
  });
}
template <class T>
static void shr(Warp& w, const I& i, u32 m) {
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    u32 n = (u32)b[l];
    constexpr u32 most = 8 * sizeof(T);
    T x = rd<T>(a[l]);
    if (n >= most) {
      d[l] = wr<T>(std::is_signed_v<T> ? (T)(x >> (most - 1)) : T{0});
    } else
      d[l] = wr<T>((T)(x >> n));
  });
}
template <bool Left, bool Clamp>
static void shf(Warp& w, const I& i, u32 m) {
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]), *c = w.S(i.s[2]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    u32 n = (u32)c[l];
    n = Clamp ? std::min(n, 32u) : n & 31;
    u64 x = (u64)(u32)b[l] << 32 | (u32)a[l];
    d[l] = Left ? (u32)((x << n) >> 32) : (u32)(x >> n);
  });
}
template <class T>
static void bfi(Warp& w, const I& i, u32 m) {
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]), *c = w.S(i.s[2]), *e = w.S(i.s[3]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    u32 pos = c[l] & 255, len = e[l] & 255;
    constexpr u32 most = 8 * sizeof(T);
    T x = rd<T>(a[l]), y = rd<T>(b[l]);
    for (u32 q = 0; q < len && pos + q < most; ++q) {
      T bit = (T)((x >> q) & 1);
      y = (T)((y & ~((T)1 << (pos + q))) | (bit << (pos + q)));
    }
    d[l] = wr<T>(y);
  });
}
template <class T>
static void bfe(Warp& w, const I& i, u32 m) {
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]), *c = w.S(i.s[2]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    u32 pos = b[l] & 255, len = c[l] & 255;
    constexpr u32 most = 8 * sizeof(T);
    using U = std::make_unsigned_t<T>;
    U x = rd<U>(a[l]);
    U r = 0;
    U sign = 0;
    if (std::is_signed_v<T> && len) sign = (x >> std::min(pos + len - 1, most - 1)) & 1;
    for (u32 q = 0; q < most; ++q) {
      U bit = q < len && pos + q < most ? (x >> (pos + q)) & 1 : sign;
      r |= bit << q;
    }
    d[l] = wr<U>(r);
  });
}
static void prmt(Warp& w, const I& i, u32 m) {
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]), *c = w.S(i.s[2]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    u64 x = (u64)(u32)b[l] << 32 | (u32)a[l];
    u32 sel = (u32)c[l], r = 0;
    for (int q = 0; q < 4; ++q) {
      u32 s = sel >> (4 * q) & 15;
      u32 by = (u32)(x >> (8 * (s & 7))) & 255;
      if (s & 8) by = by & 128 ? 255 : 0;
      r |= by << (8 * q);
    }
    d[l] = r;
  });
}
template <class T>
static void popc(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  each(m, [&](int l) { d[l] = (u64)std::popcount(rd<T>(a[l])); });
}
template <class T>
static void clz(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  each(m, [&](int l) { d[l] = (u64)std::countl_zero(rd<T>(a[l])); });
}
template <class T>
static void brev(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    T x = rd<T>(a[l]), r = 0;
    for (u32 q = 0; q < 8 * sizeof(T); ++q) r |= ((x >> q) & 1) << (8 * sizeof(T) - 1 - q);
    d[l] = r;
  });
}
static void lop3(Warp& w, const I& i, u32 m) {
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]), *c = w.S(i.s[2]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    u32 x = (u32)a[l], y = (u32)b[l], z = (u32)c[l], r = 0;
    for (int q = 0; q < 8; ++q)
      if (i.imm >> q & 1) r |= (q & 4 ? x : ~x) & (q & 2 ? y : ~y) & (q & 1 ? z : ~z);
    d[l] = r;
  });
}
static void selp(Warp& w, const I& i, u32 m) {
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]);
  auto* d = w.D(i.d);
  u32 p = w.p[i.p];
  if (i.pneg) p = ~p;
  u64 keep = i.bytes == 8 ? ~u64{0} : i.bytes == 4 ? 0xffffffffu : 0xffffu;
  each(m, [&](int l) { d[l] = (p >> l & 1 ? a[l] : b[l]) & keep; });
}
// setp: flag = comparison, flag2 = 0 none 1 and 2 or 3 xor with i.p
enum Cmp : u8 { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN_ };
template <class T>
static bool compare(u8 c, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    bool nan = std::isnan(a) || std::isnan(b);
    switch (c) {
      case EQ:
        return !nan && a == b;
      case NE:
        return !nan && a != b;
      case LT:
        return !nan && a < b;
      case LE:
        return !nan && a <= b;
      case GT:
        return !nan && a > b;
      case GE:
        return !nan && a >= b;
      case EQU:
        return nan || a == b;
      case NEU:
        return nan || a != b;
      case LTU:
        return nan || a < b;
      case LEU:
        return nan || a <= b;
      case GTU:
        return nan || a > b;
      case GEU:
        return nan || a >= b;
      case NUM:
        return !nan;
      default:
        return nan;
    }
  } else
    switch (c) {
      case EQ:
        return a == b;
      case NE:
        return a != b;
      case LT:
        return a < b;
      case LE:
        return a <= b;
      case GT:
        return a > b;
      default:
        return a >= b;
    }
}
template <class T>
static void setp(Warp& w, const I& i, u32 m) {
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]);
  u32 r = 0;
  each(m, [&](int l) { r |= (u32)compare<T>(i.flag, rd<T>(a[l]), rd<T>(b[l])) << l; });
  u32 q = ~r;
  if (i.flag2) {
    u32 p = w.p[i.p];
    if (i.pneg) p = ~p;
    r = i.flag2 == 1 ? r & p : i.flag2 == 2 ? r | p : r ^ p;
    q = i.flag2 == 1 ? q & p : i.flag2 == 2 ? q | p : q ^ p;
  }
  w.p[i.d] = (w.p[i.d] & ~m) | (r & m);
  if (i.d2 >= 0) w.p[i.d2] = (w.p[i.d2] & ~m) | (q & m);
}
// predicates: s[0], s[1] hold predicate registers or ~0 / ~1 constants (imm bits)
static u32 pred_of(Warp& w, int s, bool neg) {
  u32 v = s >= 0 ? w.p[s] : (s == -2 ? ~0u : 0u);
  return neg ? ~v : v;
}
static void pred_op(Warp& w, const I& i, u32 m) {
  u32 a = pred_of(w, i.s[0], i.flag2 & 1),
      b = i.flag == 3 || i.flag == 4 ? 0 : pred_of(w, i.s[1], i.flag2 & 2), r;
  switch (i.flag) {
    case 0:
      r = a & b;
      break;
    case 1:
      r = a | b;
      break;
    case 2:
      r = a ^ b;
      break;
    case 3:
      r = ~a;
      break;
    default:
      r = a;
  }
  w.p[i.d] = (w.p[i.d] & ~m) | (r & m);
}
// add.cc and the like: carry in a predicate-like register of the warp
static thread_local u32 carry = 0;
static void carried(Warp& w, const I& i, u32 m) {
  // flag: 0 add 1 sub 2 mad.lo 3 mad.hi ; flag2: 1 carry in, 2 carry out ; bytes 4 or 8
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]);
  auto* c = i.s[2] == INT32_MIN ? nullptr : w.S(i.s[2]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    using W = unsigned __int128;
    W mask = i.bytes == 8 ? (W)~u64{0} : (W)0xffffffffu;
    W x, y, r;
    u32 in = i.flag2 & 1 ? carry >> l & 1 : 0;
    x = (W)a[l] & mask;
    y = (W)b[l] & mask;
    if (i.flag == 1) {
      r = x - y - in;
      bool borrow = x < y + in;
      d[l] = (u64)(r & mask);
      if (i.flag2 & 2) carry = (carry & ~(1u << l)) | (u32)borrow << l;
      return;
    }
    if (i.flag == 2) {
      x = (x * y) & mask;
      y = (W)c[l] & mask;
    }
    if (i.flag == 3) {
      x = (x * y) >> (8 * i.bytes);
      y = (W)c[l] & mask;
    }
    r = x + y + in;
    d[l] = (u64)(r & mask);
    if (i.flag2 & 2) carry = (carry & ~(1u << l)) | (u32)(r > mask) << l;
  });
}
// ---- conversions
enum Ty : u8 { tu8, ts8, tu16, ts16, tu32, ts32, tu64, ts64, tf32, tf64 };
static double round_mode(double x, int mode) {
  switch (mode) {
    case 1:
      return std::nearbyint(x);
    case 2:
      return std::trunc(x);
    case 3:
      return std::floor(x);
    case 4:
      return std::ceil(x);
    default:
      return x;
  }
}
template <class D, class S, int Mode, bool Sat>
static void cvt(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    S x = rd<S>(a[l]);
    if constexpr (std::is_integral_v<D> && std::is_integral_v<S>) {
      if constexpr (Sat) {
        __int128 v = x;
        v = std::max(v, (__int128)std::numeric_limits<D>::min());
        v = std::min(v, (__int128)std::numeric_limits<D>::max());
        d[l] = wr<D>((D)v);
      } else
        d[l] = wr<D>((D)x);
    } else if constexpr (std::is_integral_v<D>) {
      double v = round_mode((double)x, Mode);
      if (std::isnan(v))
        d[l] = wr<D>(sizeof(D) == 8 ? (D)(u64{1} << 63) : D{0});
      else if (v < (double)std::numeric_limits<D>::min())
        d[l] = wr<D>(std::numeric_limits<D>::min());
      else if (v >= std::ldexp(1.0, std::numeric_limits<D>::digits))
        d[l] = wr<D>(std::numeric_limits<D>::max());
      else
        d[l] = wr<D>((D)v);
    } else if constexpr (std::is_integral_v<S>)
      d[l] = wr<D>((D)x);
    else {
      D v = (D)round_mode((double)x, Mode);
      if (Sat) v = std::isnan(v) ? 0 : v < 0 ? (D)0 : v > 1 ? (D)1 : v;
      if constexpr (std::is_same_v<D, S> && Mode == 0 && !Sat) v = x;
      d[l] = wr<D>(v);
    }
  });
}
static void cvt_bf16x2(Warp& w, const I& i,
                       u32 m) {  // cvt.rn.bf16x2.f32 d, a, b: a in the upper half
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]);
  auto* d = w.D(i.d);
  auto of = [](u64 v) -> u32 {
    u32 x = (u32)v;
    if ((x & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    u32 low = x & 0xffff, hi = x >> 16;
    if (low > 0x8000 || (low == 0x8000 && (hi & 1))) ++hi;
    return hi & 0xffff;
  };
  each(m, [&](int l) { d[l] = of(a[l]) << 16 | of(b[l]); });
}
// ---- approximations; PTX: ex2.approx.ftz.f32 max relative error 2^-22.5ish, rcp.approx.f32 1 ulp, rcp.approx.ftz.f64 upper 32 bits
static float disturbed(Warp& w, double exact, double ulps) {
  float f = (float)exact;
  if (!options.approx || !std::isfinite(f) || f == 0) return f;
  int steps = (int)ulps;
  u64 h =
      (std::bit_cast<u64>(exact) ^ options.seed * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  h ^= h >> 29;
  h *= 0x94d049bb133111ebull;
  h ^= h >> 32;
  (void)w;
  int n = (int)(h % (2 * (u64)steps + 1)) - steps;
  for (; n > 0; --n) f = std::nextafterf(f, INFINITY);
  for (; n < 0; ++n) f = std::nextafterf(f, -INFINITY);
  return f;
}
static float ftz(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}
template <bool Ftz>
static void ex2(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    float x = rd<float>(a[l]);
    if (Ftz) x = ftz(x);
    float r = disturbed(w, std::exp2((double)x), 2);
    d[l] = wr<float>(Ftz ? ftz(r) : r);
  });
}
template <bool Ftz>
static void lg2(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    float x = rd<float>(a[l]);
    if (Ftz) x = ftz(x);
    float r = (float)std::log2((double)x);
    d[l] = wr<float>(Ftz ? ftz(r) : r);
  });
}
template <bool Ftz>
static void rcp32(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    float x = rd<float>(a[l]);
    if (Ftz) x = ftz(x);
    float r = disturbed(w, 1.0 / (double)x, 1);
    d[l] = wr<float>(Ftz ? ftz(r) : r);
  });
}
static void rcp64(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    u64 x = a[l] & 0xffffffff00000000ull;
    double v = rd<double>(x);
    if (std::fpclassify(v) == FP_SUBNORMAL) v = std::copysign(0.0, v);
    double r = 1.0 / v;
    if (std::fpclassify(r) == FP_SUBNORMAL) r = std::copysign(0.0, r);
    d[l] = wr<double>(r) & 0xffffffff00000000ull;
  });
}
static void rsqrt32(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  each(m,
       [&](int l) { d[l] = wr<float>(disturbed(w, 1.0 / std::sqrt((double)rd<float>(a[l])), 2)); });
}
static void rsqrt64(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    d[l] = wr<double>(1.0 / std::sqrt(rd<double>(a[l] & 0xffffffff00000000ull))) &
           0xffffffff00000000ull;
  });
}
// ---- moves
static void mov_special(Warp& w, const I& i, u32 m) {
  auto* d = w.D(i.d);
  Block& b = *w.b;
  const Launch& L = *b.g->l;
  each(m, [&](int l) {
    u32 t = w.id * 32 + (u32)l;
    u64 v = 0;
    switch (i.imm) {
      case 0:
        v = t % L.block[0];
        break;
      case 1:
        v = t / L.block[0] % L.block[1];
        break;
      case 2:
        v = t / L.block[0] / L.block[1];
        break;
      case 3:
      case 4:
      case 5:
        v = L.block[i.imm - 3];
        break;
      case 6:
      case 7:
      case 8:
        v = b.ctaid[i.imm - 6];
        break;
      case 9:
      case 10:
      case 11:
        v = L.grid[i.imm - 9];
        break;
      case 12:
        v = (u32)l;
        break;
      case 13:
        v = b.g->workspace >> 32;
        break;
      case 14:
        v = (u32)b.g->workspace;
        break;
      case 15:
        v = 1u << l;
        break;
      case 16:
        v = (1u << l) - 1;
        break;
      case 17:
        v = (2u << l) - 1;
        break;
      case 18:
        v = ~((1u << l) - 1);
        break;
      case 19:
        v = ~((2u << l) - 1);
        if (l == 31) v = 0;
        break;
      case 20:
        v = (u32)(b.index % 132);
        break;
      case 21:
        v = L.dynamic_shared;
        break;
      case 22:
        v = stats.warp_instructions;
        break;
      case 23:
        v = w.id;
        break;
      default:
        fault(w, "special register", l);
    }
    d[l] = v & 0xffffffffffffffffull;
  });
}
static void unpack(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  u32 n = (u32)i.v.size(), bits = i.bytes * 8 / n;
  each(m, [&](int l) {
    u64 x = a[l];
    for (u32 q = 0; q < n; ++q)
      if (i.v[q] >= 0) w.D(i.v[q])[l] = bits == 64 ? x : (x >> (bits * q)) & ((u64{1} << bits) - 1);
  });
}
static void pack(Warp& w, const I& i, u32 m) {
  auto* d = w.D(i.d);
  u32 n = (u32)i.v.size(), bits = i.bytes * 8 / n;
  each(m, [&](int l) {
    u64 x = 0;
    for (u32 q = 0; q < n; ++q) x |= (w.S(i.v[q])[l] & ((u64{1} << bits) - 1)) << (bits * q);
    d[l] = x;
  });
}
static void mov64(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  u64 keep = i.bytes == 8 ? ~u64{0} : i.bytes == 4 ? 0xffffffffu : 0xffffu;
  each(m, [&](int l) { d[l] = a[l] & keep; });
}
static void cvta(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  each(m, [&](int l) {
    u64 x = a[l];
    u64 win = i.space == Shared  ? shared_window
              : i.space == Local ? local_window
              : i.space == Param ? param_window
                                 : 0;
    if (i.flag) {
      if (win) {
        if (!(x & win)) fault(w, "cvta.to of another space", l);
        x &= ~win;
        if (i.space == Param) x |= param_window;
      } else if (x & (shared_window | local_window | param_window))
        fault(w, "cvta.to.global of another space", l);
    } else
      x |= win;
    d[l] = x;
  });
}
// ---- loads and stores: s[0] base or none, imm offset
static void load(Warp& w, const I& i, u32 m) {
  const u64* base = i.s[0] == INT32_MIN ? nullptr : w.S(i.s[0]);
  u32 total = i.bytes * i.vec;
  each(m, [&](int l) {
    u64 addr = (base ? base[l] : 0) + (u64)i.imm;
    if (i.space == Shared || (i.flag2 & 1)) addr &= 0xffffffffu;
    const u8* at = resolve(w, i, addr, total, l, false);
    for (int q = 0; q < i.vec; ++q) {
      u64 v = 0;
      std::memcpy(&v, at + q * i.bytes, i.bytes);
      if (i.flag)
        v = i.bytes == 1   ? (u64)(s64)(int8_t)v
            : i.bytes == 2 ? (u64)(s64)(int16_t)v
            : i.bytes == 4 ? (u64)(s64)(s32)v
                           : v;
      if (i.v[q] >= 0) w.D(i.v[q])[l] = v;
    }
  });
}
static void store(Warp& w, const I& i, u32 m) {
  const u64* base = i.s[0] == INT32_MIN ? nullptr : w.S(i.s[0]);
  u32 total = i.bytes * i.vec;
  each(m, [&](int l) {
    u64 addr = (base ? base[l] : 0) + (u64)i.imm;
    if (i.space == Shared) addr &= 0xffffffffu;
    u8* at = resolve(w, i, addr, total, l, true);
    for (int q = 0; q < i.vec; ++q) {
      u64 v = w.S(i.v[q])[l];
      std::memcpy(at + q * i.bytes, &v, i.bytes);
    }
  });
}
// ---- warp
static void shfl(Warp& w, const I& i, u32 m) {  // flag 0 up 1 down 2 bfly 3 idx
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]), *c = w.S(i.s[2]);
  u64 in[32];
  std::memcpy(in, a, sizeof in);
  u64 out[32];
  u32 ok = 0;
  each(m, [&](int l) {
    u32 bv = b[l] & 31, cv = (u32)c[l], seg = cv >> 8 & 31, clamp = cv & 31;
    int maxl = (int)(((u32)l & seg) | (clamp & ~seg)), minl = (int)((u32)l & seg);
    int j;
    bool p;
    switch (i.flag) {
      case 0:
        j = l - (int)bv;
        p = j >= maxl;
        break;
      case 1:
        j = l + (int)bv;
        p = j <= maxl;
        break;
      case 2:
        j = l ^ (int)bv;
        p = j <= maxl;
        break;
      default:
        j = minl | (int)(bv & ~seg);
        p = j <= maxl;
    }
    if (!p) j = l;
    if (!(m >> j & 1)) fault(w, "shuffle from a lane that is not there", l);
    out[l] = (u32)in[j];
    ok |= (u32)p << l;
  });
  if (i.d >= 0) {
    auto* d = w.D(i.d);
    each(m, [&](int l) { d[l] = out[l]; });
  }
  if (i.d2 >= 0) w.p[i.d2] = (w.p[i.d2] & ~m) | ok;
}
static void warp_join(Warp& w, u32 m) {
  if (!races()) return;
  std::vector<u32> t;
  each(m, [&](int l) { t.push_back(w.id * 32 + (u32)l); });
  join(*w.b, t);
}
static void bar_warp(Warp& w, const I&, u32 m) { warp_join(w, m); }
static void vote(Warp& w, const I& i, u32 m) {  // flag 0 all 1 any 2 uni 3 ballot
  u32 p = pred_of(w, i.p, i.pneg) & m;
  if (i.flag == 3) {
    auto* d = w.D(i.d);
    each(m, [&](int l) { d[l] = p; });
    return;
  }
  bool r = i.flag == 0 ? p == m : i.flag == 1 ? p != 0 : p == m || p == 0;
  w.p[i.d] = r ? w.p[i.d] | m : w.p[i.d] & ~m;
}
static void match_any(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  u64 in[32];
  std::memcpy(in, a, sizeof in);
  u64 keep = i.bytes == 8 ? ~u64{0} : 0xffffffffu;
  each(m, [&](int l) {
    u32 r = 0;
    for (int j = 0; j < 32; ++j)
      if ((m >> j & 1) && ((in[j] ^ in[l]) & keep) == 0) r |= 1u << j;
    d[l] = r;
  });
}
static void activemask(Warp& w, const I& i, u32 m) {
  auto* d = w.D(i.d);
  each(m, [&](int l) { d[l] = m; });
}
static void redux(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* d = w.D(i.d);
  u32 r = 0;
  bool first = true;
  each(m, [&](int l) {
    u32 x = (u32)a[l];
    if (first) {
      r = x;
      first = false;
      return;
    }
    switch (i.flag) {
      case 0:
        r += x;
        break;
      case 1:
        r = std::min(r, x);
        break;
      case 2:
        r = std::max(r, x);
        break;
      case 3:
        r = (u32)std::min((s32)r, (s32)x);
        break;
      case 4:
        r = (u32)std::max((s32)r, (s32)x);
        break;
      case 5:
        r &= x;
        break;
      case 6:
        r |= x;
        break;
      default:
        r ^= x;
    }
  });
  each(m, [&](int l) { d[l] = r; });
}
// ---- atomics: flag op, bytes
static void atom(Warp& w, const I& i, u32 m) {
  const u64* base = i.s[0] == INT32_MIN ? nullptr : w.S(i.s[0]);
  auto* b = w.S(i.s[1]);
  auto* c = i.s[2] == INT32_MIN ? nullptr : w.S(i.s[2]);
  bool race = races();
  each(m, [&](int l) {
    u64 addr = (base ? base[l] : 0) + (u64)i.imm;
    if (i.space == Shared) addr &= 0xffffffffu;
    races() = false;
    u8* at = resolve(w, i, addr, i.bytes, l, false);
    races() = race;
    u64 old = 0;
    std::memcpy(&old, at, i.bytes);
    u64 x = b[l], r = 0;
    u64 keep = i.bytes == 8 ? ~u64{0} : 0xffffffffu;
    switch (i.flag) {
      case 0:
        r = old + x;
        break;
      case 1:
        r = x;
        break;
      case 2:
        r = ((old ^ x) & keep) == 0 ? c[l] : old;
        break;
      case 3:
        r = old & x;
        break;
      case 4:
        r = old | x;
        break;
      case 5:
        r = old ^ x;
        break;
      case 6:
        r = i.bytes == 8 ? std::min(old, x) : std::min((u32)old, (u32)x);
        break;
      case 7:
        r = i.bytes == 8 ? std::max(old, x) : std::max((u32)old, (u32)x);
        break;
      case 8:
        r = (u32)old >= (u32)x ? 0 : old + 1;
        break;
      case 9:
        r = wr<float>(rd<float>(old) + rd<float>(x));
        break;
      case 10:
        r = wr<double>(rd<double>(old) + rd<double>(x));
        break;
      case 11:
        r = (u64)(s64)std::min((s32)old, (s32)x);
        break;
      case 12:
        r = (u64)(s64)std::max((s32)old, (s32)x);
        break;
    }
    std::memcpy(at, &r, i.bytes);
    if (i.d >= 0) w.D(i.d)[l] = old;
  });
}
static void nothing(Warp&, const I&, u32) {}
static void proxy_fence(Warp& w, const I&, u32 m) {
  Block& b = *w.b;
  each(m, [&](int l) {
    u32 t = w.id * 32 + (u32)l;
    ++b.clk[t];
    b.fence_clk[t] = b.clk[t];
  });
}
// ---- cp.async
static void cp_async(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* b = w.S(i.s[1]);
  auto* n = i.s[2] == INT32_MIN ? nullptr : w.S(i.s[2]);
  each(m, [&](int l) {
    u32 to = (u32)(a[l] + (u64)i.imm), bytes = i.bytes;
    u64 from = b[l];
    if (n && (u32)n[l] != bytes) fault(w, "cp.async with fewer bytes: not here", l);
    if (to % bytes || from % bytes)
      fault(w, "cp.async: misaligned " + std::to_string(to) + " " + std::to_string(from), l);
    shared_at(w, to, bytes, l);
    if (!find_allocation(from, bytes)) fault(w, "cp.async: global address", l);
    for (u32 q = 0; q < bytes; ++q) {
      u8& st = w.b->state[to + q];
      if (st == 2 || st == 3) fault(w, "cp.async over a copy under way or an mbarrier", l);
    }
    note_write(w, to, bytes, w.id * 32 + (u32)l);
    for (u32 q = 0; q < bytes; ++q) w.b->state[to + q] = 2;
    w.open[l].push_back({to, from, bytes, l});
  });
}
static void cp_commit(Warp& w, const I&, u32 m) {
  each(m, [&](int l) {
    w.closed[l].push_back(std::move(w.open[l]));
    w.open[l].clear();
  });
}
static void cp_finish(Warp& w, const CpAsync& c) {
  std::memcpy(w.b->mem.data() + c.to, (const u8*)c.from, c.bytes);
  std::memset(w.b->state.data() + c.to, 1, c.bytes);
  if (races())
    for (u32 i = c.to / 4; i < (c.to + c.bytes) / 4; ++i) {
      Word& x = w.b->words[i];
      u32 t = w.id * 32 + (u32)c.lane;
      x.wt = t;
      x.wc = w.b->clk[t];
      x.wgen = w.b->gen;
      x.async = 0;
    }
}
static void cp_wait(Warp& w, const I& i, u32 m) {
  each(m, [&](int l) {
    auto& c = w.closed[l];
    while ((s64)c.size() > i.imm) {
      for (auto& x : c.front()) cp_finish(w, x);
      c.erase(c.begin());
    }
    if (i.flag) {
      for (auto& x : w.open[l]) cp_finish(w, x);
      w.open[l].clear();
    }
  });
}
// ---- mbarrier
static MBarrier& mbarrier(Warp& w, u32 at, int lane) {
  auto it = w.b->mbar.find(at);
  if (it == w.b->mbar.end()) fault(w, "no mbarrier at " + std::to_string(at), lane);
  return it->second;
}
static void mbar_turn(Block& b, MBarrier& q) {
  if (q.pending == 0 && q.tx == 0) {
    ++q.phase;
    q.pending = q.expected;
    q.done_vc = q.gen == b.gen ? q.vc : std::vector<u32>(b.threads + 1, 0);
    q.done_gen = b.gen;
    q.vc.assign(b.threads + 1, 0);
    q.gen = b.gen;
  }
}
static void mbar_release(Block& b, MBarrier& q, u32 t) {
  if (!races()) return;
  if (q.gen != b.gen) {
    q.vc.assign(b.threads + 1, 0);
    q.gen = b.gen;
  }
  auto& v = row(b, t);
  for (size_t i = 0; i < v.size(); ++i) q.vc[i] = std::max(q.vc[i], v[i]);
  q.vc[t] = std::max(q.vc[t], b.clk[t]);
  ++b.clk[t];
}
static void mbar_init(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* c = w.S(i.s[1]);
  each(m, [&](int l) {
    u32 at = (u32)(a[l] + (u64)i.imm), n = (u32)c[l];
    if (at % 8) fault(w, "mbarrier misaligned", l);
    shared_at(w, at, 8, l);
    if (n == 0 || n >= (1u << 20)) fault(w, "mbarrier count", l);
    if (w.b->mbar.count(at)) fault(w, "mbarrier twice", l);
    note_write(w, at, 8, w.id * 32 + (u32)l);
    MBarrier q;
    q.expected = q.pending = n;
    w.b->mbar[at] = q;
    for (u32 x = 0; x < 8; ++x) w.b->state[at + x] = 3;
  });
}
static void mbar_visible(Warp& w, u32 at, int l) { note_read(w, at, 8, w.id * 32 + (u32)l); }
static void mbar_arrive(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* n = i.s[1] == INT32_MIN ? nullptr : w.S(i.s[1]);
  each(m, [&](int l) {
    u32 at = (u32)(a[l] + (u64)i.imm);
    MBarrier& q = mbarrier(w, at, l);
    mbar_visible(w, at, l);
    if (i.flag == 1) {
      q.tx += (s64)(u32)n[l];
      if (q.tx > (1 << 20) - 1) fault(w, "mbarrier tx-count over", l);
    }
    if (q.pending == 0) fault(w, "mbarrier: more arrivals than it counts", l);
    mbar_release(*w.b, q, w.id * 32 + (u32)l);
    --q.pending;
    mbar_turn(*w.b, q);
  });
}
static void mbar_try(Warp& w, const I& i, u32 m) {
  auto* a = w.S(i.s[0]);
  auto* par = w.S(i.s[1]);
  u32 r = 0;
  each(m, [&](int l) {
    u32 at = (u32)(a[l] + (u64)i.imm), p = (u32)par[l];
    if (p > 1) fault(w, "parity", l);
    MBarrier& q = mbarrier(w, at, l);
    mbar_visible(w, at, l);
    bool done = (q.phase & 1) != p;
    if (done && races() && q.phase > 0 && q.done_gen == w.b->gen) {
      auto& v = row(*w.b, w.id * 32 + (u32)l);
      for (size_t x = 0; x < v.size() && x < q.done_vc.size(); ++x)
        v[x] = std::max(v[x], q.done_vc[x]);
    }
    r |= (u32)done << l;
  });
  w.p[i.d] = (w.p[i.d] & ~m) | r;
}
// ---- bulk copies
static void bulk(Warp& w, const I& i, u32 m) {
  auto *a = w.S(i.s[0]), *b = w.S(i.s[1]), *n = w.S(i.s[2]), *q = w.S(i.s[3]);
  each(m, [&](int l) {
    u32 to = (u32)a[l], bytes = (u32)n[l], bar = (u32)q[l];
    u64 from = b[l];
    if (to % 16 || from % 16 || bytes % 16 || bytes == 0)
      fault(w,
            "cp.async.bulk: " + std::to_string(to) + ", " + std::to_string(from % 16) + ", " +
                std::to_string(bytes) + " are not multiples of 16",
            l);
    shared_at(w, to, bytes, l);
    if (!find_allocation(from, bytes)) fault(w, "cp.async.bulk: global address", l);
    mbarrier(w, bar, l);
    Block& blk = *w.b;
    for (u32 x = 0; x < bytes; ++x) {
      u8& st = blk.state[to + x];
      if (st == 2) fault(w, "bulk copy over a copy under way", l);
      if (st == 3) fault(w, "bulk copy over an mbarrier", l);
    }
    for (auto& v : blk.warps)
      for (auto& [g, r] : v->wg_reads)
        if (to < r.to && to + bytes > r.from)
          fault(w,
                "bulk copy over what a matrix instruction of warp " + std::to_string(v->id) +
                    " may still read",
                l);
    note_write(w, to, bytes, w.id * 32 + (u32)l, true);
    std::memset(blk.state.data() + to, 2, bytes);
    blk.bulks.push_back({to, from, bytes, bar, ++blk.async_clock, w.at->line});
  });
}
static void bulk_finish(Block& b, size_t index) {
  Bulk c = b.bulks[index];
  b.bulks.erase(b.bulks.begin() + (long)index);
  std::memcpy(b.mem.data() + c.to, (const u8*)c.from, c.bytes);
  std::memset(b.state.data() + c.to, 1, c.bytes);
  MBarrier& q = b.mbar.at(c.bar);
  if (races()) {
    for (u32 i = c.to / 4; i < (c.to + c.bytes) / 4; ++i) {
      Word& x = b.words[i];
      x.wt = b.threads;
      x.wc = c.clock;
      x.wgen = b.gen;
      x.async = 1;
      u64* r = &b.reads[(size_t)i * b.nwarps()];
      for (u32 y = 0; y < b.nwarps(); ++y) r[y] = 0;
    }
    if (q.gen != b.gen) {
      q.vc.assign(b.threads + 1, 0);
      q.gen = b.gen;
    }
    q.vc[b.threads] = std::max(q.vc[b.threads], c.clock);
  }
  q.tx -= c.bytes;
  mbar_turn(b, q);
}
// ---- matrix instructions
static void mma_f64(Warp& w, const I& i, u32 m) {
  if (m != ~0u) fault(w, "mma without all lanes");
  // i.v: d; i.w: a, b, c in order; flag: rows 8 or 16; m16n8k4: a 2, b 1, c 4; m8n8k4: a 1, b 1, c 2; m16n8k8: a 4 b 2; m16n8k16: a 8 b 4
  u32 rows = i.flag, ks = i.flag2;
  double A[16][16], B[16][8], C[16][8];
  u32 na = rows * ks / 32, nb = ks * 8 / 32, nc = rows * 8 / 32;
  for (int l = 0; l < 32; ++l) {
    u32 g = (u32)l / 4, t = (u32)l % 4;
    for (u32 q = 0; q < na; ++q) {
      u32 r, k;
      if (rows == 8) {
        r = g;
        k = t;
      } else if (ks == 4) {
        r = g + 8 * q;
        k = t;
      } else {
        r = g + 8 * (q % 2);
        k = t + 4 * (q / 2);
      }
      A[r][k] = rd<double>(w.S(i.w[q])[l]);
    }
    for (u32 q = 0; q < nb; ++q) B[t + 4 * q][g] = rd<double>(w.S(i.w[na + q])[l]);
    for (u32 q = 0; q < nc; ++q)
      C[g + 8 * (q / 2)][2 * t + q % 2] = rd<double>(w.S(i.w[na + nb + q])[l]);
  }
  u32 order = options.approx ? (u32)options.seed : 0;
  for (u32 r = 0; r < rows; ++r)
    for (u32 c = 0; c < 8; ++c) {
      double s = C[r][c];
      for (u32 k = 0; k < ks; ++k) {
        u32 kk = order & 1 ? ks - 1 - k : k;
        s = std::fma(A[r][kk], B[kk][c], s);
      }
      C[r][c] = s;
    }
  for (int l = 0; l < 32; ++l) {
    u32 g = (u32)l / 4, t = (u32)l % 4;
    for (u32 q = 0; q < nc; ++q) w.D(i.v[q])[l] = wr<double>(C[g + 8 * (q / 2)][2 * t + q % 2]);
  }
}
static float of_bf16(u32 h) { return std::bit_cast<float>(h << 16); }
struct Operand2 {
  std::vector<u32> at;
};
static u32 desc_address(Warp& w, u64 d, bool mn_major, u32 mn, u32 k) {
  u32 start = (u32)(d & 0x3fff) << 4, lbo = (u32)(d >> 16 & 0x3fff) << 4,
      sbo = (u32)(d >> 32 & 0x3fff) << 4;
  if (d >> 62) fault(w, "swizzled descriptor");
  if (d & 0x3fffc000c000c000ull & ~(u64{7} << 49)) fault(w, "reserved bits of a descriptor");
  if (d >> 49 & 7) fault(w, "base offset of a descriptor");
  // CUTLASS: K-major INTERLEAVE ((8,n),2):((1,SBO),LBO) in 16 byte units; MN-major INTERLEAVE ((1,n),(8,k)):((X,SBO),(1,LBO))
  if (!mn_major) return start + mn % 8 * 16 + mn / 8 * sbo + k / 8 * lbo + k % 8 * 2;
  return start + mn / 8 * sbo + k % 8 * 16 + k / 8 * lbo + mn % 8 * 2;
}
static void wgmma(Warp& w, const I& i, u32 m) {
  if (m != ~0u) fault(w, "wgmma without all lanes");
  if (w.alive != ~0u) fault(w, "wgmma: lanes have left");
  Block& b = *w.b;
  const u32 N = i.flag2 * 8u;
  const bool regs = i.vec == 1;  // vec 1: A in registers
  u32 wg = w.id / 4;
  if ((w.id & ~3u) + 4 > b.nwarps()) fault(w, "wgmma in half a warp group");
  u32 scale = w.p[i.p];
  if (scale != ~0u && scale != 0) fault(w, "wgmma: scale-d differs between lanes");
  auto uniform = [&](int s) {
    auto* x = w.S(s);
    for (int l = 1; l < 32; ++l)
      if (x[l] != x[0]) fault(w, "wgmma: descriptor differs between lanes");
    return x[0];
  };
  u64 da = regs ? 0 : uniform(i.s[0]), db = uniform(i.s[1]);
  auto& log = b.wg_log[wg];
  int pc = (int)(&i - w.k->code.data());
  if (w.wg_count == log.size())
    log.push_back({pc, da, db, scale != 0});
  else {
    auto& e = log[w.wg_count];
    if (e.pc != pc || e.a != da || e.b != db || e.scale != (scale != 0))
      fault(w, "wgmma: warps of the group execute different ones");
  }
  ++w.wg_count;
  // registers: fenced, and none under way but as the same accumulator
  static std::set<std::pair<const Kernel*, int>> told;
  bool dirty_d = false;
  for (int r : i.v) dirty_d |= w.dirty[r];
  if (dirty_d) {
    if (std::getenv("PTXSIM_STRICT"))
      fault(w, "wgmma: an accumulator was written and no wgmma.fence came after");
    if (told.insert({w.k, i.line}).second)
      std::fprintf(
          stderr,
          "PTXSIM NOTE: accumulator written after wgmma.fence, scale-d %d, line %d of %.100s\n",
          scale != 0, i.line, w.k->name.c_str());
    for (int r : i.v) w.dirty[r] = 0;
  }
  for (int r : i.v) {
    if (w.pending[r] > w.wg_done && !w.pending_acc[r])
      fault(w, "wgmma: accumulator is another's operand under way");
  }
  if (regs)
    for (int r : i.w) {
      if (w.dirty[r]) fault(w, "wgmma: a register of A was written and no wgmma.fence came after");
      if (w.pending[r] > w.wg_done && w.pending_acc[r])
        fault(w, "wgmma: A is an accumulator under way");
    }
  if (!w.fenced) fault(w, "wgmma without a fence before");
  bool ta = i.imm & 1, tb = i.imm & 2;
  static thread_local std::vector<float> A, Bm;
  A.assign(16 * 16, 0);
  Bm.assign(16 * N, 0);
  u32 t0 = w.id * 32;
  u32 low = ~0u, high = 0;
  auto get = [&](u32 at) {
    shared_at(w, at, 2, -1);
    u8* st = b.state.data() + at;
    for (int q = 0; q < 2; ++q) {
      if (st[q] != 1)
        fault(w, st[q] == 2   ? "wgmma reads what is still being copied"
                 : st[q] == 0 ? "wgmma reads what was never written"
                              : "wgmma reads an mbarrier");
    }
    u16 h;
    std::memcpy(&h, b.mem.data() + at, 2);
    return of_bf16(h);
  };
  auto mark = [&](u32 at) {
    low = std::min(low, at);
    high = std::max(high, at + 16);
    note_read(w, at, 16, t0, true);
  };
  for (u32 n = 0; n < N; ++n)
    for (u32 k = 0; k < 16; ++k) Bm[k * N + n] = get(desc_address(w, db, tb, n, k));
  for (u32 n = 0; n < N; n += tb ? 8 : 1)
    for (u32 k = 0; k < 16; k += tb ? 1 : 8) mark(desc_address(w, db, tb, n, k));
  w.wg_reads.push_back({w.wg_open, {low, high}});
  u32 r0 = (w.id % 4) * 16;
  if (!regs) {
    low = ~0u;
    high = 0;
    for (u32 r = 0; r < 16; ++r)
      for (u32 k = 0; k < 16; ++k) A[r * 16 + k] = get(desc_address(w, da, ta, r0 + r, k));
    for (u32 r = 0; r < 16; r += ta ? 8 : 1)
      for (u32 k = 0; k < 16; k += ta ? 1 : 8) mark(desc_address(w, da, ta, r0 + r, k));
    w.wg_reads.push_back({w.wg_open, {low, high}});
  } else
    for (int l = 0; l < 32; ++l)
      for (u32 q = 0; q < 4; ++q) {
        u32 v = (u32)w.S(i.w[q])[l];
        u32 r = (u32)l / 4 + 8 * (q % 2), k = 2 * ((u32)l % 4) + 8 * (q / 2);
        A[r * 16 + k] = of_bf16(v & 0xffff);
        A[r * 16 + k + 1] = of_bf16(v >> 16);
      }
  static thread_local std::vector<double> acc;
  acc.resize(N);
  for (u32 r = 0; r < 16; ++r) {
    std::fill(acc.begin(), acc.end(), 0.0);
    for (u32 k = 0; k < 16; ++k) {
      double a = A[r * 16 + k];
      const float* bp = &Bm[k * N];
      for (u32 n = 0; n < N; ++n) acc[n] += a * (double)bp[n];
    }
    for (u32 n = 0; n < N; ++n) {
      u32 lane = r % 8 * 4 + n % 8 / 2, reg = n / 8 * 4 + r / 8 * 2 + n % 2;
      u64& d = w.D(i.v[reg])[lane];
      double s = acc[n] + (scale ? (double)rd<float>(d) : 0.0);
      float f = (float)s;
      if (options.approx && std::isfinite(f) && std::fabs((double)f) > std::fabs(s))
        f = std::nextafterf(f, 0.0f);
      d = wr<float>(f);
    }
  }
  for (int r : i.v) {
    w.pending[r] = (u16)w.wg_open;
    w.pending_acc[r] = 1;
  }
  if (regs)
    for (int r : i.w) {
      w.pending[r] = (u16)w.wg_open;
      w.pending_acc[r] = 0;
    }
  w.wg_any = true;
}
static void wg_fence(Warp& w, const I&, u32 m) {
  if (m != ~0u) fault(w, "wgmma.fence without all lanes");
  std::fill(w.dirty.begin(), w.dirty.end(), 0);
  w.fenced = true;
}
static void wg_commit(Warp& w, const I&, u32) {
  ++w.wg_open;
  if (w.wg_open > 60000) fault(w, "too many wgmma groups: widen");
}
static void wg_wait(Warp& w, const I& i, u32) {
  u32 done = w.wg_open - 1 > (u32)i.imm ? w.wg_open - 1 - (u32)i.imm : 0;
  if (done > w.wg_done) w.wg_done = done;
  std::vector<std::pair<u32, WgRange>> keep;
  Block& b = *w.b;
  for (auto& x : w.wg_reads) {
    if (x.first > w.wg_done) {
      keep.push_back(x);
      continue;
    }
    if (races())
      for (u32 q = x.second.from / 4; q < x.second.to / 4; ++q)
        if (b.state[q * 4] == 1) {
          Word& wd = b.words[q];
          if (wd.wgen)
            b.reads[(size_t)q * b.nwarps() + w.id] =
                (u64)b.gen << 40 | u64{1} << 39 | b.clk[w.id * 32];
        }
  }
  w.wg_reads.swap(keep);
  if (w.wg_done >= w.wg_open - 1 && w.wg_open > 50000) {
    w.wg_open = 1;
    w.wg_done = 0;
    std::fill(w.pending.begin(), w.pending.end(), 0);
  }
}
static void setmaxnreg(Warp& w, const I& i, u32) {
  if (i.imm % 8 || i.imm < 24 || i.imm > 256) fault(w, "setmaxnreg");
  w.setmaxnreg = (int)i.imm * (i.flag ? 1 : -1);
}
// reads and writes of registers that matrix instructions use
static void track(Warp& w, const I& i) {
  auto read = [&](int r) {
    if (r >= 0 && w.k->wgmma_reg[r] && w.pending[r] > w.wg_done && w.pending_acc[r] && i.flag != 78)
      fault(w, "an accumulator is read before wgmma.wait_group");
  };
  auto write = [&](int r) {
    if (r >= 0 && w.k->wgmma_reg[r]) {
      if (w.pending[r] > w.wg_done)
        fault(w, "a register of a matrix instruction under way is written");
      w.dirty[r] = 1;
      w.pending[r] = 0;
    }
  };
  for (int s : i.s) read(s);
  bool load_ = i.fn == load;
  if (!load_ && i.d >= 0)
    for (int r : i.v) read(r);
  if (i.flag == 78 && i.d >= 0 && i.s[0] >= 0 && i.v.empty()) {  // a copy
    if (w.k->wgmma_reg[i.d] && w.k->wgmma_reg[i.s[0]]) {
      if (w.pending[i.d] > w.wg_done) fault(w, "copy over a register under way");
      w.dirty[i.d] = w.dirty[i.s[0]];
      w.pending[i.d] = w.pending[i.s[0]];
      w.pending_acc[i.d] = w.pending_acc[i.s[0]];
      return;
    }
  }
  write(i.d);
  if (i.fn == unpack || load_)
    for (int r : i.v) write(r);
}
// ---------------------------------------------------------------- decode
using Ops = std::vector<Operand>;
static bool has(const std::vector<string>& op, const char* s) {
  return std::find(op.begin() + 1, op.end(), s) != op.end();
}
template <template <class> class F>
struct Pick;
static int R(const Operand& o) {
  if (o.kind == Operand::Reg) return o.id;
  if (o.kind == Operand::Imm) {
    u64 v = o.value;
    if (o.space == Shared)
      v = o.value;
    else if (o.space == Local || o.space == Param)
      v = o.value;
    return constant_of(v);
  }
  throw std::runtime_error("operand is no register nor number");
}
static int Dreg(const Operand& o) {
  if (o.kind != Operand::Reg) throw std::runtime_error("destination");
  return o.id;
}
static int P(const Operand& o) {
  if (o.kind != Operand::Pred) throw std::runtime_error("predicate");
  return o.id;
}
static int PS(const Operand& o) {
  if (o.kind == Operand::Pred) return o.id;
  if (o.kind == Operand::Imm) return o.value ? -2 : -3;
  throw std::runtime_error("predicate");
}
static u32 size_of(const string& t) {
  for (auto [n, s] : {std::pair{"b8", 1u},
                      {"u8", 1u},
                      {"s8", 1u},
                      {"b16", 2u},
                      {"u16", 2u},
                      {"s16", 2u},
                      {"f16", 2u},
                      {"bf16", 2u},
                      {"b32", 4u},
                      {"u32", 4u},
                      {"s32", 4u},
                      {"f32", 4u},
                      {"bf16x2", 4u},
                      {"f16x2", 4u},
                      {"b64", 8u},
                      {"u64", 8u},
                      {"s64", 8u},
                      {"f64", 8u}})
    if (t == n) return s;
  throw std::runtime_error("type " + t);
}
#define INT4(FN, OP, t)                         \
  (t == "u32" || t == "b32"   ? FN<u32, OP>     \
   : t == "s32"               ? FN<s32, OP>     \
   : t == "u64" || t == "b64" ? FN<u64, OP>     \
   : t == "s64"               ? FN<s64, OP>     \
   : t == "u16" || t == "b16" ? FN<u16, OP>     \
   : t == "s16"               ? FN<int16_t, OP> \
                              : (Fn) nullptr)
#define FLT2(FN, OP, t) (t == "f32" ? FN<float, OP> : t == "f64" ? FN<double, OP> : (Fn) nullptr)
#define ANY(FN, OP, t) (t[0] == 'f' ? FLT2(FN, OP, t) : INT4(FN, OP, t))
static Fn cvt_fn(const string& d, const string& s, int mode, bool sat) {
  auto outer = [&]<class D>() -> Fn {
    auto inner = [&]<class S>() -> Fn {
      if (sat) {
        switch (mode) {
          case 0:
            return cvt<D, S, 0, true>;
          case 2:
            return cvt<D, S, 2, true>;
          default:
            return nullptr;
        }
      }
      switch (mode) {
        case 0:
          return cvt<D, S, 0, false>;
        case 1:
          return cvt<D, S, 1, false>;
        case 2:
          return cvt<D, S, 2, false>;
        case 3:
          return cvt<D, S, 3, false>;
        case 4:
          return cvt<D, S, 4, false>;
      }
      return nullptr;
    };
    if (s == "u8") return inner.template operator()<u8>();
    if (s == "s8") return inner.template operator()<int8_t>();
    if (s == "u16") return inner.template operator()<u16>();
    if (s == "s16") return inner.template operator()<int16_t>();
    if (s == "u32") return inner.template operator()<u32>();
    if (s == "s32") return inner.template operator()<s32>();
    if (s == "u64") return inner.template operator()<u64>();
    if (s == "s64") return inner.template operator()<s64>();
    if (s == "f32") return inner.template operator()<float>();
    if (s == "f64") return inner.template operator()<double>();
    return nullptr;
  };
  if (d == "u8") return outer.template operator()<u8>();
  if (d == "s8") return outer.template operator()<int8_t>();
  if (d == "u16") return outer.template operator()<u16>();
  if (d == "s16") return outer.template operator()<int16_t>();
  if (d == "u32") return outer.template operator()<u32>();
  if (d == "s32") return outer.template operator()<s32>();
  if (d == "u64") return outer.template operator()<u64>();
  if (d == "s64") return outer.template operator()<s64>();
  if (d == "f32") return outer.template operator()<float>();
  if (d == "f64") return outer.template operator()<double>();
  return nullptr;
}
static void only(const std::vector<string>& op, std::initializer_list<const char*> allowed) {
  for (size_t i = 1; i < op.size(); ++i) {
    bool ok = false;
    for (auto* a : allowed) ok |= op[i] == a;
    if (!ok) throw std::runtime_error("modifier ." + op[i]);
  }
}
bool decode(I& o, Kernel& k, const std::vector<string>& op, Ops& a) {
  const string& b = op[0];
  const string t = op.back();
  auto d1 = [&] {
    o.d = Dreg(a.at(0));
    o.s[0] = R(a.at(1));
    if (a.size() != 2) throw std::runtime_error("operands");
  };
  auto d2 = [&] {
    o.d = Dreg(a.at(0));
    o.s[0] = R(a.at(1));
    o.s[1] = R(a.at(2));
    if (a.size() != 3) throw std::runtime_error("operands");
  };
  auto d3 = [&] {
    o.d = Dreg(a.at(0));
    o.s[0] = R(a.at(1));
    o.s[1] = R(a.at(2));
    o.s[2] = R(a.at(3));
    if (a.size() != 4) throw std::runtime_error("operands");
  };
  auto address = [&](const Operand& x) {
    if (x.kind != Operand::Addr) throw std::runtime_error("address");
    o.imm = x.off;
    if (x.has_base) o.s[0] = x.id;
    if (x.space == Local && o.space == Param) o.space = Local;
  };
  if (b == "add" || b == "sub") {
    if (has(op, "cc")) {
      d2();
      o.flag = b == "sub";
      o.flag2 = 2;
      o.bytes = (u8)size_of(t);
      o.fn = carried;
      return true;
    }
    only(op, {"rn", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"});
    d2();
    o.fn = b == "add" ? ANY(bin, Add, t) : ANY(bin, Sub, t);
    return o.fn;
  }
  if (b == "addc" || b == "subc") {
    d2();
    o.flag = b == "subc";
    o.flag2 = (u8)(1 | (has(op, "cc") ? 2 : 0));
    o.bytes = (u8)size_of(t);
    o.fn = carried;
    return true;
  }
  if (b == "madc" || (b == "mad" && has(op, "cc"))) {
    d3();
    o.flag = has(op, "hi") ? 3 : 2;
    o.flag2 = (u8)((b == "madc" ? 1 : 0) | (has(op, "cc") ? 2 : 0));
    o.bytes = (u8)size_of(t);
    o.fn = carried;
    return true;
  }
  if (b == "mul") {
    if (has(op, "wide")) {
      d2();
      o.flag = (u8)size_of(t);
      o.flag2 = t[0] == 's';
      o.fn = mul_wide;
      return true;
    }
    if (has(op, "hi")) {
      only(op, {"hi", "u32", "s32", "u64", "s64", "u16", "s16"});
      d2();
      o.fn = INT4(bin, MulHi, t);
      return o.fn;
    }
    only(op, {"lo", "rn", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"});
    d2();
    o.fn = ANY(bin, Mul, t);
    return o.fn;
  }
  if (b == "mad") {
    if (has(op, "wide")) {
      d3();
      o.flag = (u8)size_of(t);
      o.flag2 = t[0] == 's';
      o.fn = mul_wide;
      return true;
    }
    if (has(op, "hi")) {
      only(op, {"hi", "u32", "s32", "u64", "s64"});
      d3();
      o.fn = INT4(tri, MadHi, t);
      return o.fn;
    }
    only(op, {"lo", "u16", "s16", "u32", "s32", "u64", "s64"});
    d3();
    o.fn = INT4(tri, MadLo, t);
    return o.fn;
  }
  if (b == "fma") {
    if (has(op, "rm")) {
      only(op, {"rm", "f32"});
      d3();
      o.fn = tri<float, FmaDown>;
      return true;
    }
    only(op, {"rn", "f32", "f64"});
    d3();
    o.fn = FLT2(tri, Fma, t);
    return o.fn;
  }
  if (b == "div") {
    only(op, {"rn", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"});
    d2();
    o.fn = ANY(bin, Div, t);
    return o.fn;
  }
  if (b == "rem") {
    d2();
    o.fn = INT4(bin, Rem, t);
    return o.fn;
  }
  if (b == "min") {
    d2();
    if (has(op, "NaN")) {
      only(op, {"NaN", "f32"});
      o.fn = bin<float, MinNaN>;
      return true;
    }
    only(op, {"u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"});
    o.fn = ANY(bin, Min, t);
    return o.fn;
  }
  if (b == "max") {
    d2();
    if (has(op, "NaN")) {
      only(op, {"NaN", "f32"});
      o.fn = bin<float, MaxNaN>;
      return true;
    }
    only(op, {"u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"});
    o.fn = ANY(bin, Max, t);
    return o.fn;
  }
  if (b == "abs") {
    only(op, {"s32", "s64", "f32", "f64"});
    d1();
    o.fn = t == "f32"   ? un<float, Abs>
           : t == "f64" ? un<double, Abs>
           : t == "s32" ? un<s32, Abs>
                        : un<s64, Abs>;
    return true;
  }
  if (b == "neg") {
    only(op, {"s16", "s32", "s64", "f32", "f64"});
    d1();
    o.fn = t == "s16"   ? un<int16_t, Neg>
           : t == "f32" ? un<float, Neg>
           : t == "f64" ? un<double, Neg>
           : t == "s32" ? un<s32, Neg>
                        : un<s64, Neg>;
    return true;
  }
  if (b == "copysign") {
    only(op, {"f32", "f64"});
    d2();
    o.fn = FLT2(bin, CopySign, t);
    return o.fn;
  }
  if (b == "sqrt") {
    only(op, {"rn", "f32", "f64"});
    d1();
    o.fn = FLT2(un, Sqrt, t);
    return o.fn;
  }
  if (b == "rcp") {
    if (has(op, "approx")) {
      d1();
      o.fn = t == "f64" ? rcp64 : has(op, "ftz") ? rcp32<true> : rcp32<false>;
      return true;
    }
    only(op, {"rn", "f32", "f64"});
    d1();
    o.fn = FLT2(un, Rcp, t);
    return o.fn;
  }
  if (b == "rsqrt") {
    d1();
    o.fn = t == "f64" ? rsqrt64 : rsqrt32;
    return true;
  }
  if (b == "ex2") {
    only(op, {"approx", "ftz", "f32"});
    d1();
    o.fn = has(op, "ftz") ? ex2<true> : ex2<false>;
    return true;
  }
  if (b == "lg2") {
    only(op, {"approx", "ftz", "f32"});
    d1();
    o.fn = has(op, "ftz") ? lg2<true> : lg2<false>;
    return true;
  }
  if (b == "and" || b == "or" || b == "xor") {
    if (t == "pred") {
      o.d = P(a.at(0));
      o.s[0] = PS(a.at(1));
      o.s[1] = PS(a.at(2));
      o.flag = b == "and" ? 0 : b == "or" ? 1 : 2;
      o.flag2 = (u8)((a[1].neg ? 1 : 0) | (a[2].neg ? 2 : 0));
      o.fn = pred_op;
      return true;
    }
    d2();
    o.fn = b == "and" ? INT4(bin, And, t) : b == "or" ? INT4(bin, Or, t) : INT4(bin, Xor, t);
    return o.fn;
  }
  if (b == "not") {
    if (t == "pred") {
      o.d = P(a.at(0));
      o.s[0] = PS(a.at(1));
      o.flag = 3;
      o.flag2 = a[1].neg;
      o.fn = pred_op;
      return true;
    }
    d1();
    o.fn = INT4(un, Not, t);
    return o.fn;
  }
  if (b == "shl") {
    d2();
    u32 n = size_of(t);
    o.fn = n == 4 ? shl<u32> : n == 8 ? shl<u64> : shl<u16>;
    return true;
  }
  if (b == "shr") {
    d2();
    o.fn = t == "s32"        ? shr<s32>
           : t == "s64"      ? shr<s64>
           : t == "s16"      ? shr<int16_t>
           : size_of(t) == 4 ? shr<u32>
           : size_of(t) == 8 ? shr<u64>
                             : shr<u16>;
    return true;
  }
  if (b == "shf") {
    d3();
    bool l = has(op, "l"), c = has(op, "clamp");
    o.fn =
        l ? (c ? shf<true, true> : shf<true, false>) : (c ? shf<false, true> : shf<false, false>);
    return true;
  }
  if (b == "bfi") {
    o.d = Dreg(a.at(0));
    for (int q = 0; q < 4; ++q) o.s[q] = R(a.at(q + 1));
    o.fn = size_of(t) == 8 ? bfi<u64> : bfi<u32>;
    return true;
  }
  if (b == "bfe") {
    d3();
    o.fn = t == "u32" ? bfe<u32> : t == "s32" ? bfe<s32> : t == "u64" ? bfe<u64> : bfe<s64>;
    return true;
  }
  if (b == "prmt") {
    only(op, {"b32"});
    d3();
    o.fn = prmt;
    return true;
  }
  if (b == "popc") {
    d1();
    o.fn = size_of(t) == 8 ? popc<u64> : popc<u32>;
    return true;
  }
  if (b == "clz") {
    d1();
    o.fn = size_of(t) == 8 ? clz<u64> : clz<u32>;
    return true;
  }
  if (b == "brev") {
    d1();
    o.fn = size_of(t) == 8 ? brev<u64> : brev<u32>;
    return true;
  }
  if (b == "lop3") {
    o.d = Dreg(a.at(0));
    for (int q = 0; q < 3; ++q) o.s[q] = R(a.at(q + 1));
    o.imm = (s64)a.at(4).value;
    o.fn = lop3;
    return true;
  }
  if (b == "selp") {
    o.d = Dreg(a.at(0));
    o.s[0] = R(a.at(1));
    o.s[1] = R(a.at(2));
    o.p = P(a.at(3));
    o.pneg = a[3].neg;
    o.bytes = (u8)size_of(t);
    o.fn = selp;
    return true;
  }
  if (b == "setp") {
    static const std::map<string, u8> cmps = {
        {"eq", EQ},   {"ne", NE},   {"lt", LT},   {"le", LE},   {"gt", GT},   {"ge", GE},
        {"lo", LT},   {"ls", LE},   {"hi", GT},   {"hs", GE},   {"equ", EQU}, {"neu", NEU},
        {"ltu", LTU}, {"leu", LEU}, {"gtu", GTU}, {"geu", GEU}, {"num", NUM}, {"nan", NAN_}};
    auto c = cmps.find(op.at(1));
    if (c == cmps.end()) return false;
    o.flag = c->second;
    o.d = P(a.at(0));
    if (!a[0].vec.empty()) o.d2 = P(a[0].vec[0]);
    o.s[0] = R(a.at(1));
    o.s[1] = R(a.at(2));
    if (op.size() == 4) {
      o.flag2 = op[2] == "and" ? 1 : op[2] == "or" ? 2 : op[2] == "xor" ? 3 : 0;
      if (!o.flag2) return false;
      o.p = P(a.at(3));
      o.pneg = a[3].neg;
    } else if (op.size() != 3)
      return false;
    o.fn = t == "f32"        ? setp<float>
           : t == "f64"      ? setp<double>
           : t == "s32"      ? setp<s32>
           : t == "s64"      ? setp<s64>
           : t == "s16"      ? setp<int16_t>
           : size_of(t) == 4 ? setp<u32>
           : size_of(t) == 8 ? setp<u64>
                             : setp<u16>;
    return true;
  }
  if (b == "cvt") {
    if (has(op, "bf16x2")) {
      only(op, {"rn", "bf16x2", "f32"});
      d2();
      o.fn = cvt_bf16x2;
      return true;
    }
    int mode = has(op, "rni")   ? 1
               : has(op, "rzi") ? 2
               : has(op, "rmi") ? 3
               : has(op, "rpi") ? 4
                                : 0;
    only(op, {"rn", "rni", "rzi", "rmi", "rpi", "sat", "u8", "s8", "u16", "s16", "u32", "s32",
              "u64", "s64", "f32", "f64"});
    d1();
    o.fn = cvt_fn(op[op.size() - 2], t, mode, has(op, "sat"));
    return o.fn;
  }
  if (b == "cvta") {
    o.flag = has(op, "to");
    o.space = has(op, "shared")  ? Shared
              : has(op, "local") ? Local
              : has(op, "param") ? Param
                                 : Global;
    d1();
    o.fn = cvta;
    return true;
  }
  if (b == "mov") {
    if (t == "pred") {
      o.d = P(a.at(0));
      o.s[0] = PS(a.at(1));
      o.flag = 4;
      o.flag2 = a[1].neg;
      o.fn = pred_op;
      return true;
    }
    o.bytes = (u8)size_of(t);
    if (a.at(0).kind == Operand::Vec) {
      o.s[0] = R(a.at(1));
      for (auto& x : a[0].vec) o.v.push_back(x.kind == Operand::Under ? -1 : Dreg(x));
      o.fn = unpack;
      return true;
    }
    if (a.at(1).kind == Operand::Vec) {
      o.d = Dreg(a[0]);
      for (auto& x : a[1].vec) o.v.push_back(R(x));
      o.fn = pack;
      return true;
    }
    if (a[1].kind == Operand::Special) {
      static const std::map<string, int> sp = {{"%tid.x", 0},        {"%tid.y", 1},
                                               {"%tid.z", 2},        {"%ntid.x", 3},
                                               {"%ntid.y", 4},       {"%ntid.z", 5},
                                               {"%ctaid.x", 6},      {"%ctaid.y", 7},
                                               {"%ctaid.z", 8},      {"%nctaid.x", 9},
                                               {"%nctaid.y", 10},    {"%nctaid.z", 11},
                                               {"%laneid", 12},      {"%envreg1", 13},
                                               {"%envreg2", 14},     {"%lanemask_eq", 15},
                                               {"%lanemask_lt", 16}, {"%lanemask_le", 17},
                                               {"%lanemask_ge", 18}, {"%lanemask_gt", 19},
                                               {"%smid", 20},        {"%dynamic_smem_size", 21},
                                               {"%clock64", 22},     {"%warpid", 23}};
      auto f = sp.find(a[1].name);
      if (f == sp.end()) return false;
      o.d = Dreg(a[0]);
      o.imm = f->second;
      o.fn = mov_special;
      return true;
    }
    o.d = Dreg(a[0]);
    o.s[0] = R(a[1]);
    o.flag = 78;
    o.fn = mov64;
    return true;
  }
  if (b == "ld" || b == "ldu") {
    for (size_t q = 1; q < op.size(); ++q) {
      const string& x = op[q];
      if (x == "global")
        o.space = Global;
      else if (x == "shared" || x == "shared::cta")
        o.space = Shared;
      else if (x == "local")
        o.space = Local;
      else if (x == "param")
        o.space = Param;
      else if (x == "const")
        o.space = Global;
      else if (x == "v2")
        o.vec = 2;
      else if (x == "v4")
        o.vec = 4;
      else if (x == "nc" || x == "acquire" || x == "gpu" || x == "volatile" || x == "relaxed" ||
               x == "sys" || x == "cta" || x == "ca" || x == "cg" || x == "L1::no_allocate" ||
               x == "cv" || x == "cs") {
      } else if (q + 1 != op.size())
        throw std::runtime_error("modifier ." + x);
    }
    o.bytes = (u8)size_of(t);
    o.flag = t[0] == 's';
    address(a.at(1));
    if (o.vec > 1) {
      if (a[0].kind != Operand::Vec || a[0].vec.size() != o.vec) return false;
      for (auto& x : a[0].vec) o.v.push_back(x.kind == Operand::Under ? -1 : Dreg(x));
    } else
      o.v.push_back(Dreg(a[0]));
    o.fn = load;
    return true;
  }
  if (b == "st") {
    for (size_t q = 1; q < op.size(); ++q) {
      const string& x = op[q];
      if (x == "global")
        o.space = Global;
      else if (x == "shared" || x == "shared::cta")
        o.space = Shared;
      else if (x == "local")
        o.space = Local;
      else if (x == "param")
        o.space = Param;
      else if (x == "v2")
        o.vec = 2;
      else if (x == "v4")
        o.vec = 4;
      else if (x == "volatile" || x == "release" || x == "gpu" || x == "relaxed" || x == "sys" ||
               x == "cta" || x == "cg" || x == "cs" || x == "wt") {
      } else if (q + 1 != op.size())
        throw std::runtime_error("modifier ." + x);
    }
    o.bytes = (u8)size_of(t);
    address(a.at(0));
    if (o.vec > 1) {
      if (a[1].kind != Operand::Vec || a[1].vec.size() != o.vec) return false;
      for (auto& x : a[1].vec) o.v.push_back(R(x));
    } else
      o.v.push_back(R(a[1]));
    o.fn = store;
    return true;
  }
  if (b == "atom" || b == "red") {
    size_t q = b == "atom" ? 1 : 0;
    string what;
    for (size_t x = 1; x + 1 < op.size(); ++x) {
      const string& y = op[x];
      if (y == "global")
        o.space = Global;
      else if (y == "shared" || y == "shared::cta")
        o.space = Shared;
      else if (y == "add" || y == "exch" || y == "cas" || y == "and" || y == "or" || y == "xor" ||
               y == "min" || y == "max" || y == "inc")
        what = y;
      else if (y != "relaxed" && y != "acquire" && y != "release" && y != "acq_rel" && y != "gpu" &&
               y != "cta" && y != "sys")
        throw std::runtime_error("modifier ." + y);
    }
    static const std::map<string, u8> at = {{"add", 0}, {"exch", 1}, {"cas", 2},
                                            {"and", 3}, {"or", 4},   {"xor", 5},
                                            {"min", 6}, {"max", 7},  {"inc", 8}};
    auto f = at.find(what);
    if (f == at.end()) return false;
    o.flag = f->second;
    o.bytes = (u8)size_of(t);
    if (t == "f32" && what == "add")
      o.flag = 9;
    else if (t == "f64" && what == "add")
      o.flag = 10;
    else if (t == "s32" && what == "min")
      o.flag = 11;
    else if (t == "s32" && what == "max")
      o.flag = 12;
    else if (t[0] == 'f' || (t == "s64" && (what == "min" || what == "max")))
      return false;
    if (q) {
      if (a[0].kind != Operand::Under) o.d = Dreg(a[0]);
    }
    address(a.at(q));
    o.s[1] = R(a.at(q + 1));
    if (what == "cas") o.s[2] = R(a.at(q + 2));
    o.fn = atom;
    return true;
  }
  if (b == "shfl") {
    only(op, {"sync", "up", "down", "bfly", "idx", "b32"});
    if (!has(op, "sync")) return false;
    o.kind = ConvMask;
    o.flag = has(op, "up") ? 0 : has(op, "down") ? 1 : has(op, "bfly") ? 2 : 3;
    if (a[0].kind != Operand::Under) o.d = Dreg(a[0]);
    if (!a[0].vec.empty()) o.d2 = P(a[0].vec[0]);
    o.s[0] = R(a.at(1));
    o.s[1] = R(a.at(2));
    o.s[2] = R(a.at(3));
    o.s[3] = R(a.at(4));
    o.fn = shfl;
    return true;
  }
  if (b == "vote") {
    o.kind = ConvMask;
    o.flag = has(op, "all") ? 0 : has(op, "any") ? 1 : has(op, "uni") ? 2 : 3;
    o.d = o.flag == 3 ? Dreg(a.at(0)) : P(a.at(0));
    o.p = PS(a.at(1));
    o.pneg = a[1].neg;
    o.s[3] = R(a.at(2));
    o.fn = vote;
    return true;
  }
  if (b == "match") {
    only(op, {"any", "sync", "b32", "b64"});
    if (!has(op, "any")) return false;
    o.kind = ConvMask;
    o.bytes = (u8)size_of(t);
    o.d = Dreg(a.at(0));
    o.s[0] = R(a.at(1));
    o.s[3] = R(a.at(2));
    o.fn = match_any;
    return true;
  }
  if (b == "redux") {
    o.kind = ConvMask;
    o.flag = has(op, "add")   ? 0
             : has(op, "min") ? (t == "s32" ? 3 : 1)
             : has(op, "max") ? (t == "s32" ? 4 : 2)
             : has(op, "and") ? 5
             : has(op, "or")  ? 6
                              : 7;
    o.d = Dreg(a.at(0));
    o.s[0] = R(a.at(1));
    o.s[3] = R(a.at(2));
    o.fn = redux;
    return true;
  }
  if (b == "activemask") {
    o.d = Dreg(a.at(0));
    o.fn = activemask;
    return true;
  }
  if (b == "bar" || b == "barrier") {
    if (has(op, "warp")) {
      o.kind = ConvMask;
      o.s[3] = R(a.at(0));
      o.fn = bar_warp;
      return true;
    }
    if (has(op, "red")) {
      only(op, {"red", "cta", "aligned", "or", "and", "popc", "pred", "u32"});
      if (a.size() != 3) return false;
      o.kind = Bar;
      o.flag = has(op, "popc") ? 3 : has(op, "and") ? 2 : 1;
      o.d = o.flag == 3 ? Dreg(a[0]) : P(a[0]);
      o.s[0] = R(a[1]);
      o.p = P(a[2]);
      o.pneg = a[2].neg;
      return true;
    }
    only(op, {"sync", "cta", "aligned"});
    if (!has(op, "sync")) return false;
    o.kind = Bar;
    o.s[0] = R(a.at(0));
    if (a.size() > 1) o.s[1] = R(a.at(1));
    return true;
  }
  if (b == "membar") {
    o.fn = nothing;
    return true;
  }
  if (b == "fence") {
    if (has(op, "proxy")) {
      only(op, {"proxy", "async", "shared::cta"});
      o.fn = proxy_fence;
      return true;
    }
    only(op, {"acq_rel", "sc", "gpu", "cta", "sys", "mbarrier_init", "release", "cluster"});
    o.fn = nothing;
    return true;
  }
  if (b == "prefetch" || b == "prefetchu" || b == "discard" || b == "applypriority") {
    o.fn = nothing;
    return true;
  }
  if (b == "griddepcontrol" || b == "nanosleep") {
    o.fn = nothing;
    return true;
  }
  if (b == "cp") {
    if (op.size() >= 3 && op[1] == "async" && op[2] == "commit_group") {
      o.fn = cp_commit;
      return true;
    }
    if (op.size() >= 3 && op[1] == "async" && op[2] == "wait_group") {
      o.imm = (s64)a.at(0).value;
      o.fn = cp_wait;
      return true;
    }
    if (op.size() >= 3 && op[1] == "async" && op[2] == "wait_all") {
      o.imm = 0;
      o.flag = 1;
      o.fn = cp_wait;
      return true;
    }
    if (op.size() >= 3 && op[1] == "async" && op[2] == "bulk") {
      only(op, {"async", "bulk", "shared::cluster", "global", "mbarrier::complete_tx::bytes"});
      auto base = [&](const Operand& x) {
        if (x.kind != Operand::Addr || !x.has_base || x.off != 0)
          throw std::runtime_error("address");
        return x.id;
      };
      o.s[0] = base(a.at(0));
      o.s[1] = base(a.at(1));
      o.s[2] = R(a.at(2));
      o.s[3] = base(a.at(3));
      o.fn = bulk;
      return true;
    }
    only(op, {"async", "ca", "cg", "shared", "shared::cta", "global"});
    address(a.at(0));
    if (a.at(1).kind != Operand::Addr || a[1].off != 0 || !a[1].has_base) return false;
    o.s[1] = a[1].id;
    o.bytes = (u8)a.at(2).value;
    if (a.size() > 3) o.s[2] = R(a[3]);
    if (has(op, "cg") && o.bytes != 16) return false;
    o.fn = cp_async;
    return true;
  }
  if (b == "mbarrier") {
    if (has(op, "init")) {
      only(op, {"init", "shared::cta", "shared", "b64"});
      address(a.at(0));
      o.s[1] = R(a.at(1));
      o.fn = mbar_init;
      return true;
    }
    if (has(op, "arrive")) {
      only(op, {"arrive", "expect_tx", "shared::cta", "shared", "b64"});
      if (a.at(0).kind != Operand::Under) return false;
      address(a.at(1));
      if (has(op, "expect_tx")) {
        o.flag = 1;
        o.s[1] = R(a.at(2));
      }
      o.fn = mbar_arrive;
      return true;
    }
    if (has(op, "try_wait")) {
      only(op, {"try_wait", "parity", "shared::cta", "shared", "b64"});
      if (!has(op, "parity")) return false;
      o.d = P(a.at(0));
      address(a.at(1));
      o.s[1] = R(a.at(2));
      o.fn = mbar_try;
      return true;
    }
    return false;
  }
  if (b == "mma") {
    if (t != "f64" || !has(op, "sync") || !has(op, "aligned") || !has(op, "row") || !has(op, "col"))
      return false;
    const string& sh = op.at(3);
    u32 rows, ks;
    if (sh == "m8n8k4") {
      rows = 8;
      ks = 4;
    } else if (sh == "m16n8k4") {
      rows = 16;
      ks = 4;
    } else if (sh == "m16n8k8") {
      rows = 16;
      ks = 8;
    } else if (sh == "m16n8k16") {
      rows = 16;
      ks = 16;
    } else
      return false;
    o.flag = (u8)rows;
    o.flag2 = (u8)ks;
    o.kind = ConvAll;
    auto list = [&](const Operand& x, u32 n, std::vector<int>& to, bool dst) {
      if (x.kind != Operand::Vec || x.vec.size() != n) throw std::runtime_error("fragment");
      for (auto& y : x.vec) to.push_back(dst ? Dreg(y) : R(y));
    };
    list(a.at(0), rows * 8 / 32, o.v, true);
    list(a.at(1), rows * ks / 32, o.w, false);
    list(a.at(2), ks * 8 / 32, o.w, false);
    list(a.at(3), rows * 8 / 32, o.w, false);
    o.fn = mma_f64;
    return true;
  }
  if (b == "wgmma") {
    o.kind = ConvAll;
    if (op[1] == "fence") {
      only(op, {"fence", "sync", "aligned"});
      o.fn = wg_fence;
      return true;
    }
    if (op[1] == "commit_group") {
      o.fn = wg_commit;
      return true;
    }
    if (op[1] == "wait_group") {
      o.imm = (s64)a.at(0).value;
      o.fn = wg_wait;
      return true;
    }
    if (op[1] != "mma_async" || op[2] != "sync" || op[3] != "aligned" || op[5] != "f32" ||
        op[6] != "bf16" || op[7] != "bf16" || op.size() != 8)
      return false;
    const string& sh = op[4];
    size_t n = sh.find('n'), kk = sh.find('k');
    if (sh.substr(0, n) != "m64" || sh.substr(kk) != "k16") return false;
    u32 N = (u32)std::stoul(sh.substr(n + 1));
    if (N % 8 || N < 8 || N > 256) return false;
    o.flag2 = (u8)(N / 8);
    if (a[0].kind != Operand::Vec || a[0].vec.size() != N / 2)
      throw std::runtime_error("accumulator");
    for (auto& x : a[0].vec) o.v.push_back(Dreg(x));
    {
      std::set<int> s(o.v.begin(), o.v.end());
      if (s.size() != o.v.size()) throw std::runtime_error("accumulator registers repeat");
    }
    bool regs = a.at(1).kind == Operand::Vec;
    o.vec = regs ? 1 : 2;
    if (regs) {
      if (a[1].vec.size() != 4) throw std::runtime_error("A");
      for (auto& x : a[1].vec) o.w.push_back(R(x));
    } else
      o.s[0] = R(a[1]);
    o.s[1] = R(a.at(2));
    o.p = P(a.at(3));
    auto im = [&](size_t q) {
      if (a.at(q).kind != Operand::Imm) throw std::runtime_error("immediate");
      return (s64)a[q].value;
    };
    if (im(4) != 1 || im(5) != 1) throw std::runtime_error("scales");
    if (regs) {
      if (a.size() != 7) throw std::runtime_error("operands");
      o.imm = im(6) << 1;
    } else {
      if (a.size() != 8) throw std::runtime_error("operands");
      o.imm = im(6) | im(7) << 1;
    }
    o.flag = 77;
    o.fn = wgmma;
    return true;
  }
  if (b == "setmaxnreg") {
    o.kind = ConvAll;
    o.flag = has(op, "inc");
    o.imm = (s64)a.at(0).value;
    o.fn = setmaxnreg;
    return true;
  }
  if (b == "cnot") {
    d1();
    o.fn = INT4(un, Cnot, t);
    return o.fn;
  }
  (void)k;
  return false;
}
// ---------------------------------------------------------------- run
enum class Stop { Again, Blocked, Done };
static void merge(Warp& w, size_t& me) {  // other groups at the same place join me
  Group& g = w.groups[me];
  for (size_t q = 0; q < w.groups.size();)
    if (q != me && w.groups[q].pc == g.pc) {
      g.mask |= w.groups[q].mask;
      w.groups.erase(w.groups.begin() + (long)q);
      if (q < me) {
        --me;
      }
      return merge(w, me);
    } else
      ++q;
}
static Stop step(Warp& w, int budget) {
  Grid& grid = *w.b->g;
  auto& code = w.k->code;
  if (w.waiting >= 0) return Stop::Blocked;
  while (true) {
    if (w.groups.empty()) return Stop::Done;
    // choose
    size_t me = SIZE_MAX;
    if (options.lanes || grid.rng() % 64 == 0) {
      std::vector<size_t> c;
      for (size_t q = 0; q < w.groups.size(); ++q)
        if (!w.groups[q].blocked) c.push_back(q);
      if (!c.empty()) me = c[grid.rng() % c.size()];
    } else
      for (size_t q = 0; q < w.groups.size(); ++q)
        if (!w.groups[q].blocked && (me == SIZE_MAX || w.groups[q].pc < w.groups[me].pc)) me = q;
    if (me == SIZE_MAX) {
      string s = "lanes of a warp wait at different places:";
      for (auto& g : w.groups) {
        char t[64];
        std::snprintf(t, sizeof t, " line %d mask %08x;", code[g.pc].line, g.mask);
        s += t;
        w.at = &code[g.pc];
      }
      fault(w, s);
    }
    if (options.lanes && std::popcount(w.groups[me].mask) > 1 &&
        grid.rng() % 3 == 0) {  // a part goes on alone
      u32 m = w.groups[me].mask, part = m & (u32)grid.rng();
      if (part != 0 && part != m) {
        w.groups[me].mask = m & ~part;
        w.groups.push_back({w.groups[me].pc, part, false});
        me = w.groups.size() - 1;
      }
    }
    int pc = w.groups[me].pc;
    u32 mask = w.groups[me].mask;
    int limit = INT32_MAX;
    if (w.groups.size() > 1 && !options.lanes)
      for (size_t q = 0; q < w.groups.size(); ++q)
        if (q != me && !w.groups[q].blocked) limit = std::min(limit, w.groups[q].pc);
    int lane_budget = options.lanes ? (int)(grid.rng() % 200) + 1 : INT32_MAX;
    bool repick = false;
    while (!repick) {
      if (--budget < 0) {
        w.groups[me].pc = pc;
        w.groups[me].mask = mask;
        return Stop::Again;
      }
      if (--lane_budget < 0) {
        w.groups[me].pc = pc;
        w.groups[me].mask = mask;
        break;
      }
      const I& in = code[pc];
      w.at = &in;
      u32 m = mask;
      if (in.guard >= 0) m &= in.neg ? ~w.p[in.guard] : w.p[in.guard];
      ++stats.warp_instructions;
      ++w.k->count[pc];
      switch (in.kind) {
        case Normal:
          if (m) {
            if (in.tracked) track(w, in);
            in.fn(w, in, m);
          }
          ++pc;
          break;
        case Bra: {
          u32 stay = mask & ~m;
          if (!stay)
            pc = in.target;
          else if (!m)
            ++pc;
          else {
            int other = in.target, mine = pc + 1;
            u32 om = m, mm = stay;
            if (other < mine) {
              std::swap(other, mine);
              std::swap(om, mm);
            }
            w.groups[me].pc = mine;
            w.groups[me].mask = mm;
            w.groups.push_back({other, om, false});
            repick = true;
            continue;
          }
          break;
        }
        case Exit:
          if (m) {
            w.alive &= ~m;
            mask &= ~m;
            for (auto& g : w.groups) g.blocked = false;
          }
          ++pc;
          if (!mask) {
            w.groups.erase(w.groups.begin() + (long)me);
            repick = true;
            continue;
          }
          break;
        case Trap:
          fault(w, "trap");
        case ConvAll:
        case ConvMask:
        case Bar: {
          w.groups[me].pc = pc;
          w.groups[me].mask = mask;
          if (w.groups.size() > 1) {
            merge(w, me);
            mask = w.groups[me].mask;
            m = mask;
            if (in.guard >= 0) m &= in.neg ? ~w.p[in.guard] : w.p[in.guard];
          }
          u32 need = w.alive;
          if (in.kind == ConvMask) {
            if (!m) {
              ++pc;
              break;
            }
            auto* mm = w.S(in.s[3]);
            u32 member = (u32)mm[std::countr_zero(m)];
            each(m, [&](int l) {
              if (!((u32)mm[l] >> l & 1)) fault(w, "a lane that is not in its mask", l);
              if ((u32)mm[l] != member) need = need;
            });
            need = member & w.alive & w.lanes;
            if (in.guard >= 0 && (m & need) != need && (mask & need) == need)
              fault(w, "a lane of the mask is predicated off");
            m &= member;
          } else if (in.guard >= 0 && m != mask) {
            if (m == 0) {
              ++pc;
              break;
            }
            fault(w, "aligned instruction with a predicate that differs");
          } else if (m == 0) {
            ++pc;
            break;
          }
          if ((mask & need) != need) {
            w.groups[me].blocked = true;
            repick = true;
            continue;
          }
          if (in.kind == Bar) {
            u32 id = (u32)w.S(in.s[0])[std::countr_zero(m)];
            u32 count = in.s[1] == INT32_MIN ? 0 : (u32)w.S(in.s[1])[std::countr_zero(m)];
            if (id > 15) fault(w, "barrier number");
            if (count % 32) fault(w, "barrier count is no multiple of 32");
            Barrier& br = w.b->bars[id];
            if (br.arrived == 0)
              br.expected = count;
            else if (br.expected != count)
              fault(w, "barrier counts differ");
            w.red = in.flag ? &in : nullptr;
            if (w.red) {
              w.red_mask = m;
              w.red_true = (in.pneg ? ~w.p[in.p] : w.p[in.p]) & m;
            }
            br.arrived += 32;
            br.warps.push_back(w.id);
            w.waiting = (int)id;
            w.groups[me].pc = pc + 1;
            return Stop::Blocked;
          }
          if (in.tracked) track(w, in);
          in.fn(w, in, m);
          ++pc;
          if (in.kind == ConvMask && in.fn == shfl) {
          }
          break;
        }
      }
      if (pc >= limit) {
        w.groups[me].pc = pc;
        w.groups[me].mask = mask;
        if (pc == limit) merge(w, me);
        break;
      }
    }
  }
}
static void barriers(Block& b) {
  for (u32 id = 0; id < 16; ++id) {
    Barrier& br = b.bars[id];
    if (!br.arrived) continue;
    u32 live = 0;
    for (auto& w : b.warps)
      if (w->alive) live += 32;
    u32 need = br.expected ? br.expected : live;
    if (br.arrived > need)
      fault(*b.warps[br.warps.back()],
            "barrier " + std::to_string(id) + ": more arrive than it counts");
    if (br.arrived < need) continue;
    bool all = br.arrived == b.nwarps() * 32 || br.arrived == live;
    if (races()) {
      if (all) {
        ++b.gen;
        for (auto& c : b.clk) ++c;
      } else {
        std::vector<u32> t;
        for (u32 q : br.warps)
          for (u32 l = 0; l < 32; ++l)
            if (b.warps[q]->lanes >> l & 1) t.push_back(q * 32 + l);
        join(b, t);
      }
    }
    u32 n_true = 0, n_all = 0;
    for (u32 q : br.warps)
      if (b.warps[q]->red) {
        n_true += (u32)std::popcount(b.warps[q]->red_true);
        n_all += (u32)std::popcount(b.warps[q]->red_mask);
      }
    for (u32 q : br.warps)
      if (Warp& v = *b.warps[q]; v.red) {
        if (v.red->flag == 3)
          each(v.red_mask, [&](int l) { v.D(v.red->d)[l] = n_true; });
        else {
          bool r = v.red->flag == 1 ? n_true != 0 : n_true == n_all;
          v.p[v.red->d] = r ? v.p[v.red->d] | v.red_mask : v.p[v.red->d] & ~v.red_mask;
        }
        v.red = nullptr;
      }
    for (u32 q : br.warps) b.warps[q]->waiting = -1;
    br.arrived = 0;
    br.warps.clear();
  }
}
static std::unique_ptr<Block> make_block(Grid& g, u64 index) {
  auto b = std::make_unique<Block>();
  const Launch& L = *g.l;
  Kernel& k = *g.k;
  b->g = &g;
  b->index = index;
  b->ctaid[0] = (u32)(index % L.grid[0]);
  b->ctaid[1] = (u32)(index / L.grid[0] % L.grid[1]);
  b->ctaid[2] = (u32)(index / L.grid[0] / L.grid[1]);
  b->threads = L.block[0] * L.block[1] * L.block[2];
  u32 bytes = k.dynamic_at + L.dynamic_shared;
  bytes = (bytes + 15) / 16 * 16;
  b->mem.assign(bytes, 0xcb);
  b->state.assign(bytes, 0);
  u32 nw = (b->threads + 31) / 32;
  b->clk.assign(b->threads + 32, 1);
  b->fence_clk.assign(b->threads + 32, 0);
  b->row_gen.assign(b->threads + 32, 0);
  b->vc.resize(b->threads + 32);
  b->words.assign(bytes / 4 + 4, {});
  b->reads.assign((size_t)(bytes / 4 + 4) * nw, 0);
  b->wg_log.resize(nw / 4 + 1);
  for (u32 q = 0; q < nw; ++q) {
    auto w = std::make_unique<Warp>();
    w->k = &k;
    w->b = b.get();
    w->id = q;
    u32 n = std::min(32u, b->threads - q * 32);
    w->lanes = w->alive = n == 32 ? ~0u : (1u << n) - 1;
    w->regs.assign((size_t)k.registers * 32, 0xfff7badbadbad777ull);
    w->preds.assign(k.predicates, 0xa5a5a5a5u);
    w->local.assign((size_t)k.local_bytes * 32, 0xcb);
    w->r = w->regs.data();
    w->p = w->preds.data();
    w->splat = g.splat.data();
    w->groups.push_back({0, w->alive, false});
    if (k.uses_wgmma) {
      w->dirty.assign(k.registers, 1);
      w->pending.assign(k.registers, 0);
      w->pending_acc.assign(k.registers, 0);
    }
    b->warps.push_back(std::move(w));
  }
  return b;
}
void run(Kernel& k, const Launch& L) {
  Grid g;
  g.k = &k;
  g.l = &L;
  g.rng.seed(options.seed + stats.launches);
  ++stats.launches;
  g.splat.resize(k.constants.size() * 32);
  for (size_t q = 0; q < k.constants.size(); ++q)
    for (int l = 0; l < 32; ++l) g.splat[q * 32 + l] = k.constants[q];
  std::vector<u32> ws;
  if (L.cooperative) {
    ws.assign(64, 0);
    g.workspace = (u64)ws.data();
    add_allocation(g.workspace, 256);
  }
  u64 total = (u64)L.grid[0] * L.grid[1] * L.grid[2], next = 0;
  std::vector<std::unique_ptr<Block>> live;
  u64 quiet = 0, spent0 = stats.warp_instructions;
  u64 cap = 20'000'000'000ull;
  if (auto* e = std::getenv("PTXSIM_CAP")) cap = std::stoull(e);
  while (next < total || !live.empty()) {
    while (next < total && (L.cooperative || live.size() < (size_t)options.blocks_at_once))
      live.push_back(make_block(g, next++));
    bool moved = false;
    for (size_t bi = 0; bi < live.size();) {
      Block& b = *live[bi];
      bool done = true;
      for (size_t q = 0; q < b.warps.size(); ++q) {
        Warp& w = *b.warps[(q + b.index) % b.warps.size()];
        if (!w.alive) continue;
        u64 before = stats.warp_instructions;
        Stop s = step(w, 64 + (int)(g.rng() % 4096));
        if (stats.warp_instructions != before) moved = true;
        if (s != Stop::Done)
          done = false;
        else {
          barriers(b);
        }
        barriers(b);
        if (!b.bulks.empty() && g.rng() % 4 == 0) {
          bulk_finish(b, g.rng() % b.bulks.size());
          moved = true;
        }
      }
      if (done) {
        if (!b.bulks.empty())
          fault(*b.warps[0], "the block ended with bulk copies under way (issued at line " +
                                 std::to_string(b.bulks[0].line) + ")");
        for (auto& w : b.warps)
          for (int l = 0; l < 32; ++l)
            if (!w->open[l].empty() || !w->closed[l].empty()) {
              bool any = !w->open[l].empty();
              for (auto& c : w->closed[l]) any |= !c.empty();
              if (any) fault(*w, "the block ended with cp.async under way");
            }
        for (u32 q = 0; q < b.nwarps(); ++q)
          if (b.warps[q]->wg_count != b.warps[q & ~3u]->wg_count)
            fault(*b.warps[q], "warps of a group executed different numbers of wgmma");
        for (auto& w : b.warps)
          if (!w->wg_reads.empty()) fault(*w, "the block ended with wgmma under way");
        for (u32 id = 0; id < 16; ++id)
          if (b.bars[id].arrived) fault(*b.warps[0], "the block ended with threads at a barrier");
        live.erase(live.begin() + (long)bi);
        moved = true;
      } else
        ++bi;
    }
    if (!moved) {
      if (++quiet > 4) {
        string s = "deadlock:";
        for (auto& b : live)
          for (auto& w : b->warps)
            if (w->alive) {
              s += " b" + std::to_string(b->index) + "w" + std::to_string(w->id) + " bar " +
                   std::to_string(w->waiting) + " line " + std::to_string(w->at ? w->at->line : 0) +
                   ";";
              if (s.size() > 800) break;
            }
        fault(*live[0]->warps[0], s);
      }
    } else
      quiet = 0;
    if (stats.warp_instructions - spent0 > cap)
      fault(*live[0]->warps[0], "no end: more instructions than allowed");
  }
  if (L.cooperative) remove_allocation(g.workspace);
}
}  // namespace ptx
