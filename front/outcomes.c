#include "front/outcomes.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/file_signals.h"
#include "hsaco/content.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES = 4096, ATTEMPTS = 4 };

static int folder_fd = -1;

static const char *const names[] = {
    [OUTCOME_TRIED] = "tried", [OUTCOME_ACCEPTED] = "accepted", [OUTCOME_REFUSED] = "refused"};

rawhal_status_t outcomes_open(const char *folder, rawhal_error_t *error)
{
  (void)mkdir(folder, 0777); /* mostly it is there */
  folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd >= 0 && faccessat(folder_fd, ".", W_OK | X_OK, AT_EACCESS) == 0)
    return RAWHAL_OK;
  int why = errno;
  outcomes_close();
  return rawhal_fail(error, file_failure(why), "the folder '%.300s': %s", folder, strerror(why));
}

void outcomes_close(void)
{
  if (folder_fd >= 0)
    (void)close(folder_fd);
  folder_fd = -1;
}

/* ---- A file ----
 *
 *     rawhal-outcome-1
 *     ABOUT
 *     KIND TRIES
 *     REASON
 *     SUM       of all before, 16 digits of base 16
 */

typedef struct outcome_text {
  char text[FILE_BYTES];
} outcome_text_t;

typedef struct file_name {
  char text[CONTENT_TEXT], beside[CONTENT_TEXT + 4];
} file_name_t;

static file_name_t name_of(const outcome_key_t *key)
{
  file_name_t name;
  content_text(rawhal_content_hash(key->about, strlen(key->about)), name.text);
  (void)snprintf(name.beside, sizeof(name.beside), "%s.new", name.text);
  return name;
}

static size_t write_text(const outcome_key_t *key, const outcome_t *outcome, outcome_text_t *text)
{
  int size = snprintf(text->text, sizeof(text->text), "rawhal-outcome-1\n%s\n%s %u\n%s\n",
                      key->about, names[outcome->kind], outcome->tries, outcome->reason);
  if (size < 0 || (size_t)size >= sizeof(text->text) - 32)
    return 0;
  uint64_t sum = content_sum(text->text, (size_t)size, 0);
  return (size_t)size +
         (size_t)snprintf(text->text + size, 32, "%016llx\n", (unsigned long long)sum);
}

/* Whatever is there, it is read as what writing would have written of it. */
static bool read_text(const outcome_key_t *key, const char *bytes, size_t size, outcome_t *outcome)
{
  char kind[16] = "", head[64 + OUTCOME_ABOUT];
  int length = snprintf(head, sizeof(head), "rawhal-outcome-1\n%s\n", key->about), used = 0;
  outcome_t found = {0};
  if (length < 0 || size < (size_t)length || memcmp(bytes, head, (size_t)length) != 0 ||
      sscanf(bytes + length, "%15s %7u%n", kind, &found.tries, &used) != 2 ||
      bytes[length + used] != '\n')
    return false;
  const char *reason = bytes + length + used + 1, *end = strchr(reason, '\n');
  if (!end || end - reason >= OUTCOME_REASON)
    return false;
  memcpy(found.reason, reason, (size_t)(end - reason));
  for (size_t i = 1; i < sizeof(names) / sizeof(*names); ++i)
    if (strcmp(kind, names[i]) == 0)
      found.kind = (outcome_kind_t)i;
  outcome_text_t again;
  if (found.kind == OUTCOME_NONE || write_text(key, &found, &again) != size ||
      memcmp(again.text, bytes, size) != 0)
    return false;
  *outcome = found;
  return true;
}

