"""`hf-fairness augment --engine ray`: a cluster makes what one machine makes, and goes on after a kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset

from hf_fairness.cli import main
from hf_fairness.refine import subtract
from hf_fairness.refine.percentile import threshold
from support.augment_models import save_chat_model, save_filler, save_translator
from support.augment_rows import PAIRS
from support.ccd_case import make_encoder
from support.fake_hub import FakeHub

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

TEXTS = (
    *("She is pregnant.", "He left.", None, "", "Rain.", "Der Mann und die Frau.", "Mary lost her keys."),
    *("Mr. John Smith left.", "She met her brother.", "A waiter | came\n and *went*.", "His mother tongue."),
)
#: 220 rows: texts twice and more, scores with ties, labels of which one is a group's alone.
ROWS = [
    {"id": i, "text": text, "score": (i * 7 % 13) / 7, "label": "ab"[i % 7 % 2], "n": None if i % 3 else i}
    for i, text in enumerate(TEXTS * 20)
]


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A Hub for all tests of this module."""
    with FakeHub(tmp_path_factory.mktemp("hub_home")) as hub:
        yield hub


@pytest.fixture(scope="module")
def cluster(hub):
    """Two workers, for all tests of this module; they know the fake Hub alone."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - set(hub.env):
            patch.delenv(name)
        for name, value in hub.env.items():
            patch.setenv(name, value)
        ray.init("local", num_cpus=2, object_store_memory=80 * 2**20, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def corpus(tmp_path):
    """Writes rows as three parquet files into a folder; returns its path."""

    def make(rows=ROWS) -> str:
        (tmp_path / "corpus").mkdir()
        for place in range(3):
            part = rows[place * len(rows) // 3 : (place + 1) * len(rows) // 3]
            Dataset.from_list(part).to_parquet(tmp_path / "corpus" / f"{place}.parquet")
        return str(tmp_path / "corpus")

    return make


def by_id(rows: Dataset) -> list[str]:
    """The rows as texts, in an order that does not depend on theirs."""
    return sorted(map(json.dumps, rows.to_list()))


ON_RAY = ("--engine", "ray", "--rows_per_file", 40)
SCORED = ("--score_column", "score", "--percentile", 60)


@pytest.mark.whole
@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore:.*(rows without a text|lack a value)")
@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("cda", ()),
        ("cds", ("--keep_rejected", "--max_rows", 150)),
        ("variants", ("--prefix", "v_")),
        ("subtract", SCORED),
        ("compensate", SCORED),
        ("replace", (*SCORED, "--on_label", "mark", "--label_column", "label")),
        ("balance", ()),
        ("balance", ("--sampling", "up", "--within", "label", "--seed", 3)),
        ("balance", ("--group_column", "label")),
    ],
)
def test_two_workers_make_what_one_machine_makes(corpus, augment, tmp_path, method, words):
    source, words = corpus(), ("--text_column", "text", "--card_examples", *words)
    here, card, _ = augment(source, method, *words, out="here")
    there, other, printed = augment(source, method, *words, *ON_RAY, "--num_proc", 2, out="there")
    assert by_id(there) == by_id(here)
    assert there.features == here.features
    assert other.replace("there", "here") == card.replace("there", "here")
    counts = [json.loads((tmp_path / out / "augment.json").read_text())["counts"] for out in ("here", "there")]
    assert counts[0] == counts[1]
    assert f"rows out{len(there):>6}".split() == next(
        line.split() for line in printed.splitlines() if "rows out" in line
    )
    assert len(list((tmp_path / "there" / "data").iterdir())) == (5 if "--max_rows" in words else 6)
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["README.md", "augment.json", "data"]
    assert list(tmp_path.glob(".*")) == []
    if {"counterfactual", "source_row"} <= {*there.column_names} and method == "compensate":  # behind its source
        numbers = there["source_row"][:]
        assert numbers == sorted(numbers)
        assert len(numbers) > len(set(numbers)) == len(ROWS)


@pytest.mark.whole
@pytest.mark.usefixtures("cluster")
def test_eight_rows_in_one_file(augment, tmp_path):
    few = str(tmp_path / "few.parquet")
    Dataset.from_list(ROWS[:8]).to_parquet(few)
    here, there = (augment(few, "subtract", *SCORED, *how, out=f"few{len(how)}")[0] for how in ((), ON_RAY[:2]))
    assert there.to_list() == here.to_list()


@pytest.mark.whole
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".txt"])
def test_files_of_other_kinds(write, augment, kind):
    here, _, _ = augment(write(kind), "swap", out="here")
    there, _, _ = augment(write(kind), "swap", *ON_RAY, out="there")
    assert there.to_list() == here.to_list()
    assert there.features == here.features


@pytest.mark.whole
@pytest.mark.usefixtures("cluster")
def test_each_worker_opens_the_model_once_and_all_score_along_one_direction(
    corpus, augment, tmp_path_factory, tmp_path
):
    model = make_encoder(tmp_path_factory.mktemp("model"))
    rows = [
        {"id": i, **{name: pair[name] + " Again." * (i % 5) for name in ("premise", "hypothesis")}}
        for i, pair in enumerate(PAIRS * 10)
    ]
    words = ("--text_column", "premise", "hypothesis", "--model_name_or_path", model)
    source = corpus(rows)
    here, card, _ = augment(source, "score", *words, out="here")
    there, other, _ = augment(source, "score", *words, *ON_RAY[:2], "--rows_per_file", 5, "--num_proc", 2, out="there")
    scores = [name for name in here.column_names if "_bias_" in name]
    assert there.remove_columns(scores).to_list() == here.remove_columns(scores).to_list()
    for name in scores:  # a forward of other batches rounds otherwise
        np.testing.assert_allclose(there[name][:], here[name][:], rtol=1e-5, atol=1e-6)
    assert other.replace("there", "here") == card.replace("there", "here")
    saved = [(tmp_path / out / "direction.json").read_text() for out in ("here", "there")]
    assert saved[0] == saved[1]
    assert "has 0 GPUs" in augment(source, "score", *words, *ON_RAY, "--num_gpus", 1, out="gpu", code=1)
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.whole
@pytest.mark.usefixtures("cluster")
def test_a_table_scores_on_workers_what_it_scores_here(corpus, augment, tmp_path_factory, tmp_path):
    """What it lacks is counted there too."""
    from hf_fairness.measure.encoder.bias_table import BiasTable

    folder = tmp_path_factory.mktemp("table")
    texts = [
        f"{who} met {whom} {i}." for i in range(25) for who in ("She", "He") for whom in ("her", "a man", "it", "us")
    ]
    table = BiasTable.from_encoder(make_encoder(folder / "model"), texts).save(folder / "table.npz")
    source = corpus([{**row, "text": row["text"] or "Rain."} for row in ROWS])
    for method, words in (("score", ()), ("subtract", ("--percentile", 80))):
        words = ("--text_column", "text", "--distilled", table, *words)
        here, card, _ = augment(source, method, *words, out=f"here{method}")
        there, other, _ = augment(source, method, *words, *ON_RAY, out=f"there{method}")
        assert by_id(there) == by_id(here)
        assert other.replace("there", "here") == card
        said = [json.loads((tmp_path / f"{out}{method}" / "augment.json").read_text()) for out in ("here", "there")]
        assert said[1]["distilled"] == said[0]["distilled"]
        assert 0 < said[0]["distilled"]["not in the table"] < said[0]["distilled"]["words looked up"]


@pytest.mark.whole
@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore:.*no usable answer")
@pytest.mark.parametrize("method", ["mlm", "paraphrase", "llm"])
def test_workers_open_models_of_a_folder_that_is_named_from_here(augment, write, tmp_path, monkeypatch, method):
    """By a path that means something in the folder of the command alone."""
    monkeypatch.chdir(tmp_path)
    makers = {"mlm": save_filler, "paraphrase": partial(save_translator, word="snow"), "llm": save_chat_model}
    makers[method](tmp_path / "model")
    words = {
        "mlm": ("--model_name_or_path", "model", "--top_k", 1),
        "paraphrase": ("--forward_model", "./model", "--backward_model", "model"),
        "llm": ("--model_name_or_path", "model", "--max_tokens", 12, "--attempts", 1, "--cache_dir", "rewrites"),
    }[method]
    source = Path(write(".jsonl", [{"text": "the rain ."}, {"text": "rain"}, {"text": "the rain"}])).name
    there, other, _ = augment(source, method, *words, *ON_RAY[:2], "--rows_per_file", 2, "--num_proc", 1, out="there")
    if method == "llm":
        assert (tmp_path / "rewrites").is_dir()
        shutil.rmtree(tmp_path / "rewrites")  # else nothing is asked
    here, card, _ = augment(source, method, *words, out="here")
    assert there.to_list() == here.to_list()
    assert other.replace("there", "here") == card
    assert len(there) == (3 if method == "llm" else 6)
    said = [json.loads((tmp_path / out / "augment.json").read_text()).get("usage") for out in ("here", "there")]
    assert said[0] == said[1]


@pytest.mark.whole
@pytest.mark.usefixtures("cluster")
def test_a_class_that_opens_a_model_is_handed_over_as_a_class(tmp_path):
    """The lines of ``help(hf_fairness.maps)``: each of two workers opens the model, and none of its batches does."""
    from hf_fairness.measure import BiasScore

    class Opened(BiasScore):
        def __init__(self, *given, **options):
            super().__init__(*given, **options)
            (tmp_path / f"opened-{time.monotonic_ns()}").touch()

    model, texts = make_encoder(tmp_path / "model"), [f"{who} left." for who in ("She", "He", "It", "A queen")] * 4
    rows = ray.data.from_arrow([pa.table({"id": [i], "text": [text]}) for i, text in enumerate(texts)])
    how = {"batch_format": "pyarrow", "compute": ray.data.ActorPoolStrategy(size=2)}
    made = rows.map_batches(Opened, fn_constructor_kwargs={"columns": "text", "model": model}, **how)
    found = sorted(made.iter_rows(), key=lambda row: row["id"])
    assert len(list(tmp_path.glob("opened-*"))) == 2
    wanted = BiasScore("text", model).arrow(pa.table({"id": range(len(texts)), "text": texts})).to_pylist()
    assert [list(row) for row in found] == [list(row) for row in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


@pytest.mark.whole
@pytest.mark.usefixtures("cluster")
def test_rows_and_models_of_the_hub(hub, tmp_path):
    """Workers read the files of a data set, and open a model, by their names there."""
    code = """
        import sys
        from datasets import Dataset
        from huggingface_hub import HfApi
        from hf_fairness.cli import main
        model, out, address = sys.argv[1:]
        HfApi().create_repo("tester/encoder")
        HfApi().upload_folder(repo_id="tester/encoder", folder_path=model)
        texts = [f"{who} left {i}." for i in range(4) for who in ("She", "He")]
        Dataset.from_dict({"text": texts}).push_to_hub("tester/rows")
        words = ["augment", "tester/rows", "--method", "score", "--model_name_or_path", "tester/encoder"]
        words += ["--output_dir"]
        assert main([*words, out + "/here"]) == 0
        assert main([*words, out + "/there", "--engine", "ray", "--ray_address", address, "--rows_per_file", "3"]) == 0
    """
    hub.run(code, make_encoder(tmp_path / "model"), tmp_path, ray.get_runtime_context().gcs_address)
    here, there = (pq.read_table(tmp_path / out / "data") for out in ("here", "there"))
    assert there.column_names == here.column_names
    for name in here.column_names:
        if "_bias_" in name:
            np.testing.assert_allclose(there[name], here[name], rtol=1e-5, atol=1e-6)
        else:
            assert there[name].to_pylist() == here[name].to_pylist()


@pytest.mark.whole
def test_an_address_where_no_cluster_answers_is_named_soon(write, hub, tmp_path):
    """Something else listens there, such as the dashboard of a cluster."""
    words = ["--method", "swap", "--output_dir", str(tmp_path / "out"), "--engine", "ray", "--ray_address"]
    address = hub.url.removeprefix("http://")
    command = [sys.executable, "-m", "hf_fairness", "augment", write(".csv"), *words, address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 1
    assert f"--ray_address {address}: no Ray cluster answers there" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.csv"]


@pytest.mark.whole
@pytest.mark.usefixtures("cluster")
def test_of_a_million_rows_the_same_are_left_out(tmp_path):
    """Scores of all magnitudes; the threshold lies among equal ones, a tenth of all, and these stay."""
    rng = np.random.default_rng(0)
    scores = np.abs(rng.normal(size=(1_000_000, 2))) * 10.0 ** rng.integers(-12, 4, size=(1_000_000, 1))
    tie = np.percentile(scores.max(axis=1), 92)
    scores[rng.random(1_000_000) < 0.1] = tie
    table = pa.table({"id": np.arange(len(scores)), "one": scores[:, 0], "two": -scores[:, 1]})
    (tmp_path / "corpus").mkdir()
    for place in range(4):
        part = table.slice(place * 250_000, 250_000)
        pq.write_table(part, tmp_path / "corpus" / f"{place}.parquet", row_group_size=70_000)
    words = ["--score_column", "one", "two", "--percentile", "91.7", "--output_dir", str(tmp_path / "out")]
    assert main(["augment", str(tmp_path / "corpus"), "--method", "subtract", *words, "--engine", "ray"]) == 0
    kept = subtract(Dataset(table), percentile=91.7, score_columns=["one", "two"])
    assert threshold(scores.max(axis=1), 91.7) == tie
    assert 0 < len(kept) < len(table)
    assert pq.read_table(tmp_path / "out" / "data", columns=["id"]).column("id").to_pylist() == kept["id"][:]


def wait_for(what, seconds: float = 240.0):
    """The first true value of a function."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


