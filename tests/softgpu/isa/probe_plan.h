// A plan of what to probe in a kernel, as probe/ makes them of code alone; here by softgpu's decoder, for tests of what
// softgpu records. No calls.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

extern "C" {
#include "probe/probe_records.h"
#include "softgpu/isa/describe/opcodes.h"
}

namespace probing {

struct Block {
  uint32_t offset = 0, instructions = 0, counter = 0, passed = 0; // counters
  bool branches = false, falls = false;                           // conditionally; to what follows
  uint32_t target = 0, next = 0;                                  // of a branch; what follows
};

struct Plan {
  std::vector<Block> blocks;
  std::vector<rawhal_probe_point_t> points;
  uint32_t counters = 0, active = 0; // active: the first of those, one a block
};

inline bool is_conditional(unsigned op)
{
  for (unsigned one : {ISA_s_cbranch_scc0, ISA_s_cbranch_scc1, ISA_s_cbranch_vccz,
                       ISA_s_cbranch_vccnz, ISA_s_cbranch_execz, ISA_s_cbranch_execnz})
    if (op == one)
      return true;
  return false;
}

class Planner {
public:
  Planner(unsigned chip, uint64_t first, uint64_t end) : chip_(chip), first_(first), end_(end) {}

  Plan plan(uint32_t entry = 0)
  {
    walk(entry);
    cut();
    for (Block &block : plan_.blocks)
      block.counter = plan_.counters++;
    for (Block &block : plan_.blocks)
      block.passed = block.branches ? plan_.counters++ : 0;
    plan_.active = plan_.counters;
    plan_.counters += uint32_t(plan_.blocks.size());
    for (size_t i = 0; i < plan_.blocks.size(); ++i)
      put(plan_.blocks[i], plan_.active + uint32_t(i));
    return plan_;
  }

private:
  void walk(uint32_t entry)
  {
    std::set<uint32_t> open = {entry};
    heads_ = {entry};
    while (!open.empty()) {
      const uint32_t at = *open.begin();
      open.erase(open.begin());
      if (insts_.count(at))
        continue;
      isa_inst_t inst = {};
      const auto *code = reinterpret_cast<const uint32_t *>(first_ + at);
      if (isa_decode(chip_, code, uint32_t(end_ - first_ - at) / 4, &inst) != ISA_DECODED)
        throw std::runtime_error("not an instruction");
      insts_[at] = inst;
      const uint32_t next = at + 4u * inst.dwords;
      const bool jumps = inst.op == ISA_s_branch || is_conditional(inst.op);
      if (jumps)
        open.insert(next + 4u * uint32_t(inst.simm)),
            heads_.insert(next + 4u * uint32_t(inst.simm));
      if (inst.op != ISA_s_branch && inst.op != ISA_s_endpgm)
        open.insert(next);
      if (jumps)
        heads_.insert(next);
    }
  }

  void cut()
  {
    for (const auto &[at, inst] : insts_) {
      if (heads_.count(at) || plan_.blocks.empty() || plan_.blocks.back().next != at)
        plan_.blocks.push_back({at});
      Block &block = plan_.blocks.back();
      ++block.instructions;
      block.next = at + 4u * inst.dwords;
      block.branches = is_conditional(inst.op);
      block.falls = inst.op != ISA_s_branch && inst.op != ISA_s_endpgm;
      block.target = inst.op == ISA_s_branch || block.branches
                         ? block.next + 4u * uint32_t(inst.simm)
                         : UINT32_MAX;
    }
  }

  void put(const Block &block, uint32_t active)
  {
    rawhal_probe_point_t point = {};
    point.offset = block.offset;
    point.action = RAWHAL_PROBE_COUNT;
    point.counter = block.counter;
    point.block_bytes = block.next - block.offset;
    point.instructions = block.instructions;
    plan_.points.push_back(point);
    point.action = RAWHAL_PROBE_ACTIVE;
    point.counter = active;
    plan_.points.push_back(point);
    for (auto at = insts_.find(block.offset); at != insts_.end() && at->first < block.next; ++at)
      put(block, at->first, at->second);
  }

  void put(const Block &block, uint32_t offset, const isa_inst_t &inst)
  {
    rawhal_probe_point_t point = {};
    point.offset = offset;
    point.scalar = 0xff;
    if (is_conditional(inst.op)) {
      point.action = RAWHAL_PROBE_PASSED;
      point.counter = block.passed;
      point.target = block.target;
    } else if (inst.op == ISA_s_barrier) {
      point.action = RAWHAL_PROBE_ARRIVE;
    } else if (!set_source(point, inst)) {
      return;
    }
    plan_.points.push_back(point);
  }

  static bool set_source(rawhal_probe_point_t &point, const isa_inst_t &inst)
  {
    const bool is_buffer = inst.encoding == ISA_MUBUF;
    point.action = RAWHAL_PROBE_ACCESS;
    point.immediate[0] = inst.mem.offset;
    point.vector = uint8_t(inst.mem.vaddr.index);
    point.lane_bytes = inst.mem.vaddr.kind == ISA_OPERAND_VGPR ? 4 : 0;
    if (inst.encoding == ISA_DS) {
      point.source = RAWHAL_PROBE_LDS;
    } else if (is_buffer) {
      point.source = RAWHAL_PROBE_BUFFER;
      point.scalar = uint8_t(inst.mem.saddr.index);
      point.soffset = uint8_t(inst.mem.soffset.index);
    } else if (inst.encoding == ISA_GLOBAL && inst.mem.saddr.kind != ISA_OPERAND_NONE) {
      point.source = RAWHAL_PROBE_GLOBAL;
      point.scalar = uint8_t(inst.mem.saddr.index);
    } else if (inst.encoding == ISA_FLAT || inst.encoding == ISA_GLOBAL) {
      point.source = RAWHAL_PROBE_FLAT;
      point.lane_bytes = 8;
    } else {
      return false;
    }
    return true;
  }

  unsigned chip_;
  uint64_t first_, end_;
  std::map<uint32_t, isa_inst_t> insts_;
  std::set<uint32_t> heads_;
  Plan plan_;
};

} // namespace probing