static void read_file(const outcome_key_t *key, const file_name_t *name, outcome_t *outcome)
{
  outcome_text_t text;
  size_t size = 0;
  *outcome = (outcome_t){.kind = OUTCOME_NONE};
  int fd = openat(folder_fd, name->text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat about;
  bool regular = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
  for (ssize_t got = 1; regular && got > 0 && size < sizeof(text.text) - 1; size += (size_t)got)
    if ((got = read(fd, text.text + size, sizeof(text.text) - 1 - size)) < 0)
      got = 0;
  text.text[size] = '\0';
  if (regular && strlen(text.text) == size)
    (void)read_text(key, text.text, size, outcome);
  if (fd >= 0)
    (void)close(fd);
}

/* The temporary file next to it, which is ours alone until it is closed; -1: another process has
 * it, or it cannot be made. */
static int take_beside(const file_name_t *name)
{
  for (int i = 0; i < ATTEMPTS; ++i) {
    int fd = openat(folder_fd, name->beside, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    struct stat mine, there;
    if (fd < 0)
      return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &mine) == 0 &&
        fstatat(folder_fd, name->beside, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        mine.st_ino == there.st_ino && mine.st_dev == there.st_dev)
      return fd;
    (void)close(fd); /* another process writes it, or has renamed it meanwhile */
  }
  return -1;
}

/* What there is becomes what `change` makes of it; false: it stays. */
typedef bool change_fn(outcome_t *outcome, const char *reason);

/* False: another is at it just now. */
static bool update(const outcome_key_t *key, change_fn *change, const char *reason)
{
  if (folder_fd < 0)
    return true;
  WITHOUT_CANCELLATION();
  const file_name_t name = name_of(key);
  outcome_t outcome;
  read_file(key, &name, &outcome);
  if (!change(&outcome, reason))
    return true;
  int fd = take_beside(&name);
  if (fd < 0)
    return false;
  outcome_text_t text;
  read_file(key, &name, &outcome); /* another may have been faster */
  size_t size = change(&outcome, reason) ? write_text(key, &outcome, &text) : 0;
  if (!size || ftruncate(fd, 0) != 0 || !write_without_signals(fd, text.text, size) ||
      renameat(folder_fd, name.beside, folder_fd, name.text) != 0)
    (void)unlinkat(folder_fd, name.beside, 0);
  (void)close(fd);
  return true;
}

/* ---- Outcomes ---- */

void outcomes_find(const outcome_key_t *key, outcome_t *outcome)
{
  *outcome = (outcome_t){.kind = OUTCOME_NONE};
  if (folder_fd < 0)
    return;
  WITHOUT_CANCELLATION();
  const file_name_t name = name_of(key);
  read_file(key, &name, outcome);
}

rawhal_status_t outcomes_check(const outcome_key_t *key, rawhal_error_t *error)
{
  outcome_t outcome;
  outcomes_find(key, &outcome);
  if (outcome.kind == OUTCOME_REFUSED)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "%s (known from before)", outcome.reason);
  if (outcome.kind == OUTCOME_TRIED && outcome.tries >= OUTCOME_TRIES)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "it did not end in %u attempts", outcome.tries);
  return RAWHAL_OK;
}

static bool one_more(outcome_t *outcome, const char *reason)
{
  (void)reason;
  if (outcome->kind == OUTCOME_ACCEPTED || outcome->kind == OUTCOME_REFUSED)
    return false;
  outcome->kind = OUTCOME_TRIED;
  outcome->tries += outcome->tries < 1000;
  return true;
}

void outcomes_try(const outcome_key_t *key)
{
  (void)update(key, one_more, NULL);
}

static bool accept_it(outcome_t *outcome, const char *reason)
{
  (void)reason;
  bool was = outcome->kind == OUTCOME_ACCEPTED;
  *outcome = (outcome_t){.kind = OUTCOME_ACCEPTED};
  return !was;
}

bool outcomes_accept(const outcome_key_t *key)
{
  return update(key, accept_it, NULL);
}

static bool refuse_it(outcome_t *outcome, const char *reason)
{
  if (outcome->kind == OUTCOME_ACCEPTED || outcome->kind == OUTCOME_REFUSED)
    return false;
  *outcome = (outcome_t){.kind = OUTCOME_REFUSED};
  (void)snprintf(outcome->reason, sizeof(outcome->reason), "%s", reason);
  for (char *at = outcome->reason; *at; ++at)
    if (*at == '\n')
      *at = ' ';
  return true;
}

void outcomes_refuse(const outcome_key_t *key, const char *reason)
{
  (void)update(key, refuse_it, reason);
}
