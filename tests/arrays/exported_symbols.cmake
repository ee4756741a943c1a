# Compares three lists: the functions that a header declares, the names in a library's map, the
# symbols that the library shows, with their versions.
cmake_minimum_required(VERSION 3.25)

function(sorted_list result)
  list(REMOVE_DUPLICATES ARGN)
  list(SORT ARGN)
  set(${result} "${ARGN}" PARENT_SCOPE)
endfunction()

file(READ "${HEADER}" text)
string(REGEX REPLACE "/\\*[^*]*\\*+([^/*][^*]*\\*+)*/" "" text "${text}")  # comments
string(REGEX MATCHALL "weir_[a-z_]+\\(" declared "${text}")
list(TRANSFORM declared REPLACE "\\(" "")
sorted_list(declared ${declared})

file(READ "${MAP}" text)
string(REGEX MATCHALL "WEIR_[A-Z_]*[0-9.]+ {" versions "${text}")
list(TRANSFORM versions REPLACE " {" "")
string(REGEX MATCHALL "    weir_[a-z_]+" mapped "${text}")
list(TRANSFORM mapped STRIP)
sorted_list(mapped ${mapped})

execute_process(COMMAND ${NM} -D --defined-only "${LIBRARY}" OUTPUT_VARIABLE text
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+\n" shown "${text}")
list(TRANSFORM shown STRIP)
list(REMOVE_ITEM shown ${versions})
foreach(symbol IN LISTS shown)
  if(NOT symbol MATCHES "^weir_[a-z_]+@@WEIR_[A-Z_]*[0-9.]+$")
    message(SEND_ERROR "${LIBRARY} shows ${symbol}, which is none of its interface")
  endif()
endforeach()
list(TRANSFORM shown REPLACE "@.*" "")
sorted_list(shown ${shown})

foreach(pair IN ITEMS "mapped;its map" "shown;the library")
  list(GET pair 0 names)
  list(GET pair 1 where)
  if(NOT "${${names}}" STREQUAL "${declared}")
    message(SEND_ERROR "${HEADER} declares\n  ${declared}\nbut ${where} has\n  ${${names}}")
  endif()
endforeach()
list(LENGTH shown count)
message("${count} functions")
