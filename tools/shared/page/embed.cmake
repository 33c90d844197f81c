# Makes a C file of a page: cmake -DNAME=page_parts -DPAGE=page.html -DSTYLES=page.css -DSCRIPTS=text.js,page.js
#   -DOUTPUT=page_text.c -P embed.cmake
#
# The page's own parts are the same bytes in each page, so that the policy in it can name its style and its program by
# their hashes: nothing else runs.
cmake_minimum_required(VERSION 3.22)

# The base64 of a SHA-256, as Content-Security-Policy wants it.
function(hash_of text result)
  string(SHA256 hex "${text}")
  set(letters "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(APPEND hex "00") # 32 bytes are 11 groups of three but for one byte
  set(text "")
  foreach(group RANGE 10)
    math(EXPR at "${group} * 6")
    string(SUBSTRING "${hex}" ${at} 6 digits)
    foreach(shift 18 12 6 0)
      math(EXPR letter "(0x${digits} >> ${shift}) & 63")
      string(SUBSTRING "${letters}" ${letter} 1 letter)
      string(APPEND text "${letter}")
    endforeach()
  endforeach()
  string(SUBSTRING "${text}" 0 43 text)
  set(${result} "sha256-${text}=" PARENT_SCOPE)
endfunction()

# `text` as an array of bytes.
function(array_of name text result)
  string(HEX "${text}" bytes)
  string(REGEX REPLACE "(................................................)" "\\1\n " bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  set(${result} "static const unsigned char ${name}[] = {\n ${bytes}};\n"
    PARENT_SCOPE)
endfunction()

# What stands in files, one after the other; between their names are commas.
function(read_all names result)
  set(all "")
  string(REPLACE "," ";" names "${names}")
  foreach(name IN LISTS names)
    file(READ "${name}" text)
    string(APPEND all "${text}")
  endforeach()
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

file(READ "${PAGE}" page)
read_all("${STYLES}" style)
read_all("${SCRIPTS}" script)
hash_of("${style}" style_hash)
hash_of("${script}" script_hash)
string(REPLACE "@STYLE_HASH@" "${style_hash}" page "${page}")
string(REPLACE "@SCRIPT_HASH@" "${script_hash}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(FIND "${page}" "@DATA@" split)
string(SUBSTRING "${page}" 0 ${split} head)
math(EXPR split "${split} + 6")
string(SUBSTRING "${page}" ${split} -1 tail)
array_of(head "${head}" head)
array_of(tail "${tail}" tail)
file(WRITE "${OUTPUT}" "/* Made by tools/shared/page/embed.cmake. */
#include \"tools/shared/page/page.h\"

${head}${tail}const page_parts_t ${NAME} = {head, sizeof(head), tail, sizeof(tail)};
")
