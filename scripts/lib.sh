# shellcheck shell=bash
# Shared by scripts/*; sourced, never run. Sets ROOT, and works from there.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
JOBS=$(nproc)
PYTHON=/usr/bin/python3
cd "$ROOT" || exit 1

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

# The packages of the given groups that are not installed, one a line.
missing_packages() {
  local group package
  while read -r group package; do
    [[ " $* " == *" $group "* ]] || continue
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      echo "$package"
  done < <(grep -Ev '^(#|$)' scripts/packages.txt)
}

# Installs what is missing of the given groups (build, test); touches nothing when all is there.
install_packages() {
  command -v apt-get >/dev/null || {
    echo "this script installs packages on Debian 12; elsewhere install scripts/packages.txt" \
         "by hand and build with: cmake --preset release && cmake --build --preset release"
    return 1
  }
  local missing=() as_root=()
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if (($(id -u) != 0)); then
    command -v sudo >/dev/null || {
      echo "need root or sudo to install: ${missing[*]}"
      return 1
    }
    as_root=(sudo)
  fi
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update &&
    "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

# Makes build/venv from tests/requirements.txt, once for each content of that file.
make_venv() {
  local stamp=build/venv/requirements.txt
  cmp -s tests/requirements.txt "$stamp" && return 0
  rm -rf build/venv
  "$PYTHON" -m venv build/venv &&
    build/venv/bin/pip install --quiet --disable-pip-version-check -r tests/requirements.txt &&
    cp tests/requirements.txt "$stamp"
}

# build_preset PRESET [TARGET...]: configures and builds. Where the test packages are not installed,
# as after scripts/demo on a fresh machine, the tests are left out of the configuration.
build_preset() {
  local preset=$1 tests=()
  shift
  [[ -z $(missing_packages test) ]] || tests=(-DSTOKER_BUILD_TESTS=OFF)
  cmake --preset "$preset" "${tests[@]}" &&
    cmake --build --preset "$preset" -j "$JOBS" ${1:+--target "$@"}
}
