"""The single-file clients in clients/, run where their runtime is present."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from served_duel import MASKS, OBS, PATIENT, running

from pvp_ml.serve.client import Client

CLIENTS = Path(__file__).parents[2] / "clients"
TOKEN = "correct horse battery staple"
OBS_TEXT = ",".join(str(float(x)) for x in OBS)
MASK_TEXT = ",".join("1" * len(mask) for mask in MASKS)
NODE, JAVA = shutil.which("node"), shutil.which("java")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()


def expected(server):
    with Client(port=server.ports[0]) as client:
        return client.predict(OBS, MASKS, model="plain", deterministic=True, returnProbs=True)


@pytest.mark.skipif(JAVA is None, reason="no Java here")
def test_java(server, models_dir):
    file, port = str(CLIENTS / "java" / "PvpMlClient.java"), str(server.ports[0])
    action, probs = run(JAVA, file, "127.0.0.1", port, "plain", OBS_TEXT, MASK_TEXT)
    assert json.loads(action.removeprefix("action ")) == expected(server).action
    assert json.loads(probs.removeprefix("probs ")) == expected(server).probs
    assert run(JAVA, file, "127.0.0.1", port, "nobody", OBS_TEXT, MASK_TEXT) == ["error unknown_model"]


@pytest.mark.skipif(NODE is None, reason="no Node here")
def test_javascript(server, models_dir):
    file = str(CLIENTS / "javascript" / "pvp-ml-client.mjs")
    url = f"tcp://127.0.0.1:{server.ports[0]}"
    action, same = run(NODE, file, url, "plain", OBS_TEXT, MASK_TEXT)
    assert json.loads(action.removeprefix("action ")) == expected(server).action
    assert same == "same true"
    assert run(NODE, file, url, "nobody", OBS_TEXT, MASK_TEXT) == ["error unknown_model"]
    with running(models_dir=models_dir, token=TOKEN) as guarded:
        url = f"tcp://127.0.0.1:{guarded.ports[0]}"
        assert run(NODE, file, url, "plain", OBS_TEXT, MASK_TEXT) == ["error unauthorized"]
        assert run(NODE, file, url, "plain", OBS_TEXT, MASK_TEXT, TOKEN)[1] == "same true"


@pytest.mark.skipif(NODE is None, reason="no Node here")
def test_javascript_over_a_websocket(server):
    has_websocket = run(NODE, "-p", "typeof WebSocket") == ["function"]
    flags = [] if has_websocket else ["--experimental-websocket"]
    file = str(CLIENTS / "javascript" / "pvp-ml-client.mjs")
    url = f"ws://127.0.0.1:{server.ports[1]}/v1/stream"
    try:
        action, same = run(NODE, *flags, file, url, "plain", OBS_TEXT, MASK_TEXT)
    except subprocess.CalledProcessError:
        pytest.skip("this Node has no WebSocket")
    assert json.loads(action.removeprefix("action ")) == expected(server).action and same == "same true"


@pytest.mark.skipif(NODE is None, reason="no Node here")
def test_javascript_connects_again_after_it_was_closed_for_idleness(models_dir, tmp_path):
    script = tmp_path / "idle.mjs"
    script.write_text(
        f"import {{ PvpMlClient }} from {json.dumps((CLIENTS / 'javascript' / 'pvp-ml-client.mjs').as_uri())};\n"
        "const client = await PvpMlClient.connect(process.argv[2]);\n"
        f"const request = {json.dumps({'model': 'plain', 'obs': [OBS], 'actionMasks': MASKS})};\n"
        "const ask = () => Promise.all([1, 2].map(() => client.predict(request)));\n"
        "await ask();\n"
        "await new Promise((resolve) => setTimeout(resolve, 2500));\n"
        "console.log((await ask()).length);\n"
        "client.close();\n"
    )
    with running(models_dir=models_dir, limits=replace(PATIENT, idle_s=0.3)) as server:
        assert run(NODE, str(script), f"tcp://127.0.0.1:{server.ports[0]}") == ["2"]
