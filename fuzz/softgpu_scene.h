// A dispatch of random code and of a random descriptor on the interpreter of softgpu: from the first word on, then from
// behind whatever stopped it, so that every word gets its turn. Decisions are an input's, or follow from a number.
#ifndef RAWHAL_FUZZ_SOFTGPU_SCENE_H
#define RAWHAL_FUZZ_SOFTGPU_SCENE_H

#include <cstdio>
#include <cstdlib>

#include "fuzz/softgpu_words.h"

extern "C" {
#include "softgpu/device/memory.h"
#include "softgpu/execute.h"
#include "softgpu/isa/run/engine.h"
}

#define REQUIRE(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                              \
      __builtin_trap();                                                                            \
    }                                                                                              \
  } while (0)

enum { PAGE = 4096, SHARED_APERTURE = 0x10000, PRIVATE_APERTURE = 0x20000 };
enum { SHADER_CYCLES = 29 }; // of s_getreg_b32, from gfx1030 on

// Memory that kernels can reach while it lives; a sanitizer sees the first byte beyond.
class Memory {
public:
  Memory(size_t size, uint32_t flags) : size_(size)
  {
    void *data = nullptr;
    REQUIRE(!posix_memalign(&data, PAGE, size));
    data_ = static_cast<uint8_t *>(memset(data, 0, size));
    const softgpu_allocation_t allocation = {address(), size, flags, 1, 0, 0, nullptr};
    REQUIRE(softgpu_memory_add(&allocation));
  }
  ~Memory()
  {
    softgpu_memory_remove(address());
    free(data_);
  }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  using Bytes = std::vector<uint8_t>;
  uint8_t *data() { return data_; }
  Bytes bytes() const { return {data_, data_ + size_}; }
  // Remembers what it holds, which costs little where it has not changed since.
  void keep()
  {
    if (is_changed())
      kept_ = bytes();
  }
  bool is_changed() const { return kept_.size() != size_ || memcmp(kept_.data(), data_, size_); }
  void restore() { memcpy(data_, kept_.data(), size_); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(data_); }
  size_t size() const { return size_; }
  void put(size_t at, const void *from, size_t size) { memcpy(data_ + at, from, size); }

private:
  uint8_t *data_;
  size_t size_;
  Bytes kept_;
};

// Leaves addresses in s[4:19] and in v[2:3] and v[6:7], then jumps to where s[2:3] say.
static const std::vector<uint32_t> prologues[ISA_FAMILY_COUNT] = {
    {
        0xc0120100, 0,    // s_load_dwordx16 s[4:19], s[0:1], 0x0
        0xc0060080, 0x40, // s_load_dwordx2 s[2:3], s[0:1], 0x40
        0x24020082,       // v_lshlrev_b32 v1, 2, v0
        0x68040204,       // v_add_u32 v2, s4, v1
        0x7e060205,       // v_mov_b32 v3, s5
        0x7e080280,       // v_mov_b32 v4, 0
        0x7e0a02f2,       // v_mov_b32 v5, 1.0
        0x7e0c0301,       // v_mov_b32 v6, v1
        0x7e0e0211,       // v_mov_b32 v7, s17
        0xbefc0084,       // s_mov_b32 m0, 4
        0xbe801d02,       // s_setpc_b64 s[2:3]
    },
    {0xf4100100, 0xfa000000, 0xf4040080, 0xfa000040, 0x34020082, 0x4a040204, 0x7e060205, 0x7e080280,
     0x7e0a02f2, 0x7e0c0301, 0x7e0e0211, 0xbefc0384, 0xbe802002},
    {0xf4100100, 0xf8000000, 0xf4040080, 0xf8000040, 0x360000ff, 0x3ff, // v_and_b32 v0, 0x3ff, v0
     0x30020082, 0x4a040204, 0x7e060205, 0x7e080280, 0x7e0a02f2, 0x7e0c0301, 0x7e0e0211, 0xbefd0084,
     0xbe804802},
};

constexpr uint32_t DESCRIPTOR = 64, PROLOGUE = 64, KERNARG = 128,
                   RESUME = 64 /* in the kernarg segment */;

class Scene {
public:
  // `count` words of code. One that compares runs on both engines, which must come to the same end.
  Scene(Choices &choices, unsigned chip, uint32_t count, bool compares)
      : c_(choices), chip_(chip), count_(count), before_(c_.once_in(2) ? 4 * c_.below(256) : 0),
        compares_(compares),
        code_(DESCRIPTOR + PROLOGUE + before_ + 4 * count_, SOFTGPU_MEMORY_EXECUTE),
        kernarg_(KERNARG, 0), data_(PAGE, SOFTGPU_MEMORY_WRITE),
        scratch_(1 << 16, SOFTGPU_MEMORY_WRITE | SOFTGPU_MEMORY_SCRATCH)
  {
    make_code();
    make_kernarg();
    const bool is_raw = c_.once_in(8);
    is_raw ? make_raw_descriptor() : make_descriptor();
    make_dispatch(is_raw);
    if (compares_)
      dispatch_.checks = 0; // which only one of them makes
  }

