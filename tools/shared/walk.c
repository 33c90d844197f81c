#include "tools/shared/walk.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/shared/file.h"
#include "tools/shared/progress.h"
#include "tools/shared/tool.h"

bool walk_passes_over(bool named, const rawhal_error_t *error)
{
  return !named && (error->status == RAWHAL_NOT_FOUND || error->status == RAWHAL_UNSUPPORTED ||
                    error->status == RAWHAL_MALFORMED);
}

void walk_refuse(walk_t *walk, const char *path, const rawhal_error_t *error)
{
  rawhal_error_t said;
  ++walk->refused;
  (void)tool_refuse(&said, error->status, "%.100s: %.300s", path, error->message);
  (void)tool_fail(walk->command, &said);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
  return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void call(walk_t *walk, const char *path, bool named)
{
  progress_show(walk->command, "file", ++walk->files, 0, path);
  walk->file(walk->context, path, named);
}

static bool walk_path(walk_t *walk, char *path, rawhal_error_t *error)
{
  char *const paths[] = {path, NULL};
  if (tool_stream_of(path) >= 0) {
    call(walk, path, true);
    return true;
  }
  FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
  if (!tree)
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "%s", strerror(errno));
  for (FTSENT *entry; (entry = fts_read(tree));) {
    bool named = entry->fts_level == FTS_ROOTLEVEL;
    if (entry->fts_info == FTS_F || (named && entry->fts_info == FTS_DEFAULT)) {
      call(walk, entry->fts_path, named);
    } else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
               entry->fts_info == FTS_NS) {
      (void)tool_refuse(error, RAWHAL_NOT_FOUND, "%s", strerror(entry->fts_errno));
      walk_refuse(walk, entry->fts_path, error);
    }
  }
  fts_close(tree);
  return true;
}

bool walk_paths(walk_t *walk, char **paths, int count, rawhal_error_t *error)
{
  bool done = true;
  for (int i = 0; i < count && done; ++i)
    done = walk_path(walk, paths[i], error);
  return done;
}
