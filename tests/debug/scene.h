// A process with GPUs, made up: memory at addresses that nothing has, a code object of tests/fixtures, waves whose every
// register says whose it is.
#ifndef TESTS_DEBUG_SCENE_H
#define TESTS_DEBUG_SCENE_H

#include <elf.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" {
#include "debug/core/core.h"
#include "debug/core/file.h"
#include "debug/core/format.h"
#include "debug/core/notes.h"
#include "debug/core/output.h"
#include "debug/core/walk.h"
}

namespace scene {

constexpr uint64_t IMAGE = 0x7ff000000000, QUEUE = 0x7ff300000000, RING = 0x7ff301000000,
                   KERNARG = 0x7ff500000000, BUFFER = 0x7ff600000000, SCRATCH = 0x7ff700000000,
                   OWN = 0x7ff800000000, STEP = 0x100000;

struct Chip {
  const char *name, *fixture;
  uint32_t version, xccs, engines, lds_block;
};
// (There is no fixture of gfx950: an object is of the chip that its flags say, which the debugger takes from the note.)
inline const Chip chips[] = {{"gfx90a", "vector_add-gfx90a-v5.co", 90010, 1, 8, 512},
                             {"gfx942", "vector_add-gfx942-v5.co", 90402, 3, 4, 512},
                             {"gfx950", "vector_add-gfx942-v5.co", 90500, 2, 4, 1280}};

inline std::string fixture(const char *name)
{
  std::ifstream file(std::string(RAWHAL_SOURCE_DIR "/tests/fixtures/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The image of an object as it is loaded, and where its symbols are.
struct Image {
  std::string bytes;
  uint64_t entry = 0, descriptor = 0;
  explicit Image(const std::string &object)
  {
    Elf64_Ehdr elf;
    memcpy(&elf, object.data(), sizeof elf);
    for (unsigned i = 0; i < elf.e_phnum; ++i) {
      Elf64_Phdr p;
      memcpy(&p, &object[elf.e_phoff + i * sizeof p], sizeof p);
      if (p.p_type != PT_LOAD)
        continue;
      bytes.resize(std::max<size_t>(bytes.size(), (p.p_vaddr + p.p_memsz + 4095) & ~4095ul));
      memcpy(&bytes[p.p_vaddr], &object[p.p_offset], p.p_filesz);
    }
    for (unsigned i = 0; i < elf.e_shnum; ++i) {
      Elf64_Shdr s, names;
      memcpy(&s, &object[elf.e_shoff + i * sizeof s], sizeof s);
      if (s.sh_type != SHT_DYNSYM)
        continue;
      memcpy(&names, &object[elf.e_shoff + s.sh_link * sizeof s], sizeof s);
      for (uint64_t at = 0; at < s.sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, &object[s.sh_offset + at], sizeof symbol);
        const std::string name = &object[names.sh_offset + symbol.st_name];
        if (name == "vector_add")
          entry = symbol.st_value;
        else if (name == "vector_add.kd")
          descriptor = symbol.st_value;
      }
    }
  }
};

struct Rows {
  uint32_t rows[16][CORE_LANES];
};

class Scene {
public:
  core_description_t description = {};
  core_options_t options = {};
  std::deque<std::string> bytes;
  std::vector<core_agent_t> agents;
  std::vector<core_queue_t> queues;
  std::vector<core_wave_t> waves;
  std::vector<core_memory_t> memory;
  std::vector<core_object_t> objects;
  std::vector<core_note_t> notes;
  core_thread_t thread = {4242, 6, {}};
  std::vector<Rows> rows;
  std::vector<std::vector<uint32_t>> sgprs;
  std::string lds;
  void *scratch = nullptr;
  uint64_t entry = 0;

  explicit Scene(const Chip &chip, unsigned agent_count = 1, unsigned queue_count = 1)
      : lds(1000, 'L')
  {
    rows.reserve(1000);
    sgprs.reserve(1000);
    bytes.push_back(fixture(chip.fixture));
    const std::string &object = bytes.back();
    const Image image(object);
    entry = IMAGE + image.entry;
    objects.push_back({{object.data(), object.size()}, IMAGE});
    add(IMAGE, image.bytes, CORE_CODE);
    for (unsigned a = 0; a < agent_count; ++a)
      agents.push_back({chip.version, 0x4711 + a, 0x300 + a, 0x1002, 0x740f, 1, 0x1002, 0xc34, 71,
                        416, 8, chip.engines, 1, chip.xccs, 4096, 0x7fffffffffff});
    for (unsigned q = 0; q < queue_count; ++q)
      add_queue(q % agent_count, q, IMAGE + image.descriptor, chip);
    thread.registers[16] = 0x401000;
    add_notes();
  }
  ~Scene() { free(scratch); }
  Scene(const Scene &) = delete;

  void add(uint64_t address, const std::string &contents, core_class_t klass)
  {
    bytes.push_back(contents);
    memory.push_back(
        {address, bytes.back().data(), contents.size(), klass, true, klass == CORE_CODE, 0});
  }
  template <class T> static void put(std::string &to, size_t at, T value)
  {
    memcpy(&to[at], &value, sizeof value);
  }

  void add_queue(unsigned agent, unsigned q, uint64_t descriptor, const Chip &chip)
  {
    std::string own(CORE_QUEUE_BYTES, 0), ring(4096, 0);
    put<uint64_t>(own, FORMAT_WRITE_ID,
                  68); // the ring has been filled once: packet 67 is the fourth
    put<uint64_t>(own, FORMAT_READ_ID, 67);
    put<uint32_t>(own, 136, 128); // read_dispatch_id_field_base_byte_offset
    put<uint16_t>(ring, 3 * 64, 0x1502);
    put<uint16_t>(ring, 3 * 64 + 2, 1);
    put<uint16_t>(ring, 3 * 64 + 4, 128);
    put<uint32_t>(ring, 3 * 64 + 6, 0x10001);
    put<uint32_t>(ring, 3 * 64 + 12, 256);
    put<uint32_t>(ring, 3 * 64 + 16, 1);
    put<uint32_t>(ring, 3 * 64 + 20, 1);
    put<uint64_t>(ring, 3 * 64 + 32, descriptor);
    put<uint64_t>(ring, 3 * 64 + 40, KERNARG + q * STEP);
    bytes.push_back(own);
    queues.push_back({agent, 7 + q, QUEUE + q * STEP, bytes.back().data(), RING + q * STEP, 4096,
                      SCRATCH + q * STEP, 1024});
    add(RING + q * STEP, ring, CORE_QUEUE);
    add(KERNARG + q * STEP, std::string(4096, 'K'), CORE_KERNARG);
    add(SCRATCH + q * STEP, std::string(8192, 'S'), CORE_SCRATCH);
    for (uint32_t xcc = 0; xcc < chip.xccs; ++xcc) {
      add_wave(q, xcc, 0, 0, CORE_STOP_MEMORY, 0);
      add_wave(q, xcc, 0, 1, CORE_STOP_NONE, 0);
      add_wave(q, xcc, 1, 0, CORE_STOP_TRAP, 2);
      add_wave(q, xcc, 2, 0, CORE_STOP_NONE, 0);
    }
  }

  void add_wave(uint32_t queue, uint32_t xcc, uint32_t group, uint32_t index, core_stop_t stop,
                uint32_t trap)
  {
    const uint32_t number = static_cast<uint32_t>(waves.size());
    rows.emplace_back();
    for (uint32_t r = 0; r < 16; ++r)
      for (uint32_t lane = 0; lane < CORE_LANES; ++lane)
        rows.back().rows[r][lane] = number << 16 | r << 8 | lane;
    sgprs.emplace_back(CORE_SGPRS);
    for (uint32_t i = 0; i < CORE_SGPRS; ++i)
      sgprs.back()[i] = 0x53000000 | number << 8 | i;
    core_wave_t wave = {};
    wave.queue = queue;
    wave.xcc = xcc;
    wave.packet = 67;
    wave.group[0] = group;
    wave.group[1] = xcc;
    wave.index = index;
    wave.stop = stop;
    wave.trap = trap;
    wave.pc = entry + 0x28;
    wave.exec = 0xffff;
    wave.m0 = 0x1234;
    wave.mode = 0x3f0;
    wave.sgprs = sgprs.back().data();
    wave.vgprs = rows.back().rows;
    wave.vgpr_count = 7; // rounded up to 8
    wave.agprs = rows.back().rows + 8;
    wave.agpr_count = 8;
    if (xcc == 0) // where those of the others are no core file of rawhal's has to say
      wave.scratch = SCRATCH + queue * STEP + 1024 * (number % 8);
    wave.lds = lds.data();
    wave.lds_bytes = static_cast<uint32_t>(lds.size());
    waves.push_back(wave);
  }

  // One note of a type, made of what `fill` puts into it.
  template <class Fill> void add_note(uint32_t type, Fill fill)
  {
    bytes.emplace_back(8192, 0);
    core_notes_t to;
    core_notes_begin(&to, &bytes.back()[0], bytes.back().size());
    fill(&to);
    notes.push_back({"RAWHAL", type, core_notes_end(&to)});
  }

  rawhal_fault_t fault() const
  {
    rawhal_fault_t made = {};
    made.kind = RAWHAL_FAULT_MEMORY;
    made.known = RAWHAL_FAULT_KNOWS_DISPATCH | RAWHAL_FAULT_KNOWS_PC | RAWHAL_FAULT_KNOWS_OBJECT |
                 RAWHAL_FAULT_KNOWS_ADDRESS | RAWHAL_FAULT_KNOWS_LANE;
    made.hsa_status = -7;
    made.queue_id = 7;
    made.ticket = 41;
    made.packet = 67;
    made.pc = entry + 0x28;
    made.pc_offset = 0x28;
    made.object_address = entry + 0x28 - IMAGE;
    made.address = BUFFER + 4096;
    made.bytes = 4;
    made.access = RAWHAL_FAULT_ACCESS_WRITE;
    made.group[1] = 3;
    made.lane = 5;
    strcpy(made.kernel, "vector_add");
    strcpy(made.label, "step 3");
    strcpy(made.queue_label, "decode");
    made.cause_count = 2;
    made.causes[0].kind = RAWHAL_CAUSE_OUT_OF_BOUNDS;
    made.causes[0].confidence = 93;
    made.causes[0].argument = 2;
    made.causes[0].offset = 4096;
    made.causes[0].allocation = BUFFER;
    made.causes[0].allocation_bytes = 4096;
    strcpy(made.causes[0].argument_name, "b");
    strcpy(made.causes[0].text, "one element past the end of argument 2 'b'");
    made.causes[1].kind = RAWHAL_CAUSE_FREED;
    made.causes[1].confidence = 7;
    made.causes[1].offset = -16;
    made.causes[1].freed_ns = 120000;
    return made;
  }

  void add_notes()
  {
    const rawhal_fault_t failed = fault();
    add_note(CORE_NOTE_CAUSE, [&](core_notes_t *to) { core_notes_put_fault(to, &failed); });
    add_note(CORE_NOTE_PROCESS, [&](core_notes_t *to) {
      core_note_process_t process = {};
      process.id = 4242;
      process.written = 1795860000;
      process.now = 5000000000;
      process.program = rawhal_string("program");
      process.arguments = rawhal_string("program --option");
      process.host = rawhal_string("host");
      process.versions = rawhal_string("rawhal 0.36");
      core_notes_put(to, CORE_RECORD_PROCESS, &process);
    });
    add_note(CORE_NOTE_MODULES, [&](core_notes_t *to) {
      const core_note_module_t module = {IMAGE, IMAGE, 8192, rawhal_string("vector_add.co")};
      core_notes_put(to, CORE_RECORD_MODULE, &module);
    });
    add_note(CORE_NOTE_DISPATCHES, [&](core_notes_t *to) {
      core_note_dispatch_t dispatch = {};
      dispatch.queue = 7;
      dispatch.ticket = 41;
      dispatch.packet = 67;
      dispatch.outcome = CORE_OUTCOME_FAILED;
      dispatch.submitted = 4999000000;
      dispatch.finished = 4999500000;
      dispatch.kernarg = KERNARG;
      dispatch.kernel = rawhal_string("vector_add");
      dispatch.label = rawhal_string("step 3");
      dispatch.packet_bytes = {"packet", 6};
      dispatch.kernarg_bytes = {"kernargs!", 9};
      core_notes_put(to, CORE_RECORD_DISPATCH, &dispatch);
    });
    add_note(CORE_NOTE_ALLOCATIONS, [&](core_notes_t *to) {
      for (uint64_t i = 0; i < 40; ++i) {
        core_note_allocation_t allocation = {};
        allocation.base = BUFFER + (i - 20) * 8192;
        allocation.size = 4096;
        allocation.number = i;
        allocation.state = i % 2 ? CORE_ALLOCATION_FREED : CORE_ALLOCATION_LIVE;
        allocation.made = 4000000000;
        allocation.freed = i % 2 ? 4900000000 : 0;
        allocation.label = rawhal_string(i == 20 ? "weights" : "");
        core_notes_put(to, CORE_RECORD_ALLOCATION, &allocation);
      }
    });
    add_note(CORE_NOTE_LIMITS, [&](core_notes_t *to) {
      const core_note_limits_t limits = {rawhal_string("memory 1 GiB\nshare 30 %\n")};
      core_notes_put(to, CORE_RECORD_LIMITS, &limits);
    });
  }

  const core_description_t *describe()
  {
    description.process = {4242, "program", "program --option", &thread, 1};
    description.agents = agents.data();
    description.agent_count = agents.size();
    description.queues = queues.data();
    description.queue_count = queues.size();
    description.waves = waves.data();
    description.wave_count = waves.size();
    description.objects = objects.data();
    description.object_count = objects.size();
    description.memory = memory.data();
    description.memory_count = memory.size();
    description.notes = notes.data();
    description.note_count = notes.size();
    description.own_base = OWN;
    description.own_size = 1ul << 30;
    free(scratch);
    options.scratch_size = core_scratch_size(&description, &options);
    scratch = aligned_alloc(64, (options.scratch_size + 63) & ~63ul);
    options.scratch = scratch;
    return &description;
  }
};

// Whether this process may, or lets itself, write core files: RLIMIT_CORE.
inline bool may_write_cores()
{
  rlimit limit = {};
  if (getrlimit(RLIMIT_CORE, &limit))
    return false;
  if (limit.rlim_max < 1 << 20)
    limit.rlim_max = 1 << 30; // for who may
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_CORE, &limit) == 0;
}

inline bool append(void *to, const void *bytes, size_t size)
{
  static_cast<std::string *>(to)->append(static_cast<const char *>(bytes), size);
  return true;
}

inline rawhal_status_t write(Scene &scene, std::string *file, core_written_t *written,
                             rawhal_error_t *error)
{
  file->clear();
  const core_description_t *description = scene.describe();
  return core_write(description, &scene.options, append, file, written, error);
}

// A core file of a host, as the kernel writes it: threads, memory, and a mapping whose bytes it has not.
inline std::string host_core(int32_t process, uint64_t hole, uint64_t hole_bytes)
{
  std::string thread(336, 0), notes, memory(4096, 'H');
  memcpy(&thread[32], &process, sizeof process);
  const Elf64_Nhdr head = {5, 336, NT_PRSTATUS};
  notes.append(reinterpret_cast<const char *>(&head), sizeof head);
  notes.append("CORE\0\0\0\0", 8);
  notes += thread;
  Elf64_Ehdr elf = {};
  memcpy(elf.e_ident,
         "\x7f"
         "ELF\2\1\1",
         7);
  elf.e_type = ET_CORE;
  elf.e_machine = EM_X86_64;
  elf.e_version = EV_CURRENT;
  elf.e_phoff = elf.e_ehsize = sizeof elf;
  elf.e_phentsize = sizeof(Elf64_Phdr);
  elf.e_phnum = 3;
  const uint64_t at = sizeof elf + 3 * sizeof(Elf64_Phdr);
  const Elf64_Phdr headers[3] = {
      {PT_NOTE, 0, at, 0, 0, notes.size(), 0, 4},
      {PT_LOAD, PF_R, at + notes.size(), 0x401000, 0, memory.size(), memory.size(), 1},
      {PT_LOAD, PF_R | PF_W, at + notes.size() + memory.size(), hole, 0, 0, hole_bytes, 1}};
  std::string file(reinterpret_cast<const char *>(&elf), sizeof elf);
  file.append(reinterpret_cast<const char *>(headers), sizeof headers);
  return file + notes + memory;
}

} // namespace scene

#endif
