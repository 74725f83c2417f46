"""A Kafka broker of one's own in KRaft mode, on this machine alone: started, stopped, and started again."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType

__all__ = ["Broker"]

_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=true
num.partitions=2
"""
_JAVA = ("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"


class Broker:
    """``with Broker(jars, folder) as broker:`` its ``address`` takes records once it has started."""

    def __init__(self, jars: Path, folder: Path) -> None:
        self._folder, self._jars = folder, f"{jars}/*"
        self._port, controller = _free_port(), _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self._settings = folder / "server.properties"
        self._settings.write_text(_SETTINGS.format(port=self._port, controller=controller, folder=folder))
        options = ["format", "-t", _CLUSTER, "-c", str(self._settings), "--ignore-formatted"]
        command = [*_JAVA, "-cp", self._jars, "kafka.tools.StorageTool", *options]
        subprocess.run(command, check=True, capture_output=True, timeout=60)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self, seconds: float = 60) -> None:
        """Start, or start again with the records that it has; until it answers."""
        with (self._folder / "broker.log").open("ab") as log:
            command = [*_JAVA, "-cp", self._jars, "kafka.Kafka", str(self._settings)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        until = time.monotonic() + seconds
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                said = (self._folder / "broker.log").read_text()[-800:]
                raise RuntimeError(f"the broker does not start: {said}")
            time.sleep(0.2)

    def stop(self, with_signal: int = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(with_signal)
            self._process.wait(30)
            self._process = None

    def __enter__(self) -> Broker:
        self.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop(signal.SIGKILL)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self._port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
