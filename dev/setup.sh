#!/usr/bin/env bash
# Make this machine ready, and touch nothing that is ready already.
# usage: dev/setup.sh [run|test|python]
#   run     Python environment, RabbitMQ, Redis or Valkey (the default)
#   test    these and PostgreSQL
#   python  the Python environment alone
# AMQP_URL, REDIS_URL, DATABASE_URL: a service that has a URL is not installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=${1:-run}
[[ $mode =~ ^(run|test|python)$ ]] || { sed -n '2,7s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }

. dev/setup_python.sh
. dev/setup_packages.sh

missing=($(missing_packages "$mode"))
if ((${#missing[@]})); then install_packages "${missing[@]}"; fi
make_environment