  void run()
  {
    for (uint32_t at = 0; at < count_;)
      at = entry_at_ != 0 ? run_from(at) : count_ + run_from(at);
  }

private:
  bool is_rdna() const { return isa_chip(chip_)->family != ISA_FAMILY_GFX9; }
  uint32_t body() const { return DESCRIPTOR + PROLOGUE + before_; }

  void make_code()
  {
    std::vector<uint32_t> words;
    WordMaker maker(c_, chip_);
    while (words.size() < count_)
      maker.append(words);
    for (uint32_t at = 0; compares_ && at < count_; ++at)
      if (tells_the_time(&words[at], count_ - at))
        words[at] = 0xbf800000; // s_nop 0
    const std::vector<uint32_t> &prologue = prologues[isa_chip(chip_)->family];
    REQUIRE(4 * prologue.size() <= PROLOGUE);
    code_.put(DESCRIPTOR, prologue.data(), 4 * prologue.size());
    code_.put(body(), words.data(), 4 * count_);
  }

  // What the prologue loads: addresses of data and of read-only memory, descriptors of a buffer and
  // of swizzled scratch memory, generic addresses of LDS and of scratch memory.
  void make_kernarg()
  {
    const uint64_t data = data_.address(), constants = code_.address(),
                   scratch = scratch_.address();
    const uint32_t swizzled = 0xfac | 4u << 12 | 4u << 15 | 1u << 19 | 3u << 21 | 1u << 23;
    const uint32_t words[16] = {uint32_t(data),
                                uint32_t(data >> 32),
                                uint32_t(constants),
                                uint32_t(constants >> 32),
                                uint32_t(data),
                                uint32_t(data >> 32),
                                PAGE,
                                0x27000,
                                uint32_t(scratch),
                                uint32_t(scratch >> 32) | 1u << 31,
                                1 << 16,
                                swizzled,
                                0,
                                SHARED_APERTURE,
                                0,
                                PRIVATE_APERTURE};
    kernarg_.put(0, words, sizeof(words));
  }

  void make_descriptor()
  {
    const uint32_t blocks = c_.once_in(4) ? c_.below(64) : c_.below(8); // of 8 VGPRs
    const uint32_t scratch_sgpr = c_.once_in(2), ids = c_.below(8), items = c_.below(4);
    const uint32_t rsrc1 = blocks | c_.below(16) << 6 | uint32_t(c_.byte()) << 12 |
                           c_.below(2) << 21 | c_.below(2) << 23 | c_.below(2) << 26;
    const uint32_t rsrc2 = scratch_sgpr | (2 + c_.below(15)) << 1 | ids << 7 | items << 11;
    const uint32_t rsrc3 = 1 + c_.below(63);
    const uint32_t kernarg_size = c_.once_in(8) ? c_.below(512) : KERNARG;
    uint16_t properties = 8; // the kernarg pointer in s[0:1]
    if (is_rdna() && c_.once_in(2))
      properties |= 1 << 10; // waves of 32
    memcpy(code_.data() + 8, &kernarg_size, 4);
    memcpy(code_.data() + 44, &rsrc3, 4);
    memcpy(code_.data() + 48, &rsrc1, 4);
    memcpy(code_.data() + 52, &rsrc2, 4);
    memcpy(code_.data() + 56, &properties, 2);
    entry_at_ = DESCRIPTOR;
  }

  void make_raw_descriptor()
  {
    for (unsigned i = 0; i < DESCRIPTOR; ++i)
      code_.data()[i] = c_.byte();
    if (c_.once_in(2))
      memset(code_.data() + 8, 0, 4); // a kernarg segment that may be anywhere
    if (!c_.once_in(4))
      memset(code_.data() + 56, 0, 4); // nothing in user SGPRs
    entry_at_ = c_.once_in(8) ? 0 : body();
  }

  void make_dispatch(bool is_raw)
  {
    dispatch_ = {};
    dispatch_.chip = static_cast<softgpu_chip_t>(chip_);
    for (unsigned i = 0; i < 3; ++i) {
      dispatch_.workgroup[i] = i == 0 ? uint16_t(1 + c_.below(200)) : uint16_t(1 + c_.below(2));
      dispatch_.grid[i] = 1 + c_.below(300);
      if (is_raw && c_.once_in(4))
        dispatch_.grid[i] = c_.word();
      if (is_raw && c_.once_in(4))
        dispatch_.workgroup[i] = uint16_t(c_.word());
    }
    dispatch_.group_bytes = c_.below(4096);
    dispatch_.private_bytes = c_.below(2) * c_.below(256);
    if (is_raw && c_.once_in(4))
      dispatch_.group_bytes = c_.word() % 70000;
    if (is_raw && c_.once_in(4))
      dispatch_.private_bytes = c_.word();
    dispatch_.kernel_object = code_.address();
    dispatch_.kernarg = is_raw && c_.once_in(4) ? c_.word() : kernarg_.address();
    dispatch_.packet = kernarg_.address();
    dispatch_.scratch_base = scratch_.address() + (is_raw && c_.once_in(8) ? c_.byte() : 0);
    dispatch_.scratch_bytes = is_raw && c_.once_in(8) ? c_.word() : scratch_.size();
    dispatch_.shared_aperture_hi = SHARED_APERTURE;
    dispatch_.private_aperture_hi = PRIVATE_APERTURE;
    dispatch_.checks = c_.once_in(4) ? c_.below(8) : 0;
    dispatch_.missing_from = c_.below(KERNARG);
    dispatch_.missing_to = c_.below(KERNARG);
  }