@pytest.mark.whole
@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore:.*rows without a text")
def test_a_killed_worker_and_a_killed_driver_lose_nothing(corpus, augment, tmp_path):
    """One worker first, which the engine makes up for; then the driver, and the same command goes on."""
    rows = [{**row, "id": i} for i, row in enumerate(ROWS * 12)]
    source, words = corpus(rows), ("--text_column", "text", "--engine", "ray", "--rows_per_file", 60)
    command = [sys.executable, "-m", "hf_fairness", "augment", source, "--method", "cda", *map(str, words)]
    driver = subprocess.Popen([*command, "--output_dir", str(tmp_path / "there"), "--num_proc", "2"])
    notes = tmp_path / ".there.unfinished" / ".unfinished"

    def finished() -> list[Path]:
        assert driver.poll() is None
        return list(notes.glob("[0-9]*.json"))

    wait_for(lambda: len(finished()) > 3)
    children = psutil.Process(driver.pid).children(recursive=True)

    def busy() -> list[psutil.Process]:
        """Workers at a part; agents and idle workers are called ray:: too, and without its agents a node ends."""
        titles = {child: child.name() for child in children if child.is_running()}
        return [child for child, title in titles.items() if title.startswith("ray::Map")]

    wait_for(busy)[0].send_signal(signal.SIGKILL)
    there = len(finished())
    wait_for(lambda: len(finished()) > there + 6)
    driver.kill()
    driver.wait()
    psutil.wait_procs(children, timeout=60)
    before = {path.name: path.stat().st_mtime_ns for path in notes.glob("[0-9]*.json")}
    assert 9 < len(before) < 45
    found, _, _ = augment(source, "cda", *words, "--batch_size", 7, "--num_proc", 1, out="there")
    here, _, _ = augment(source, "cda", *words[:2], out="here")
    assert by_id(found) == by_id(here)
    data = sorted((tmp_path / "there" / "data").iterdir())
    assert len(data) == 45
    finished_before = [data[int(name[:5])] for name in before]
    assert max(path.stat().st_mtime_ns for path in finished_before) <= max(before.values())  # and not written again
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.whole
@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore:.*rows without a text")
def test_unfinished_output_of_other_settings_is_refused(corpus, augment, tmp_path):
    rows = [{**row, "text": row["text"] or "Rain."} for row in ROWS[:-1]] + [{**ROWS[-1], "text": None}]
    source, words = corpus(rows), ("--text_column", "text", *ON_RAY)
    error = augment(source, "cda", *words, "--on_missing", "error", "--num_proc", 1, code=1)
    assert "Expected a text in row" in error  # the worker's own words
    assert len(list((tmp_path / ".out.unfinished" / "data").glob("*.parquet"))) > 1
    assert "holds the unfinished output of other settings" in augment(source, "swap", *words, code=1)
    made, _, _ = augment(source, "swap", *words, "--overwrite")
    assert len(made) == len(rows)
    assert list(tmp_path.glob(".*")) == []
    assert "is not empty" in augment(source, "swap", *words, code=1)
    os.utime(Path(source) / "0.parquet")
    error = augment(source, "cda", *words, "--text_column", "label", "id", out="other", code=1)
    assert "Column 'id' of" in error
    assert list(tmp_path.glob(".*")) == []  # nothing was finished, so nothing is left


