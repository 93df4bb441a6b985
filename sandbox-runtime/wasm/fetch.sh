#!/usr/bin/env bash
# Downloads the files listed in sources.txt into a folder and verifies them: fetch.sh FOLDER
#
# The files come from the Debian mirrors in this machine's apt configuration. A file with the right checksum is kept, so
# you can add files by hand if the mirrors have dropped a version.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mkdir -p "$1" && cd "$1" && pwd)

mapfile -t mirrors < <(apt-get indextargets --format '$(REPO_URI)' 'Component: main' | sort -u)

is_right() { # FILE SHA256
  [[ -f $1 ]] && sha256sum --check --status <<<"$2  $1"
}

fetch() { # PATH_IN_POOL FILE SHA256
  local mirror
  for mirror in "${mirrors[@]}"; do
    curl --silent --fail --location --max-time 300 --output "$2.part" "${mirror%/}/$1" || continue
    if is_right "$2.part" "$3"; then
      mv "$2.part" "$2"
      return
    fi
    echo "fetch.sh: $1: a mirror has a file with a different checksum" >&2
  done
  rm -f "$2.part"
  echo "fetch.sh: $1 is not on any apt mirror; put the file with SHA-256 $3 into $folder" >&2
  return 1
}

while read -r _ _ sha256 path; do
  file=$folder/${path##*/}
  is_right "$file" "$sha256" || fetch "$path" "$file" "$sha256"
done < <(grep --invert-match '^#' "$here/sources.txt")
