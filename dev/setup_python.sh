# The Python environment .venv, as requirements-dev.txt locks it. Sourced by setup.sh.

# Print a Python that is new enough and can make environments; fail if there is none.
usable_python() {
  local candidate
  for candidate in python3 /usr/bin/python3 python3.14 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# Make .venv or bring it up to date; nothing to do while the lock file, pyproject.toml and the Python are the same.
make_environment() {
  local python stamp wanted
  if ! .venv/bin/python -c '' 2>/dev/null; then
    python=$(usable_python) || fail_without_python
    echo "setup: making .venv with $("$python" -V)"
    "$python" -m venv --clear .venv
  fi
  stamp=.venv/mailward-setup
  wanted=$(.venv/bin/python -V; cksum requirements-dev.txt pyproject.toml; pwd)
  [[ -e $stamp && $(<"$stamp") == "$wanted" ]] && return
  echo "setup: installing Python packages into .venv"
  if ! { pip_install --require-hashes --requirement requirements-dev.txt && pip_install --no-deps --no-build-isolation --editable .; }; then
    echo "setup: pip could not install the packages of requirements-dev.txt; its own words are above.
  No network, or only a mirror?  Set PIP_INDEX_URL, or index-url in pip.conf, and run this command again.
  A hash that does not match?    requirements-dev.txt and the index differ: git checkout requirements-dev.txt, or make lock." >&2
    return 1
  fi
  echo "$wanted" >"$stamp"
}

pip_install() { .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input "$@"; }

fail_without_python() {
  echo "setup: no Python 3.11 or newer with venv and ensurepip on the PATH.
  Debian 12 or newer, as root:  apt-get install python3 python3-venv
  Elsewhere, macOS included:    https://www.python.org/downloads/, then run this command again" >&2
  exit 1
}
