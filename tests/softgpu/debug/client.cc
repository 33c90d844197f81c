#include "client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "softgpu/debug/wire.h"
#include "tests/child.h"

extern "C" {
#include "softgpu/system/reach.h"
}

// --- programs ---

Obedient::Obedient(std::vector<std::string> words, const Variables &variables, bool held)
{
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
    return;
  pid = fork_child();
  if (pid == 0) {
    std::vector<char *> arguments;
    for (std::string &word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    for (const auto &[name, value] : variables)
      value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
    if (held)
      raise(SIGSTOP);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  in_ = in[1];
  out_ = out[0];
  close(in[0]);
  close(out[1]);
}

void Obedient::seize()
{
  int status = 0;
  waitpid(pid, &status, WUNTRACED);
  EXPECT_EQ(ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXEC), 0) << strerror(errno);
  signal_child(pid, SIGCONT);
  while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) &&
         status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8))
    ptrace(PTRACE_CONT, pid, 0, 0);
}

void Obedient::go()
{
  EXPECT_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0) << strerror(errno);
}

Obedient::~Obedient()
{
  if (in_ >= 0)
    close(in_);
  if (out_ >= 0)
    close(out_);
  if (pid > 0)
    end_child(pid);
}

bool Obedient::read(void *to, size_t size)
{
  size_t have = 0;
  pollfd wait{out_, POLLIN, 0};
  while (have < size && poll(&wait, 1, 20000) == 1) {
    const ssize_t got = ::read(out_, (char *)to + have, size - have);
    if (got <= 0)
      return false;
    have += (size_t)got;
  }
  return have == size;
}

void Obedient::tell(const std::string &line)
{
  const std::string text = line + "\n";
  EXPECT_EQ(::write(in_, text.data(), text.size()), (ssize_t)text.size());
}

std::string Obedient::answer()
{
  std::string line;
  char byte;
  while (read(&byte, 1) && byte != '\n')
    line += byte;
  return line;
}

std::string Obedient::say(const std::string &line)
{
  tell(line);
  return answer();
}

int Obedient::end()
{
  int status = -1;
  tell("end");
  waitpid(pid, &status, 0);
  pid = -1;
  return status;
}

pid_t Obedient::child() const
{
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  pid_t found = 0;
  for (const auto &task : std::filesystem::directory_iterator(tasks)) {
    std::ifstream children(task.path() / "children");
    if (!found)
      children >> found;
  }
  return found;
}

Target::Target(const std::string &chips, const std::string &debug, bool held, bool reference)
    : Obedient({DEBUG_TARGET, SOFTGPU_LIBRARY},
               {{"SOFTGPU_CHIPS", chips},
                {"SOFTGPU_DEBUG", debug},
                {"SOFTGPU_REFERENCE", reference ? "1" : ""}},
               held)
{
}

bool Target::begin()
{
  return read(&places, sizeof(places));
}

// --- the debugger ---

Debugger::Debugger(const Target &target) : pid_(target.pid)
{
  connection = reach_open((uint32_t)target.pid);
  const std::string path = "/proc/" + std::to_string(target.pid) + "/mem";
  memory_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_GE(memory_, 0) << strerror(errno);
  EXPECT_EQ(pipe2(pipe_, O_CLOEXEC | O_NONBLOCK), 0);
}

Debugger::~Debugger()
{
  for (int fd : {connection, memory_, pipe_[0], pipe_[1]})
    if (fd >= 0)
      close(fd);
}

int Debugger::ask(kfd_debug_t &debug, std::vector<uint8_t> *behind, int fd)
{
  std::vector<uint8_t> answer(SOFTGPU_WIRE_BYTES);
  const bool has_ids = debug.op == KFD_SUSPEND_QUEUES || debug.op == KFD_RESUME_QUEUES;
  debug.pid = (uint32_t)pid_;
  const int error = reach_ask(connection, &debug, has_ids ? behind->data() : nullptr,
                              has_ids ? behind->size() : 0, fd, answer.data(), answer.size());
  if (error)
    return error;
  softgpu_wire_answer_t head;
  memcpy(&head, answer.data(), sizeof(head));
  debug = head.debug;
  if (behind)
    behind->assign(answer.begin() + sizeof(head), answer.begin() + sizeof(head) + head.bytes);
  return head.result;
}

int Debugger::ask(kfd_op_t op, const std::function<void(kfd_debug_t &)> &fill)
{
  kfd_debug_t debug{};
  debug.op = op;
  if (fill)
    fill(debug);
  return ask(debug);
}

