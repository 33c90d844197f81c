// What a core file shows, as lines that dbgapi_list.c prints, too: what ROCm's debugger library finds in it.
#ifndef TESTS_DEBUG_LISTING_H
#define TESTS_DEBUG_LISTING_H

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "debug/core/file.h"
#include "debug/core/walk.h"
}

namespace listing {

using Lines = std::vector<std::string>;

template <typename... Parts> std::string format(const char *form, Parts... parts)
{
  char text[256];
  snprintf(text, sizeof text, form, parts...);
  return text;
}

struct Walked {
  const core_view_t *view;
  Lines lines;
  std::vector<walk_queue_t> queues;
  std::vector<std::string> dispatches;
};

inline std::string words(const core_view_t &view, uint64_t address, size_t size)
{
  std::vector<uint32_t> all(size / 4);
  std::string text = core_view_read(&view, address, all.data(), size) ? "" : " unreadable";
  for (const uint32_t word : all)
    text += format(" %08x", word);
  return text;
}

inline bool add_wave(void *to, const walk_wave_t *wave)
{
  auto *walked = static_cast<Walked *>(to);
  const uint32_t queue = walked->queues.back().entry.id;
  const auto word = [&](uint32_t at) { return static_cast<unsigned long long>(at); };
  if (wave->placed && wave->first) {
    const std::string line = format("dispatch %u.%llu kernel %llx kernarg %llx", queue,
                                    static_cast<unsigned long long>(wave->packet),
                                    static_cast<unsigned long long>(wave->kernel),
                                    static_cast<unsigned long long>(wave->kernargs));
    if (std::find(walked->lines.begin(), walked->lines.end(), line) == walked->lines.end())
      walked->lines.push_back(line);
  }
  const std::string name =
      format("wave %u.%llu.%u.%u.%u.%u", queue, static_cast<unsigned long long>(wave->packet),
             wave->group[0], wave->group[1], wave->group[2], wave->index);
  walked->lines.push_back(name + format(" reason %x pc %llx exec %llx", wave->reason,
                                        static_cast<unsigned long long>(wave->pc),
                                        static_cast<unsigned long long>(wave->exec)));
  for (uint32_t i = 0; i < 102; ++i)
    walked->lines.push_back(name + format(" s%u %08llx", i, word(wave->sgprs[i])));
  walked->lines.push_back(name + format(" vcc %08x %08x", wave->sgprs[106], wave->sgprs[107]));
  walked->lines.push_back(name + format(" m0 %08x", wave->hwregs[HWREG_M0]));
  walked->lines.push_back(name + format(" mode %08x", wave->hwregs[HWREG_MODE]));
  walked->lines.push_back(name + format(" trapsts %08x", wave->hwregs[HWREG_TRAPSTS]));
  for (uint32_t i = 0; i < wave->vgprs; ++i)
    walked->lines.push_back(name + format(" v%u", i) +
                            words(*walked->view, wave->vgprs_at + 256 * i, 256));
  for (uint32_t i = 0; i < wave->agprs; ++i)
    walked->lines.push_back(name + format(" a%u", i) +
                            words(*walked->view, wave->agprs_at + 256 * i, 256));
  for (uint32_t at = 0; at < wave->lds_bytes; at += 256)
    walked->lines.push_back(name + format(" lds%x", at) +
                            words(*walked->view, wave->lds_at + at, 256));
  if (core_view_has(walked->view, wave->scratch, 1024, nullptr) == 1024)
    walked->lines.push_back(name + " private" + words(*walked->view, wave->scratch, 1024));
  return true;
}

// As our reader of the debugger's rules has it. Sorted; empty where it would not attach.
inline Lines of(const core_view_t &view)
{
  Walked walked = {&view, {}, {}, {}};
  walk_visitor_t visitor = {};
  visitor.context = &walked;
  visitor.agent = [](void *to, const walk_agent_t *agent) {
    static_cast<Walked *>(to)->lines.push_back(
        format("agent %s", agent->chip ? agent->chip->name : "none"));
    return true;
  };
  visitor.object = [](void *to, const walk_object_t *object) {
    static_cast<Walked *>(to)->lines.push_back(
        format("object %llx at %llx size %llu", static_cast<unsigned long long>(object->delta),
               static_cast<unsigned long long>(object->address),
               static_cast<unsigned long long>(object->size)));
    return true;
  };
  visitor.queue = [](void *to, const walk_queue_t *queue) {
    auto *all = static_cast<Walked *>(to);
    all->queues.push_back(*queue);
    all->lines.push_back(format("queue %u packets %llu to %llu", queue->entry.id,
                                static_cast<unsigned long long>(queue->read_id),
                                static_cast<unsigned long long>(queue->write_id)));
    return true;
  };
  visitor.wave = add_wave;
  walk_finding_t finding = {};
  if (!core_walk(&view, &visitor, &finding))
    return {};
  std::sort(walked.lines.begin(), walked.lines.end());
  return walked.lines;
}

// What the program that RAWHAL_DBGAPI_CLIENT names prints of a file, sorted; what is no such line comes first in `text`.
inline Lines by_debugger(const std::string &path, std::string *text)
{
  Lines lines;
  std::string line;
  FILE *out =
      popen((std::string(getenv("RAWHAL_DBGAPI_CLIENT")) + " " + path + " 2>&1").c_str(), "r");
  for (int byte; out && (byte = fgetc(out)) != EOF;)
    if (byte != '\n') {
      line += static_cast<char>(byte);
    } else {
      const bool ours = line.compare(0, 6, "agent ") == 0 || line.compare(0, 7, "object ") == 0 ||
                        line.compare(0, 6, "queue ") == 0 || line.compare(0, 9, "dispatch ") == 0 ||
                        line.compare(0, 5, "wave ") == 0;
      if (ours)
        lines.push_back(line);
      else
        *text += line + "\n";
      line.clear();
    }
  const int status = out ? pclose(out) : -1;
  if (status)
    *text += format("it ended with %d\n", status);
  std::sort(lines.begin(), lines.end());
  return lines;
}

// Of both, what only one has; "" where they are the same.
inline std::string difference(const Lines &ours, const Lines &theirs)
{
  Lines only_ours, only_theirs;
  std::set_difference(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                      std::back_inserter(only_ours));
  std::set_difference(theirs.begin(), theirs.end(), ours.begin(), ours.end(),
                      std::back_inserter(only_theirs));
  std::string text;
  for (size_t i = 0; i < only_ours.size() && i < 8; ++i)
    text += "ours:   " + only_ours[i] + "\n";
  for (size_t i = 0; i < only_theirs.size() && i < 8; ++i)
    text += "theirs: " + only_theirs[i] + "\n";
  return text;
}

} // namespace listing

#endif
