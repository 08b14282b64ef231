"""Where vLLM and its libraries put caches: in the user's home, or where there is none in a folder that goes away."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, sys
from headworks.server.engine.settings import VllmSettings
from headworks.server.engine.vllm_local import _process_environment
if sys.argv[1] == "nobody":
    os.environ.pop("HOME", None)
    os.setuid(1234567)
elif sys.argv[1]:
    os.environ["HOME"] = sys.argv[1]
first, again = (_process_environment(VllmSettings()).get("HOME", "") for _ in range(2))
assert first == again
print(first)
print(os.path.isdir(first) and os.access(first, os.W_OK))
"""


def home_given(user: str) -> tuple[str, str]:
    """Return the home that vLLM is given ("" for the user's own), and whether it could write there."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, user], check=True, capture_output=True, text=True)
    home, is_writable = done.stdout.splitlines()
    return home, is_writable


@pytest.mark.parametrize(
    "user",
    [
        "/nonexistent",
        pytest.param("nobody", marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")),
    ],
)
def test_a_user_without_a_home_gets_one_that_goes_away(user: str) -> None:
    """vLLM would make a folder named "~" where the gateway was started (vllm#44548), or fail to write its caches."""
    home, is_writable = home_given(user)
    assert Path(home).name.startswith("headworks-home-")
    assert is_writable == "True"
    assert not Path(home).exists()


def test_a_home_is_kept(tmp_path: Path) -> None:
    """Caches there are warm the next time."""
    assert home_given(str(tmp_path))[0] == ""
