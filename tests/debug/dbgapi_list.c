/* Lists a core file through ROCm's debugger library, as listing.h has it: for RAWHAL_DBGAPI_CLIENT. Built by hand where
 * amd-dbgapi-dev is, which no Debian release has yet: cc dbgapi_list.c -o dbgapi_list -lrocm-dbgapi. */
#define _GNU_SOURCE
#include <amd-dbgapi/amd-dbgapi.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static const unsigned char *file;
static const void *note;
static size_t note_size;

static void fail(const char *what, amd_dbgapi_status_t status)
{
  const char *text = "?";
  (void)amd_dbgapi_get_status_string(status, &text);
  printf("FAILED %s: %s\n", what, text);
  exit(1);
}
#define TRY(call)                                                                                  \
  do {                                                                                             \
    const amd_dbgapi_status_t status_ = (call);                                                    \
    if (status_)                                                                                   \
      fail(#call, status_);                                                                        \
  } while (0)

/* ---- What the library asks ---- */

static const Elf64_Phdr *headers(size_t *count)
{
  const Elf64_Ehdr *elf = (const void *)file;
  *count = elf->e_phnum;
  return (const void *)(file + elf->e_phoff);
}

static void find_note(void)
{
  size_t count;
  const Elf64_Phdr *header = headers(&count);
  for (; count--; ++header)
    for (uint64_t at = 0; header->p_type == PT_NOTE && at + 12 < header->p_filesz;) {
      const Elf64_Nhdr *head = (const void *)(file + header->p_offset + at);
      const uint64_t contents = at + 12 + ((head->n_namesz + 3) & ~3u);
      if (head->n_type == 33 && head->n_namesz == 7 && !memcmp(head + 1, "AMDGPU", 7)) {
        note = file + header->p_offset + contents;
        note_size = head->n_descsz;
      }
      at = contents + ((head->n_descsz + 3) & ~3u);
    }
}

static amd_dbgapi_status_t info(amd_dbgapi_client_process_id_t process,
                                amd_dbgapi_client_process_info_t query, size_t size, void *value)
{
  (void)process;
  (void)size;
  if (query != AMD_DBGAPI_CLIENT_PROCESS_INFO_CORE_STATE || !note)
    return AMD_DBGAPI_STATUS_ERROR_NOT_AVAILABLE;
  amd_dbgapi_core_state_data_t *state = value;
  void *copy = malloc(note_size);
  memcpy(copy, note, note_size);
  *state = (amd_dbgapi_core_state_data_t){
      .endianness = AMD_DBGAPI_ENDIAN_LITTLE, .size = note_size, .data = copy};
  return AMD_DBGAPI_STATUS_SUCCESS;
}

static amd_dbgapi_status_t transfer(amd_dbgapi_client_process_id_t process,
                                    amd_dbgapi_global_address_t address, amd_dbgapi_size_t *size,
                                    void *read, const void *write)
{
  (void)process;
  size_t count;
  const Elf64_Phdr *header = headers(&count);
  for (; count-- && !write; ++header)
    if (header->p_type == PT_LOAD && address - header->p_vaddr < header->p_filesz) {
      const uint64_t at = address - header->p_vaddr, left = header->p_filesz - at;
      *size = left < *size ? left : *size;
      memcpy(read, file + header->p_offset + at, *size);
      return AMD_DBGAPI_STATUS_SUCCESS;
    }
  return AMD_DBGAPI_STATUS_ERROR_MEMORY_ACCESS;
}

static amd_dbgapi_status_t insert(amd_dbgapi_client_process_id_t process,
                                  amd_dbgapi_global_address_t address,
                                  amd_dbgapi_breakpoint_id_t breakpoint)
{
  (void)process, (void)address, (void)breakpoint;
  return AMD_DBGAPI_STATUS_SUCCESS;
}

static amd_dbgapi_status_t take_out(amd_dbgapi_client_process_id_t process,
                                    amd_dbgapi_breakpoint_id_t breakpoint)
{
  (void)process, (void)breakpoint;
  return AMD_DBGAPI_STATUS_SUCCESS;
}

static void say(amd_dbgapi_log_level_t level, const char *message)
{
  /* Names of devices, which are not listed; waves that have no private memory. */
  if (!strstr(message, "amdgpu.ids") && !strstr(message, "flat_scratch may be corrupted"))
    printf("dbgapi %d: %s\n", level, message);
}

/* ---- Listing ---- */

static void list_agents(amd_dbgapi_process_id_t process)
{
  size_t count;
  amd_dbgapi_agent_id_t *all;
  TRY(amd_dbgapi_process_agent_list(process, &count, &all, NULL));
  for (size_t i = 0; i < count; ++i) {
    amd_dbgapi_architecture_id_t chip;
    char *name = "none";
    if (!amd_dbgapi_agent_get_info(all[i], AMD_DBGAPI_AGENT_INFO_ARCHITECTURE, sizeof(chip), &chip))
      TRY(amd_dbgapi_architecture_get_info(chip, AMD_DBGAPI_ARCHITECTURE_INFO_NAME, sizeof(name),
                                           &name));
    printf("agent %s\n", name);
  }
}

static uint64_t id_of(amd_dbgapi_queue_id_t queue)
{
  amd_dbgapi_os_queue_id_t id;
  TRY(amd_dbgapi_queue_get_info(queue, AMD_DBGAPI_QUEUE_INFO_OS_ID, sizeof(id), &id));
  return id;
}

static void list_queues(amd_dbgapi_process_id_t process)
{
  size_t count;
  amd_dbgapi_queue_id_t *all;
  TRY(amd_dbgapi_process_queue_list(process, &count, &all, NULL));
  for (size_t i = 0; i < count; ++i) {
    amd_dbgapi_os_queue_packet_id_t read, write;
    amd_dbgapi_size_t bytes;
    TRY(amd_dbgapi_queue_packet_list(all[i], &read, &write, &bytes, NULL));
    printf("queue %" PRIu64 " packets %" PRIu64 " to %" PRIu64 "\n", id_of(all[i]), read, write);
  }
}

static void list_objects(amd_dbgapi_process_id_t process)
{
  size_t count;
  amd_dbgapi_code_object_id_t *all;
  TRY(amd_dbgapi_process_code_object_list(process, &count, &all, NULL));
  for (size_t i = 0; i < count; ++i) {
    char *uri;
    int64_t delta;
    unsigned long long at = 0, size = 0;
    TRY(amd_dbgapi_code_object_get_info(all[i], AMD_DBGAPI_CODE_OBJECT_INFO_URI_NAME, sizeof(uri),
                                        &uri));
    TRY(amd_dbgapi_code_object_get_info(all[i], AMD_DBGAPI_CODE_OBJECT_INFO_LOAD_ADDRESS,
                                        sizeof(delta), &delta));
    (void)sscanf(uri, "memory://%*d#offset=0x%llx&size=%llu", &at, &size);
    printf("object %" PRIx64 " at %llx size %llu\n", (uint64_t)delta, at, size);
  }
}

#define DISPATCH(of, what, to)                                                                     \
  TRY(amd_dbgapi_dispatch_get_info(of, AMD_DBGAPI_DISPATCH_INFO_##what, sizeof(to), &(to)))

static void list_dispatches(amd_dbgapi_process_id_t process)
{
  size_t count;
  amd_dbgapi_dispatch_id_t *all;
  TRY(amd_dbgapi_process_dispatch_list(process, &count, &all, NULL));
  for (size_t i = 0; i < count; ++i) {
    amd_dbgapi_queue_id_t queue;
    uint64_t packet, kernel, kernargs;
    DISPATCH(all[i], QUEUE, queue);
    DISPATCH(all[i], OS_QUEUE_PACKET_ID, packet);
    DISPATCH(all[i], KERNEL_DESCRIPTOR_ADDRESS, kernel);
    DISPATCH(all[i], KERNEL_ARGUMENT_SEGMENT_ADDRESS, kernargs);
    printf("dispatch %" PRIu64 ".%" PRIu64 " kernel %" PRIx64 " kernarg %" PRIx64 "\n",
           id_of(queue), packet, kernel, kernargs);
  }
}

static void print_words(const char *wave, const char *what, const void *bytes, size_t size)
{
  printf("%s %s", wave, what);
  for (size_t at = 0; at + 4 <= size; at += 4) {
    uint32_t word;
    memcpy(&word, (const char *)bytes + at, sizeof(word));
    printf(" %08x", word);
  }
  puts("");
}

static int is_listed(const char *name)
{
  static const char *const others[] = {"vcc", "m0", "mode", "trapsts"};
  unsigned number;
  int end = 0;
  for (size_t i = 0; i < sizeof(others) / sizeof(*others); ++i)
    if (!strcmp(name, others[i]))
      return 1;
  return sscanf(name, "%*1[sva]%u%n", &number, &end) == 1 && !name[end] &&
         (*name != 's' || number < 102);
}

static void list_registers(amd_dbgapi_wave_id_t wave, const char *line)
{
  size_t count;
  amd_dbgapi_register_id_t *all;
  TRY(amd_dbgapi_wave_register_list(wave, &count, &all));
  for (size_t i = 0; i < count; ++i) {
    char *name;
    amd_dbgapi_size_t size;
    unsigned char bytes[512];
    TRY(amd_dbgapi_register_get_info(all[i], AMD_DBGAPI_REGISTER_INFO_NAME, sizeof(name), &name));
    TRY(amd_dbgapi_register_get_info(all[i], AMD_DBGAPI_REGISTER_INFO_SIZE, sizeof(size), &size));
    if (is_listed(name) && size <= sizeof(bytes)) {
      TRY(amd_dbgapi_read_register(wave, all[i], 0, size, bytes));
      print_words(line, name, bytes, size);
    }
    free(name);
  }
  free(all);
}

static amd_dbgapi_address_space_id_t space_of(amd_dbgapi_wave_id_t wave, const char *wanted)
{
  size_t count;
  amd_dbgapi_architecture_id_t chip;
  amd_dbgapi_address_space_id_t *all, found = AMD_DBGAPI_ADDRESS_SPACE_NONE;
  TRY(amd_dbgapi_wave_get_info(wave, AMD_DBGAPI_WAVE_INFO_ARCHITECTURE, sizeof(chip), &chip));
  TRY(amd_dbgapi_architecture_address_space_list(chip, &count, &all));
  for (size_t i = 0; i < count; ++i) {
    char *name;
    TRY(amd_dbgapi_address_space_get_info(all[i], AMD_DBGAPI_ADDRESS_SPACE_INFO_NAME, sizeof(name),
                                          &name));
    if (!strcmp(name, wanted))
      found = all[i];
    free(name);
  }
  free(all);
  return found;
}

static void list_lds(amd_dbgapi_process_id_t process, amd_dbgapi_wave_id_t wave, const char *line)
{
  const amd_dbgapi_address_space_id_t local = space_of(wave, "local");
  for (uint64_t at = 0;; at += 256) {
    char name[32], bytes[256];
    amd_dbgapi_size_t size = sizeof(bytes);
    if (amd_dbgapi_read_memory(process, wave, AMD_DBGAPI_LANE_NONE, local, at, &size, bytes) ||
        size != sizeof(bytes))
      return;
    snprintf(name, sizeof(name), "lds%" PRIx64, at);
    print_words(line, name, bytes, size);
  }
}

/* The first bytes of its private memory, lanes interleaved. */
static void list_private(amd_dbgapi_process_id_t process, amd_dbgapi_wave_id_t wave,
                         const char *line)
{
  char bytes[1024];
  amd_dbgapi_size_t size = sizeof(bytes);
  if (!amd_dbgapi_read_memory(process, wave, AMD_DBGAPI_LANE_NONE, space_of(wave, "private_wave"),
                              0, &size, bytes) &&
      size == sizeof(bytes))
    print_words(line, "private", bytes, size);
}

#define WAVE(what, to)                                                                             \
  TRY(amd_dbgapi_wave_get_info(wave, AMD_DBGAPI_WAVE_INFO_##what, sizeof(to), &(to)))

static void list_wave(amd_dbgapi_process_id_t process, amd_dbgapi_wave_id_t wave)
{
  amd_dbgapi_wave_state_t state;
  amd_dbgapi_wave_stop_reasons_t reason;
  amd_dbgapi_queue_id_t queue;
  amd_dbgapi_dispatch_id_t dispatch;
  uint64_t pc, exec, packet;
  uint32_t group[3], index;
  char line[128];
  WAVE(STATE, state);
  WAVE(STOP_REASON, reason);
  WAVE(QUEUE, queue);
  WAVE(DISPATCH, dispatch);
  WAVE(PC, pc);
  WAVE(EXEC_MASK, exec);
  WAVE(WORKGROUP_COORD, group);
  WAVE(WAVE_NUMBER_IN_WORKGROUP, index);
  DISPATCH(dispatch, OS_QUEUE_PACKET_ID, packet);
  if (state != AMD_DBGAPI_WAVE_STATE_STOP)
    printf("FAILED: a wave is in state %d\n", state);
  snprintf(line, sizeof(line), "wave %" PRIu64 ".%" PRIu64 ".%u.%u.%u.%u", id_of(queue), packet,
           group[0], group[1], group[2], index);
  printf("%s reason %x pc %" PRIx64 " exec %" PRIx64 "\n", line, (unsigned)reason, pc, exec);
  list_registers(wave, line);
  list_lds(process, wave, line);
  list_private(process, wave, line);
}

static void list_waves(amd_dbgapi_process_id_t process)
{
  size_t count;
  amd_dbgapi_wave_id_t *all;
  TRY(amd_dbgapi_process_wave_list(process, &count, &all, NULL));
  for (size_t i = 0; i < count; ++i)
    list_wave(process, all[i]);
}

int main(int count, char **words)
{
  struct stat about;
  const int fd = count == 2 ? open(words[1], O_RDONLY) : -1;
  if (fd < 0 || fstat(fd, &about))
    return 2;
  file = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  find_note();
  amd_dbgapi_callbacks_t callbacks = {malloc, free, info, insert, take_out, transfer, say};
  amd_dbgapi_process_id_t process;
  amd_dbgapi_set_log_level(AMD_DBGAPI_LOG_LEVEL_WARNING);
  TRY(amd_dbgapi_initialize(&callbacks));
  TRY(amd_dbgapi_process_attach((amd_dbgapi_client_process_id_t)1, &process));
  TRY(amd_dbgapi_process_set_progress(process, AMD_DBGAPI_PROGRESS_NO_FORWARD));
  for (amd_dbgapi_event_kind_t kind = AMD_DBGAPI_EVENT_KIND_RUNTIME;
       kind != AMD_DBGAPI_EVENT_KIND_NONE;) {
    amd_dbgapi_event_id_t event;
    TRY(amd_dbgapi_process_next_pending_event(process, &event, &kind));
    if (kind != AMD_DBGAPI_EVENT_KIND_NONE)
      (void)amd_dbgapi_event_processed(event);
  }
  list_agents(process);
  list_queues(process);
  list_objects(process);
  list_dispatches(process);
  list_waves(process);
  TRY(amd_dbgapi_process_detach(process));
  TRY(amd_dbgapi_finalize());
  return 0;
}