@pytest.mark.whole
@pytest.mark.usefixtures("cluster")
def test_files_that_differ_are_named(corpus, augment, tmp_path):
    source = corpus()
    Dataset.from_list([{"text": "He left.", "id": "x"}]).to_parquet(Path(source) / "3.parquet")
    error = augment(source, "swap", *ON_RAY, code=1)
    assert "The files differ in columns or types" in error
    assert "3.parquet: text string, id string" in error
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.whole
@pytest.mark.usefixtures("cluster")
def test_a_cluster_that_is_there_is_joined_and_goes_on(write, tmp_path):
    words = ["--method", "swap", "--output_dir", str(tmp_path / "joined"), "--engine", "ray", "--ray_address"]
    address = ray.get_runtime_context().gcs_address
    command = [sys.executable, "-m", "hf_fairness", "augment", write(".csv"), *words, address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "joined" / "README.md").exists()
    assert ray.cluster_resources()["CPU"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--ray_address auto", "--ray_address is for --engine ray"),
        ("--rows_per_file 3", "--rows_per_file is for --engine ray"),
        ("--engine spark", "--engine is 'spark', expected datasets or ray"),
        ("--engine ray --num_gpus 1", "opens no model: leave out --num_gpus"),
        ("--engine ray --num_shards 2 --shard_index 0", "--engine ray shares the work by itself"),
        ("--engine ray --dataset_split test", "no split 'test'"),
    ],
)
def test_what_does_not_go_together(corpus, augment, tmp_path, words, message):
    assert message in augment(corpus(), "swap", *words.split(), code=1)
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.glob(".*")) == []


