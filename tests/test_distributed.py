"""Several processes give the update that one gives."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")

SCRIPT = Path(__file__).parent / "distributed_update.py"


def updated_weights(model: Path, out: Path, processes: int) -> dict[str, torch.Tensor]:
    """Weights after one update on that many processes."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    run = subprocess.run([*launch, str(SCRIPT), str(model), str(out)], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    return torch.load(out)


def test_two_processes_make_the_update_of_one(tiny_vlm_path, tmp_path):
    from transformers import AutoModelForImageTextToText

    before = AutoModelForImageTextToText.from_pretrained(tiny_vlm_path).state_dict()
    one = updated_weights(tiny_vlm_path, tmp_path / "one.pt", 1)
    two = updated_weights(tiny_vlm_path, tmp_path / "two.pt", 2)
    assert any(not torch.equal(before[name], one[name]) for name in one)
    for name, weight in one.items():
        torch.testing.assert_close(two[name], weight, rtol=1e-3, atol=1e-5, msg=name)
