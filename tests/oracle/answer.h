// ROCr's answer to an object that rawhal calls loadable, held against what rawhal knows of it: it
// is accepted with the same facts, or refused for one of the reasons that hsaco.h lists.
#ifndef TESTS_ORACLE_ANSWER_H
#define TESTS_ORACLE_ANSWER_H

#include <string>

#include "rocr.h"

struct Answer {
  enum Kind {
    kAccepted,
    kOtherTarget, // the object is not for the device
    kTooNew,      // it uses what this version of the runtime does not know
    kExternal,    // it refers to variables that must be supplied first, which is not done here
    kUnexplained, // refused for another reason, or accepted where it should not be: a defect
    kDisagrees,   // accepted, but with other facts than rawhal's: a defect
    kNotLoadable, // rawhal refuses it: ROCr was not asked
    kMissing,     // no runtime here
    kKinds
  };
  Kind kind = kMissing;
  Rocr::Step step = Rocr::kReader; // where ROCr refused
  int status = 0;

  bool is_sound() const { return kind < kUnexplained; }
  int packed() const { return kind << 20 | step << 16 | status; }
  static Answer unpack(int packed);
  std::string text() const;
};

const char *name_of(Answer::Kind kind);

// Crashes where ROCr does: for child processes. Complaints, a line each, for the defects.
Answer ask_rocr(const std::string &bytes, std::string &complaints);

// The same of an object that rawhal opens but does not call loadable.
Answer ask_rocr_all_the_same(const std::string &bytes, std::string &complaints);

#endif