def test_a_source_without_files_is_refused(augment, tmp_path):
    Dataset.from_list(PAIRS).save_to_disk(tmp_path / "saved")
    for source in (str(tmp_path / "saved"), "demo"):
        error = augment(source, "swap", "--engine", "ray", code=1)
        assert "Write it as parquet files (Dataset.to_parquet), and name their folder." in error


def test_without_ray_the_extra_is_named(write, augment, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert 'pip install "hf-fairness[ray]"' in augment(write(".csv"), "swap", "--engine", "ray", code=1)


def test_how_rows_are_made_is_no_part_of_the_plan(tmp_path):
    """What was finished in batches of another size, on another device or by more workers counts."""
    from hf_fairness.cli.augment_methods import AugmentArguments, Job
    from hf_fairness.cli.augment_ray import _plan

    (tmp_path / "a.parquet").write_bytes(b"rows")
    given = {"dataset": "a", "method": "mlm", "output_dir": "out", "engine": "ray"}

    def plan(files=("a.parquet",), options=None, **more) -> dict:
        files = [str(tmp_path / file) if "://" not in file else file for file in files]
        return _plan(Job(AugmentArguments(**given, **more), {"model_name_or_path": "m", **(options or {})}), files)

    how = {"batch_size": 7, "device": "cpu", "cache_dir": "c", "concurrency": 3}
    assert plan(options=how, num_proc=3, batch_size=7, card_examples=True, num_gpus=0.5) == plan()
    for other in ({"rows_per_file": 3}, {"max_rows": 3}, {"on_missing": "error"}, {"options": {"seed": 1}}):
        assert plan(**other) != plan()
    assert plan(files=("hf://datasets/x/a.parquet",)) != plan()
    before = plan()
    (tmp_path / "a.parquet").write_bytes(b"other rows")
    assert plan() != before