int Debugger::enable(kfd_runtime_t *info, uint64_t exceptions)
{
  kfd_debug_t debug{};
  std::vector<uint8_t> behind;
  debug.op = KFD_ENABLE;
  debug.enable.exceptions = exceptions;
  debug.enable.info_bytes = sizeof(*info);
  const int result = ask(debug, &behind, pipe_[1]);
  if (result == 0) {
    EXPECT_EQ(debug.enable.info_bytes, sizeof(*info));
    EXPECT_EQ(behind.size(), sizeof(*info));
    memcpy(info, behind.data(), std::min(behind.size(), sizeof(*info)));
  }
  return result;
}

int Debugger::attach()
{
  kfd_runtime_t info{};
  const uint64_t all = 0x3f | KFD_EXCEPTION(KFD_DEVICE_MEMORY) | KFD_EXCEPTION(KFD_RUNTIME);
  int result = enable(&info);
  if (result)
    return result;
  gfx = devices().at(0).gfx_target_version;
  result = ask(KFD_SET_EXCEPTIONS_ENABLED, [&](auto &d) { d.enabled.exceptions = all; });
  queues(KFD_EXCEPTION(KFD_QUEUE_NEW));
  return result;
}

template <typename Entry>
static std::vector<Entry> snapshot(Debugger &debugger, kfd_op_t op, uint64_t cleared)
{
  kfd_debug_t debug{};
  std::vector<uint8_t> behind;
  debug.op = op;
  debug.snapshot.exceptions = cleared;
  debug.snapshot.count = 16;
  debug.snapshot.entry_bytes = sizeof(Entry);
  EXPECT_EQ(debugger.ask(debug, &behind), 0);
  EXPECT_EQ(debug.snapshot.entry_bytes, sizeof(Entry));
  EXPECT_EQ(behind.size(), debug.snapshot.count * sizeof(Entry));
  std::vector<Entry> entries(behind.size() / sizeof(Entry));
  memcpy((void *)entries.data(), behind.data(), entries.size() * sizeof(Entry));
  return entries;
}

std::vector<kfd_queue_t> Debugger::queues(uint64_t cleared)
{
  return snapshot<kfd_queue_t>(*this, KFD_GET_QUEUE_SNAPSHOT, cleared);
}

std::vector<kfd_device_t> Debugger::devices()
{
  return snapshot<kfd_device_t>(*this, KFD_GET_DEVICE_SNAPSHOT, 0);
}

static std::vector<uint32_t> change(Debugger &debugger, kfd_op_t op, std::vector<uint32_t> ids)
{
  kfd_debug_t debug{};
  std::vector<uint8_t> behind((uint8_t *)ids.data(), (uint8_t *)(ids.data() + ids.size()));
  debug.op = op;
  if (op == KFD_SUSPEND_QUEUES) {
    debug.suspend.exceptions = 0x3f;
    debug.suspend.count = (uint32_t)ids.size();
  } else {
    debug.resume.count = (uint32_t)ids.size();
  }
  const int result = debugger.ask(debug, &behind);
  EXPECT_EQ(behind.size(), 4 * ids.size());
  memcpy(ids.data(), behind.data(), std::min(behind.size(), 4 * ids.size()));
  int done = 0;
  for (uint32_t id : ids)
    done += id < KFD_QUEUE_ERROR;
  EXPECT_EQ(result, done);
  return ids;
}

std::vector<uint32_t> Debugger::suspend(std::vector<uint32_t> ids)
{
  return change(*this, KFD_SUSPEND_QUEUES, ids);
}

std::vector<uint32_t> Debugger::resume(std::vector<uint32_t> ids)
{
  return change(*this, KFD_RESUME_QUEUES, ids);
}

bool Debugger::event(kfd_debug_t *event)
{
  pollfd wait{pipe_[0], POLLIN, 0};
  char bytes[64];
  if (poll(&wait, 1, 10000) != 1)
    return false;
  while (::read(pipe_[0], bytes, sizeof(bytes)) > 0)
    ;
  *event = {};
  event->op = KFD_QUERY_DEBUG_EVENT;
  event->send.exceptions = ~0ull;
  return ask(*event) == 0;
}

void Debugger::get(uint64_t address, void *to, size_t size)
{
  ASSERT_EQ(pread(memory_, to, size, (off_t)address), (ssize_t)size) << std::hex << address;
}

void Debugger::put(uint64_t address, const void *from, size_t size)
{
  ASSERT_EQ(pwrite(memory_, from, size, (off_t)address), (ssize_t)size) << std::hex << address;
}

