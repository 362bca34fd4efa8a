# Debian packages that are missing, installed without starting or enabling any service. Sourced by setup.sh.

# Print the packages that mode $1 (run, test, python) still needs, one a line.
missing_packages() {
  usable_python >/dev/null || printf '%s\n' python3 python3-venv
  [[ $1 == python ]] && return
  if [[ -z ${AMQP_URL:-}${CLOUDAMQP_URL:-} && ! -x /usr/lib/rabbitmq/bin/rabbitmq-server ]]; then
    echo rabbitmq-server
  fi
  if [[ -z ${REDIS_URL:-} ]] && ! command -v redis-server valkey-server >/dev/null; then
    echo redis-server
  fi
  if [[ $1 == test && -z ${DATABASE_URL:-} ]] && ! compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null; then
    echo postgresql
  fi
}

# Install the packages by apt, or say how to do without.
install_packages() {
  command -v apt-get >/dev/null || fail_without_packages "there is no apt-get here" "$@"
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail_without_packages "you are not root and there is no sudo" "$@"
    sudo -v || fail_without_packages "sudo refuses you" "$@"
  fi
  mkdir -p .mailward
  local log=.mailward/apt.log
  echo "setup: installing $* by apt (log: $log)"
  if ! as_root bash dev/apt_install.sh "$@" >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    fail_without_packages "apt-get failed as shown above (whole log: $log)" "$@"
  fi
}

as_root() { if ((EUID == 0)); then "$@"; else sudo "$@"; fi; }

fail_without_packages() {
  local why=$1
  shift
  echo "setup: missing on this machine: $*; they cannot be installed: $why.
  With root on Debian 12 or newer:  apt-get install $*
  Services that run elsewhere:      set AMQP_URL (RabbitMQ 3.10 or newer), REDIS_URL (Redis 7 or Valkey) and, for
                                    PostgreSQL, DATABASE_URL; what has a URL need not be installed
  Python 3.11 or newer elsewhere:   https://www.python.org/downloads/
  With Docker, macOS included:      docker compose up --detach; the three URLs to set are at the top of compose.yaml" >&2
  exit 1
}
