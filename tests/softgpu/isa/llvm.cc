#include "tests/softgpu/isa/llvm.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace llvm {
namespace {

// Output of llvm-mc on `input`; `crashed` when a signal ended it.
std::string run(const Target &target, const std::string &arguments, const std::string &input,
                bool *crashed)
{
  char path[] = "/tmp/rawhal-isa-XXXXXX";
  int file = mkstemp(path);
  if (file < 0)
    return "";
  close(file);
  std::ofstream(path) << input;
  std::string command = "llvm-mc-" + target.version +
                        " --triple=amdgcn-amd-amdhsa --mcpu=" + target.chip +
                        " --mattr=" + target.attributes + " " + arguments + " " + path +
                        " 2>/dev/null",
              out;
  FILE *pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (size_t n; pipe && (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    out.append(buffer, n);
  int status = pipe ? pclose(pipe) : -1;
  *crashed = status > 0xff00 / 2 && (status >> 8) >= 128;
  unlink(path);
  return out;
}

void append_block(std::ostringstream &out, const std::vector<uint32_t> &words)
{
  char text[8];
  out << "[";
  for (uint32_t word : words)
    for (int byte = 0; byte < 4; ++byte) {
      snprintf(text, sizeof text, "0x%02x ", word >> 8 * byte & 255);
      out << text;
    }
  out << "]\n";
}

void replace_all(std::string &text, const std::string &from, const std::string &to)
{
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// What LLVM 22 prints of literals that an inline constant could stand for: lit(0xffffffff).
void unwrap_literals(std::string &text)
{
  for (size_t at = 0; (at = text.find("lit(", at)) != std::string::npos;) {
    if (at && text[at - 1] == '-') { // as it negates other constants
      text.replace(at - 1, strlen("-lit("), "neg(");
      continue;
    }
    text.erase(at, strlen("lit("));
    text.erase(text.find(')', at), 1);
  }
}

// Without encoding suffix and repeated spaces; 1/(2 pi), which LLVM prints in the operand's precision, in 8 digits.
std::string normalise(std::string text)
{
  std::istringstream words(text);
  std::string mnemonic, out;
  words >> mnemonic;
  for (const char *suffix : {"_e32", "_e64", "_sdwa", "_dpp8", "_dpp", "_e64"})
    if (mnemonic.size() > strlen(suffix) &&
        !mnemonic.compare(mnemonic.size() - strlen(suffix), std::string::npos, suffix))
      mnemonic.erase(mnemonic.size() - strlen(suffix));
  out = mnemonic;
  for (std::string word; words >> word;)
    out += " " + word;
  replace_all(out, "0.15915494309189532", "0.15915494");
  replace_all(out, "0.1592", "0.15915494");
  unwrap_literals(out);
  return out;
}

unsigned encoded_bytes(const std::string &comment)
{
  unsigned count = 0;
  for (size_t at = 0; (at = comment.find("0x", at)) != std::string::npos; ++at)
    ++count;
  return count;
}

} // namespace

bool available(const std::string &version)
{
  return system(("llvm-mc-" + version + " --version >/dev/null 2>&1").c_str()) == 0;
}

std::vector<Disassembled> disassemble(const Target &target,
                                      const std::vector<std::vector<uint32_t>> &blocks)
{
  // s_mov_b32 s0, literal: says which block follows
  const uint32_t marker = 0xbe8000ff | target.s_mov_b32 << 8;
  std::ostringstream input;
  for (size_t i = 0; i < blocks.size(); ++i) {
    append_block(input, {marker, uint32_t(0x40000000 + i)});
    append_block(input, blocks[i]);
  }
  bool crashed = false;
  std::string out = run(target, "--disassemble --show-encoding", input.str(), &crashed);
  std::vector<Disassembled> results(blocks.size());
  if (crashed && blocks.size() > 1) {
    auto middle = blocks.begin() + blocks.size() / 2;
    results = disassemble(target, {blocks.begin(), middle});
    auto rest = disassemble(target, {middle, blocks.end()});
    results.insert(results.end(), rest.begin(), rest.end());
    return results;
  }
  std::istringstream lines(out);
  size_t current = blocks.size();
  for (std::string line; std::getline(lines, line);) {
    unsigned index;
    size_t comment = line.find(';');
    if (sscanf(line.c_str(), " s_mov_b32 s0, 0x4%7x", &index) == 1 &&
        line.find("0x4") != std::string::npos)
      current = index;
    else if (current < blocks.size() && comment != std::string::npos && !results[current].valid) {
      std::string text = normalise(line.substr(0, comment));
      results[current] = {text.find("/*") == std::string::npos, text,
                          encoded_bytes(line.substr(comment))};
    }
  }
  return results;
}

std::vector<uint32_t> assemble(const std::string &chip, const std::string &text)
{
  bool crashed = false;
  std::string out = run({chip}, "--show-encoding", text + "\n", &crashed);
  std::vector<uint32_t> words;
  std::vector<unsigned> bytes;
  for (size_t at = out.find("encoding:");
       at != std::string::npos && (at = out.find("0x", at)) != std::string::npos; ++at)
    bytes.push_back(unsigned(strtoul(out.c_str() + at, nullptr, 16)));
  for (size_t i = 0; i + 3 < bytes.size(); i += 4)
    words.push_back(bytes[i] | bytes[i + 1] << 8 | bytes[i + 2] << 16 | bytes[i + 3] << 24);
  return words;
}

} // namespace llvm