// --- waves ---

std::vector<Wave> Debugger::waves(const kfd_queue_t &queue)
{
  struct {
    uint32_t stack_offset, stack_bytes, waves_end, waves_bytes, debug_offset, debug_bytes;
  } header;
  std::vector<Wave> found;
  get(queue.save_area, &header, sizeof(header));
  EXPECT_EQ(header.stack_offset + header.stack_bytes, header.waves_end - header.waves_bytes);
  EXPECT_GE(header.debug_bytes, 32u * 64);
  EXPECT_LE(header.waves_end, queue.save_area_bytes);
  if (header.stack_bytes == 0)
    return found;
  std::vector<uint32_t> stack(header.stack_bytes / 4);
  get(queue.save_area + header.stack_offset, stack.data(), header.stack_bytes);
  const uint32_t block = gfx == 90500 ? 1280 : 512;
  Wave shape{};
  bool within = false;
  uint64_t top = queue.save_area + header.waves_end;
  for (size_t i = 2; i < stack.size(); ++i) { // two words of PM4 come first
    const uint32_t word = stack[i];
    if (word >> 31) {
      shape.rows = ((word & 63) + 1) * 8;
      shape.vgprs = ((word >> 24 & 63) + 1) * 4;
      shape.lds_bytes = (word >> 9 & 255) * block;
      EXPECT_EQ(word >> 6 & 7, 7u); // 112 SGPRs
      EXPECT_LE(shape.vgprs, shape.rows);
      continue;
    }
    if (word >> 30)
      continue;
    Wave wave = shape;
    wave.first = word >> 17 & 1;
    wave.last = word >> 16 & 1;
    wave.scratch = word >> 15 & 1;
    EXPECT_EQ(wave.first, !within);
    within = !wave.last;
    const uint64_t bytes = 256ull * wave.rows + 576 + (wave.first ? wave.lds_bytes : 0) + 64;
    top -= bytes;
    wave.at = top;
    wave.lds = wave.first ? wave.registers() + 576 : found.back().lds;
    EXPECT_EQ(pc(wave) & 3, 0u);
    found.push_back(wave);
  }
  EXPECT_FALSE(within);
  EXPECT_EQ(top, queue.save_area + header.waves_end - header.waves_bytes);
  return found;
}

bool Debugger::is_stopped(const Wave &wave)
{
  return read(wave.ttmp(6)) >> 30 & 1;
}

unsigned Debugger::trap(const Wave &wave)
{
  return read(wave.ttmp(6)) >> 25 & 15;
}

uint64_t Debugger::pc(const Wave &wave)
{
  if (parks() && is_stopped(wave))
    return read(wave.ttmp(7)) | (uint64_t)(read(wave.ttmp(11)) >> 7 & 0xffff) << 32;
  return read<uint64_t>(wave.hwreg(kPc));
}

void Debugger::set_pc(const Wave &wave, uint64_t pc)
{
  if (parks() && is_stopped(wave)) {
    write(wave.ttmp(7), (uint32_t)pc);
    const uint32_t rest = read(wave.ttmp(11)) & ~(0xffffu << 7);
    write(wave.ttmp(11), rest | (uint32_t)(pc >> 32 & 0xffff) << 7);
  } else {
    write(wave.hwreg(kPc), pc);
  }
}

void Debugger::go_on(const Wave &wave, bool step)
{
  const uint64_t from = pc(wave);
  const uint32_t ttmp6 = read(wave.ttmp(6)), mode = read(wave.hwreg(kMode));
  const uint32_t halted = ttmp6 & 1u << 29 ? 1u << 13 : 0;
  const uint32_t status = read(wave.hwreg(kStatus)) & ~(1u << 13 | 1u << 18);
  write(wave.hwreg(kStatus), status | halted);
  write(wave.ttmp(6), ttmp6 & ~(3u << 29));
  write(wave.hwreg(kMode), step ? mode | 1u << 11 : mode & ~(1u << 11));
  write(wave.hwreg(kTrapsts), 0u);
  write(wave.hwreg(kPc), from);
}

Debugger::Still::Still(Debugger &of, const kfd_queue_t &queue) : debugger(of), id(queue.id)
{
  EXPECT_EQ(debugger.suspend({id}), std::vector<uint32_t>{id});
}

Debugger::Still::~Still()
{
  EXPECT_EQ(debugger.resume({id}), std::vector<uint32_t>{id});
}
