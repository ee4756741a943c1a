#!/usr/bin/env bash
# Compiles a batch of sources as one, or, where they do not go together, in as few parts as they do.
#
# usage: compile_batch.sh COMPILER ARGUMENT... -o OBJECT ... SOURCE
#
# The launcher of a build with WEIR_IN_BATCHES. CMake's unity build makes a SOURCE that includes
# sixteen of a target's files, so that headers are read once for all of them. Two files may each
# have something of the same name in an anonymous namespace; that is allowed and stays so: the batch
# is divided where the compiler stops, and the parts' objects are linked into OBJECT. Every file is
# in the end compiled with the flags it was given; alone among others it may shadow a neighbour's
# name.
set -uo pipefail

command=("$@")
object='' source='' dependencies=''
for ((i = 1; i < $#; i++)); do
  case ${command[i]} in
    -o) object=${command[i + 1]} ;;
    -MF) dependencies=${command[i + 1]} ;;
    */Unity/unity_*) source=${command[i]} && source_at=$i ;;
  esac
done
[[ -n $source && -n $object ]] || exec "${command[@]}"

# compile_one SOURCE OBJECT OPTION...: the command given, for another source and object.
compile_one() {
  local words=("${command[@]}") i
  words[source_at]=$1
  for ((i = 1; i < ${#words[@]}; i++)); do
    case ${words[i - 1]} in
      -o) words[i]=$2 ;;
      -MF) words[i]=$2.d ;;
    esac
  done
  "${words[@]}" "${@:3}"
}

# compile_files FILE...: objects of these files, appended to `parts`.
parts=()
compile_files() {
  local files=("$@") part=$object.part${#parts[@]} at i said
  if (($# == 1)); then
    compile_one "$1" "$part.o" || return
    parts+=("$part.o")
    return
  fi
  # Paths are relative, so that the compiler cache serves other copies of the sources, too.
  realpath --relative-to="$(dirname "$part")" "$@" | sed 's/.*/#include "&"/' >"$part.cpp"
  if said=$(compile_one "$part.cpp" "$part.o" -Wno-shadow -Wfatal-errors 2>&1); then
    [[ -z $said ]] || printf '%s\n' "$said" >&2
    parts+=("$part.o")
    return
  fi
  # What failed is compiled once more in parts: seconds that a better name would have saved.
  printf 'compile_batch: divided at %s\n' "$(grep -m 1 -E '(error|sorry)' <<<"$said")" >&2
  # Where the compiler stopped stands a file that does not go with those before it.
  at=$(($# / 2))
  said=$(grep -m 1 -E '(error|sorry)' <<<"$said")
  for ((i = 1; i < $#; i++)); do
    [[ $said != "${files[i]}":* ]] || at=$i
  done
  compile_files "${files[@]:0:at}" && compile_files "${files[@]:at}"
}

mapfile -t batch < <(sed -n 's/^#include "\(.*\)"$/\1/p' "$source")
compile_files "${batch[@]}"
result=$?
if ((result == 0)); then
  if ((${#parts[@]} == 1)); then
    mv "${parts[0]}" "$object"
  else
    ld -r -o "$object" "${parts[@]}"
  fi
  result=$?
  # The parts' own sources go now; a build must not miss them.
  [[ -z $dependencies ]] ||
    cat "${parts[@]/%/.d}" | sed 's|[^ ]*\.part[0-9]*\.cpp||g' >"$dependencies"
fi
rm -f "$object".part*
exit "$result"
