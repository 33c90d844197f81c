/* What ROCdbgapi asks of /dev/kfd, asked as it asks: for libsoftgpu-debug.so, which is loaded before
 * this program. Says each thing in a line, of a process that may have no softgpu yet. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "softgpu/debug/kfd.h"

static int kfd;
static uint32_t pid;

static int ask(kfd_op_t op, kfd_debug_t *debug)
{
  debug->pid = pid;
  debug->op = op;
  const int result = ioctl(kfd, KFD_IOCTL_DEBUG, debug);
  return result < 0 ? -errno : result;
}

static void say(const char *what, long number)
{
  printf("%s %ld\n", what, number);
}

int main(int argc, char **argv)
{
  int pipes[2];
  kfd_version_t version = {0};
  kfd_runtime_t runtime = {.state = 99};
  kfd_device_t devices[16];
  kfd_queue_t queues[16];
  alarm(60);
  setvbuf(stdout, NULL, _IOLBF, 0);
  pid = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
  kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  if (kfd < 0 || pipe2(pipes, O_NONBLOCK) < 0)
    return 3;
  say("version", ioctl(kfd, KFD_IOCTL_VERSION, &version) == 0 ? version.minor : -errno);
  kfd_debug_t debug = {.enable = {.exceptions = KFD_EXCEPTION(KFD_RUNTIME),
                                  .info = (uintptr_t)&runtime,
                                  .info_bytes = sizeof runtime,
                                  .event_fd = (uint32_t)pipes[1]}};
  say("enable", ask(KFD_ENABLE, &debug));
  say("state", runtime.state);
  debug = (kfd_debug_t){.enable = {.info = (uintptr_t)&runtime}};
  say("again", ask(KFD_ENABLE, &debug));
  debug = (kfd_debug_t){
      .snapshot = {.entries = (uintptr_t)devices, .count = 16, .entry_bytes = sizeof *devices}};
  say("devices", ask(KFD_GET_DEVICE_SNAPSHOT, &debug) == 0 ? debug.snapshot.count : -1);
  say("gfx", devices[0].gfx_target_version);
  debug = (kfd_debug_t){.launch = {.mode = KFD_LAUNCH_HALT}};
  say("halt", ask(KFD_SET_WAVE_LAUNCH_MODE, &debug));
  if (runtime.state == KFD_RUNTIME_DISABLED) {
    struct pollfd wait = {.fd = pipes[0], .events = POLLIN};
    say("event", poll(&wait, 1, 20000));
    debug = (kfd_debug_t){.send = {.exceptions = 0}};
    say("query", ask(KFD_QUERY_DEBUG_EVENT, &debug));
    say("runtime", debug.send.exceptions == KFD_EXCEPTION(KFD_RUNTIME));
    debug = (kfd_debug_t){.exception_info = {.info = (uintptr_t)&runtime,
                                             .info_bytes = sizeof runtime,
                                             .code = KFD_RUNTIME,
                                             .clear = 1}};
    say("info", ask(KFD_QUERY_EXCEPTION_INFO, &debug));
    say("state", runtime.state);
    debug = (kfd_debug_t){.send = {.exceptions = KFD_EXCEPTION(KFD_RUNTIME)}};
    say("send", ask(KFD_SEND_RUNTIME_EVENT, &debug));
  }
  say("ready", getchar());
  debug = (kfd_debug_t){
      .snapshot = {.entries = (uintptr_t)queues, .count = 16, .entry_bytes = sizeof *queues}};
  say("queues", ask(KFD_GET_QUEUE_SNAPSHOT, &debug) == 0 ? debug.snapshot.count : -1);
  uint32_t ids[3] = {queues[0].id, 99, queues[1].id};
  debug = (kfd_debug_t){.suspend = {.queues = (uintptr_t)ids, .count = 3}};
  say("suspend", ask(KFD_SUSPEND_QUEUES, &debug));
  say("invalid", (long)(ids[1] >> 30));
  uint32_t good[2] = {queues[0].id, queues[1].id};
  debug = (kfd_debug_t){.resume = {.queues = (uintptr_t)good, .count = 2}};
  say("resume", ask(KFD_RESUME_QUEUES, &debug));
  debug = (kfd_debug_t){0};
  say("disable", ask(KFD_DISABLE, &debug));
  say("gone", ask(KFD_SET_FLAGS, &debug));
  return 0;
}
