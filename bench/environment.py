"""The peers' own Python environments, apart from the product's: their libraries must never become ours."""

import hashlib
import shutil
import subprocess
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / ".venv-bench"  # git-ignored


def peer_python(requirements: Path) -> Path:
    """The Python of an environment that holds exactly `requirements` (a pip file), made on first use.

    One environment per requirements file; a changed file gets a new one. Raises subprocess.CalledProcessError where
    pip cannot install.
    """
    directory = ENVIRONMENTS / requirements.stem
    python, stamp = directory / "bin" / "python", directory / "requirements.sha256"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted and python.exists():
        return python
    print(f"making the peers' environment {directory.relative_to(ROOT)} ...", flush=True)
    shutil.rmtree(directory, ignore_errors=True)
    venv.create(directory, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--requirement", requirements], check=True)
    stamp.write_text(wanted)
    return python
