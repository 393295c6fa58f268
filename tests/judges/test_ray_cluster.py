"""A real Ray cluster of two nodes on this machine: workers and drivers die, and nothing stored is lost."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fair_judge import write_lines
from rageval.judges.store import Store
from stub_engine import DIES, LOG, SECONDS, FairEngine, many_answers
from test_judge_command import labels

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform == "win32", reason="no Ray cluster there"),
    pytest.mark.filterwarnings(
        "ignore::pytest.PytestUnraisableExceptionWarning"
    ),  # files that Ray leaves open
]
COUNT = 400
HERE = Path(__file__).parent
CLIENT = "STUB_CLIENT"  # where clients of the cluster connect
BATCHES_UNDER_WAY = 8  # four for each of two workers


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a driver: two nodes of one worker each, which find the engine."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    folder = tmp_path_factory.mktemp("cluster")
    environment = {
        "PYTHONPATH": os.pathsep.join(map(str, (HERE, HERE.parent))),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "disabled",  # a client has no token
        "OPENAI_API_KEY": "none",
        DIES: str(folder / "dies"),
        LOG: str(folder / "log"),
        SECONDS: "0.004",
    }
    before = dict(os.environ)
    os.environ.update(environment)
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    head = {"num_cpus": 0, "object_store_memory": 10**8, "ray_client_server_port": port}
    nodes = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        nodes.add_node(num_cpus=1, object_store_memory=10**8)
    try:
        host = nodes.address.partition(":")[0]
        yield {**os.environ, "RAY_ADDRESS": nodes.address, CLIENT: f"ray://{host}:{port}"}
    finally:
        nodes.shutdown()
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: dict[str, str]) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines(many=many_answers(COUNT))
    Path(cluster[LOG]).write_text("")


def driver(environment: dict[str, str], address: str = "ray") -> subprocess.Popen[bytes]:
    engine = ("--engine", address, "--engine-class", "stub_engine:FairEngine")
    words = ("judge", "crag", "many", "--judge", "vllm:m", *engine, "--store", "store.sqlite", "-o", "judged")
    return subprocess.Popen([sys.executable, "-m", "rageval", *words], env=environment)


def computed(environment: dict[str, str]) -> int:
    return len(Path(environment[LOG]).read_text().splitlines())


def stored() -> int:
    if not Path("store.sqlite").exists():
        return 0
    with Store("store.sqlite", read_only=True) as store:
        return int(store.stats()["replies"])


def test_a_worker_that_dies_loses_no_reply(cluster: dict[str, str]) -> None:
    Path(cluster[DIES]).write_text("")
    assert driver(cluster).wait(300) == 0
    assert not Path(cluster[DIES]).exists()
    assert len(labels()) == COUNT
    assert stored() == COUNT + 6
    # The batch that it had computed and not handed over was computed once more, and no other one.
    assert COUNT + 6 < computed(cluster) <= COUNT + 6 + FairEngine.batch_size


def test_a_client_of_the_cluster_drives_it(cluster: dict[str, str]) -> None:
    process = driver({**cluster, "RAY_ADDRESS": ""}, cluster[CLIENT])
    assert process.wait(300) == 0
    assert len(labels()) == COUNT
    assert computed(cluster) == stored() == COUNT + 6


def test_a_driver_that_dies_loses_what_is_under_way(cluster: dict[str, str]) -> None:
    process = driver(cluster)
    until = time.monotonic() + 200
    while stored() < COUNT // 4 and time.monotonic() < until:
        time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = stored()
    assert COUNT // 4 <= before < COUNT
    time.sleep(2)  # the workers of a dead driver end
    assert driver(cluster).wait(300) == 0
    assert len(labels()) == COUNT
    assert stored() == COUNT + 6
    twice = computed(cluster) - COUNT - 6
    assert 0 <= twice <= BATCHES_UNDER_WAY * FairEngine.batch_size