  // Where to go on: behind the instruction that faulted, or that the run began with.
  uint32_t run_from(uint32_t at)
  {
    const bool has_prologue = entry_at_ == DESCRIPTOR;
    const uint64_t start = code_.address() + body() + 4 * at;
    const int64_t entry = has_prologue    ? DESCRIPTOR
                          : entry_at_ > 0 ? int64_t(entry_at_ + 4 * at)
                                          : 0;
    if (entry != 0) {
      const bool enters_later = !is_rdna() && code_.data()[58] & 127; // it preloads
      const int64_t preloads = enters_later ? 256 : 0;
      const int64_t offset = entry - preloads;
      memcpy(code_.data() + 16, &offset, sizeof(offset));
    }
    kernarg_.put(RESUME, &start, sizeof(start));
    const std::vector<uint8_t> before(code_.data(), code_.data() + code_.size());

    softgpu_fault_t fault;
    if (compares_) {
      data_.keep();
      scratch_.keep();
    }
    const bool ok = execute(&fault);
    if (compares_)
      compare(fault);
    REQUIRE(ok == (fault.kind == SOFTGPU_FAULT_NONE));
    REQUIRE(ok || strnlen(fault.text, sizeof(fault.text)) - 1 < sizeof(fault.text) - 1);
    REQUIRE(!memcmp(before.data(), code_.data(), code_.size()));

    const uint64_t distance = fault.pc - start;
    if (!ok && fault.pc >= start && distance / 4 < count_ - at && distance % 4 == 0 &&
        fault.kind != SOFTGPU_FAULT_STOPPED)
      at += uint32_t(distance / 4);
    return at + length(at);
  }

  bool execute(softgpu_fault_t *fault)
  {
    const bool stop = true; // at the first look, after some thousand instructions
    const softgpu_limits_t limits = {0, &stop, 0, 0, nullptr, nullptr};
    return softgpu_execute(&dispatch_, &limits, fault);
  }

  // The same on the reference engine, from what memory held before.
  void compare(const softgpu_fault_t &fault)
  {
    const bool is_changed = data_.is_changed() || scratch_.is_changed();
    Memory::Bytes new_data, new_scratch;
    if (is_changed) {
      new_data = data_.bytes();
      new_scratch = scratch_.bytes();
      data_.restore();
      scratch_.restore();
    }
    softgpu_fault_t other;
    softgpu_engine_reference(true);
    execute(&other);
    softgpu_engine_reference(false);
    // Where the one checks an access as a whole and the other by its dwords, address and size
    // differ, and so does what was stored before.
    const bool is_same = fault.kind == other.kind && fault.pc == other.pc &&
                         fault.wave == other.wave && fault.lane == other.lane;
    if (!is_same)
      fprintf(stderr, "%s\nreference: %s\n", fault.text, other.text);
    REQUIRE(is_same);
    if (fault.kind <= SOFTGPU_FAULT_FETCH || fault.kind == SOFTGPU_FAULT_STOPPED)
      REQUIRE(is_changed ? new_data == data_.bytes() && new_scratch == scratch_.bytes()
                         : !data_.is_changed() && !scratch_.is_changed());
  }

  bool tells_the_time(const uint32_t *words, uint32_t count)
  {
    isa_inst_t inst;
    return isa_decode(chip_, words, count, &inst) == ISA_DECODED &&
           (inst.op == ISA_s_memtime || inst.op == ISA_s_memrealtime ||
            inst.op == ISA_s_sendmsg_rtn_b32 || inst.op == ISA_s_sendmsg_rtn_b64 ||
            (inst.op == ISA_s_getreg_b32 && (inst.simm & 63) == SHADER_CYCLES));
  }

  uint32_t length(uint32_t at)
  {
    std::vector<uint32_t> words(count_);
    memcpy(words.data(), code_.data() + body(), 4 * count_);
    isa_inst_t inst;
    if (isa_decode(chip_, &words[at], count_ - at, &inst) != ISA_DECODED)
      return 1;
    char text[160];
    isa_text(&inst, text, sizeof(text));
    REQUIRE(inst.dwords >= 1 && inst.dwords <= ISA_MOST_DWORDS);
    return inst.dwords;
  }

  Choices &c_;
  unsigned chip_;
  const uint32_t count_; // words of code
  uint32_t before_;      // bytes between prologue and body
  const bool compares_;
  uint32_t entry_at_ = 0;
  Memory code_, kernarg_, data_, scratch_;
  softgpu_dispatch_t dispatch_;
};

#endif
