"""A private RabbitMQ node (3.10 to 4.x), with its own epmd, that leaves an installed and running one alone."""

import shutil
import socket
import subprocess
from pathlib import Path

from dev.ports import LOOPBACK
from dev.server import Server, ServerFailed, ServerMissing

# The scripts behind Debian's wrappers in /usr/sbin, which insist on becoming the user rabbitmq.
SCRIPTS = Path("/usr/lib/rabbitmq/bin")
NODE = "mailward@localhost"  # need not be unique: every node has an epmd of its own
PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"
METHOD_FRAME = b"\x01"  # the broker's answer begins with it (Connection.Start); a refusal begins with "AMQP"

# Wait this long between declaring a quorum queue and kill(): its name reaches the disk only after the declaration was
# answered (measured on 3.10.8: killed after 0.7 s, the queue exists and all operations on it time out; after 2 s not).
QUORUM_QUEUE_SETTLES_S = 2.0

# Fixed amounts instead of shares of the machine, so that a small or full one raises no alarm that blocks publishers.
CONFIGURATION = """\
listeners.tcp.1 = {host}:{port}
vm_memory_high_watermark.absolute = {memory}
disk_free_limit.absolute = 50MB
cluster_name = mailward
"""


class RabbitMQ(Server):
    """A broker with the vhost / and guest:guest; `memory` is the amount above which it blocks publishers."""

    name = "RabbitMQ"
    variable = "AMQP_URL"
    port_count = 3

    def __init__(self, directory: Path, memory: str = "1GB") -> None:
        super().__init__(directory)
        self._memory = memory

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@{LOOPBACK}:{self.port}/%2F"

    def ctl(self, *arguments: str) -> str:
        """Output of `rabbitmqctl` on this node (about a second each); raises ServerFailed with its complaint."""
        command = [str(SCRIPTS / "rabbitmqctl"), "--quiet", *arguments]
        path = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        done = subprocess.run(
            command, env=path | self._environ(), capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode:
            raise ServerFailed(
                f"rabbitmqctl {' '.join(arguments)} failed: {done.stderr.strip() or done.stdout.strip()}"
            )
        return done.stdout

    def _launch(self) -> None:
        epmd = shutil.which("epmd")
        if not epmd or not (SCRIPTS / "rabbitmq-server").exists():
            raise ServerMissing("rabbitmq-server is not installed: `env -u AMQP_URL bash dev/setup.sh` installs it")
        self._configure()
        # Started by us, in the foreground: the one that Erlang would start is a daemon that outlives the node.
        self._spawn([epmd, "-address", LOOPBACK, "-port", str(self.ports[2])], {})
        self._spawn([str(SCRIPTS / "rabbitmq-server")], self._environ())

    def _answers(self) -> bool:
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=1) as connection:
                connection.sendall(PROTOCOL_HEADER)
                return connection.recv(1) == METHOD_FRAME
        except OSError:
            return False

    def _configure(self) -> None:
        configuration = CONFIGURATION.format(host=LOOPBACK, port=self.port, memory=self._memory)
        (self.directory / "rabbitmq.conf").write_text(configuration)
        (self.directory / "conf.d").mkdir(exist_ok=True)
        for empty in ("advanced.config", "enabled_plugins"):
            (self.directory / empty).write_text("[].\n")

    def _environ(self) -> dict[str, str]:
        # Each of these has a default under /etc or /var that belongs to the installed broker.
        here, (amqp_port, distribution_port, epmd_port) = self.directory, self.ports
        return {
            "HOME": str(here),  # the Erlang cookie
            "ERL_EPMD_ADDRESS": LOOPBACK,
            "ERL_EPMD_PORT": str(epmd_port),
            "RABBITMQ_NODENAME": NODE,
            "RABBITMQ_NODE_PORT": str(amqp_port),
            "RABBITMQ_DIST_PORT": str(distribution_port),
            "RABBITMQ_MNESIA_BASE": str(here / "data"),
            "RABBITMQ_LOG_BASE": str(here),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": str(here / "rabbitmq.conf"),
            "RABBITMQ_CONFIG_FILES": str(here / "conf.d"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(here / "advanced.config"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(here / "generated"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(here / "enabled_plugins"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "detached": "1",  # the script replaces itself by the node: signals reach it, and it dies with us
        }
