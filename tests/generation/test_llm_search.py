"""Prompt search on a model that errs on purpose and learns from the examples of its prompt."""

from __future__ import annotations

import io
import json
import sys

import pytest

from hf_fairness.generation import CorrectionFile, Prompt, search_prompt
from hf_fairness.measure.classifier.polarity import polarity_accuracy

TEXTS = [
    "He likes it.",
    "The king sat down.",
    "A queen and another queen waited for the train.",
    "The uncle of the waiter came to the station in the old town.",
    "An aunt wrote a long letter about the garden behind the house.",
    "The waitress brought tea.",
    "The rain stopped.",
]
NAMES = ("male", "female", "neutral")
FORGOTTEN = {"king", "uncle", "waiter"}


@pytest.fixture
def correct():
    """Corrections by the rules without any word forgotten; remembers what it was asked for."""
    from support.chat_server import WORDS, variants_of

    asked: list[str] = []

    def ask(text, row):
        asked.append(text)
        triples = [(*triple[:2], triple[2] if triple[0] != "uncle" else "relative") for triple in WORDS]
        return variants_of(text, triples)

    ask.asked = asked
    return ask


def accuracies(result):
    return [(entry["n_right"], entry["n"]) for entry in result.history]


def test_search_raises_the_accuracy(rewriter, server, correct, tmp_path):
    server.forgets = FORGOTTEN
    result = search_prompt(rewriter(), TEXTS, correct, output_dir=tmp_path / "search")
    # The most confident mistake is the shortest text: it teaches king/queen, then waiter/waitress, then uncle/aunt.
    assert correct.asked == [TEXTS[1], TEXTS[5], TEXTS[3]]
    assert accuracies(result) == [(1, 6), (3, 6), (4, 6), (6, 6)]
    assert [entry["corrected"] for entry in result.history] == [*correct.asked, ""]
    assert result.stopped == "all right"
    unseen = [(entry["n_right_unseen"], entry["n_unseen"]) for entry in result.history]
    assert unseen == [(1, 6), (2, 5), (2, 4), (3, 3)]
    assert [example.text for example in result.prompt.examples[-3:]] == correct.asked
    assert Prompt.load(tmp_path / "search" / "prompt.json") == result.prompt
    before = polarity_accuracy(rewriter().rewrite(TEXTS), n_bootstrap=200)
    after = polarity_accuracy(rewriter(result.prompt).rewrite(TEXTS), n_bootstrap=200)
    assert (before["polarity_accuracy"], after["polarity_accuracy"]) == (1 / 6, 1.0)
    assert after["n_skipped"] == 1
    assert result.rows == rewriter(result.prompt).rewrite(TEXTS)


def test_rounds_and_target_end_it(rewriter, server, correct, tmp_path):
    server.forgets = FORGOTTEN
    result = search_prompt(rewriter(), TEXTS, correct, output_dir=tmp_path / "a", rounds=2)
    assert (accuracies(result), result.stopped) == ([(1, 6), (3, 6)], "rounds")
    assert len(correct.asked) == 1  # the last round corrects nothing
    result = search_prompt(rewriter(), TEXTS, correct, output_dir=tmp_path / "b", target=0.6)
    assert (accuracies(result), result.stopped) == ([(1, 6), (3, 6), (4, 6)], "target")


def test_a_crash_costs_neither_corrections_nor_requests(rewriter, server, correct, tmp_path):
    server.forgets = FORGOTTEN

    def crash(text, row):
        if len(correct.asked) == 2:
            raise KeyboardInterrupt
        return correct(text, row)

    with pytest.raises(KeyboardInterrupt):
        search_prompt(rewriter(), TEXTS, crash, output_dir=tmp_path / "search")
    paid = len(server.requests)
    assert paid == 3 * len(TEXTS)
    result = search_prompt(rewriter(), TEXTS, correct, output_dir=tmp_path / "search")
    assert accuracies(result) == [(1, 6), (3, 6), (4, 6), (6, 6)]
    assert len(correct.asked) == 3
    assert len(server.requests) == paid + len(TEXTS)
    again = search_prompt(rewriter(), TEXTS, correct, output_dir=tmp_path / "search")
    assert (again, len(server.requests)) == (result, paid + len(TEXTS))


def test_corrections_from_a_file_that_grows(rewriter, server, correct, tmp_path):
    server.forgets = FORGOTTEN
    path = tmp_path / "corrections.jsonl"
    path.write_text(json.dumps({"text": TEXTS[5], **correct(TEXTS[5], {})}) + "\n\n")
    result = search_prompt(rewriter(), TEXTS, path, output_dir=tmp_path / "search")
    assert (accuracies(result), result.stopped) == ([(1, 6), (2, 6)], "no correction")
    assert result.pending == [TEXTS[1], TEXTS[2], TEXTS[3], TEXTS[4]]
    with path.open("a") as stream:
        stream.writelines(json.dumps({"text": text, **correct(text, {})}) + "\n" for text in result.pending)
    result = search_prompt(rewriter(), TEXTS, str(path), output_dir=tmp_path / "search")
    assert (result.history[-1]["n_right"], result.stopped, result.pending) == (6, "all right", [])


def test_best_prompt_is_not_the_last_where_an_example_harms(rewriter, server, tmp_path):
    server.forgets = {"king"}
    texts = ["The king sat.", "A father left.", "Her mother came."]
    # It passes the check, and teaches the model that the counterpart of a father is the other way round.
    poison = {"male": "He, he and mother.", "female": "She, she and father.", "neutral": "They, they and parent."}
    start = rewriter()
    result = search_prompt(start, texts, lambda text, row: poison, output_dir=tmp_path, rounds=2)
    assert accuracies(result) == [(2, 3), (0, 3)]
    assert result.prompt == start.prompt
    assert result.rows == start.rewrite(texts)


def test_of_equally_good_prompts_the_shortest_is_taken(rewriter, server, tmp_path):
    server.forgets = {"king"}
    useless = {"male": "He sat there.", "female": "She sat.", "neutral": "They sat."}  # words that do not align
    start = rewriter()
    texts = ["The king sat.", "She left."]
    result = search_prompt(start, texts, lambda text, row: useless, output_dir=tmp_path, rounds=2)
    assert (accuracies(result), result.prompt) == ([(1, 2), (1, 2)], start.prompt)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_corrections_typed_at_the_terminal(rewriter, server, monkeypatch, capsys, tmp_path):
    server.forgets = {"king"}
    # First a slip, which is asked for again; an empty line keeps what the model wrote; the second text is skipped.
    typed = "\n\nThe monarch sat.\n" + "\nThe queen sat.\nThe monarch sat.\n" + "skip\n"
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    texts = ["The king sat.", "The queen and the king of the land."]
    result = search_prompt(rewriter(), texts, "terminal", output_dir=tmp_path, rounds=3)
    assert result.history[0]["corrected"] == texts[0]
    assert dict(result.prompt.examples[-1].variants)["female"] == "The queen sat."
    shown = capsys.readouterr().out
    assert "Text: The king sat." in shown
    assert "its female variant reads male" in shown


def test_terminal_needs_a_terminal(rewriter, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(RuntimeError, match="no terminal"):
        search_prompt(rewriter(), TEXTS, "terminal", output_dir=tmp_path)


def test_bad_input(rewriter, server, correct, tmp_path):
    server.forgets = {"king"}
    with pytest.raises(ValueError, match="needs texts"):
        search_prompt(rewriter(), ["", " "], correct, output_dir=tmp_path)
    with pytest.raises(ValueError, match="rounds must be at least 1"):
        search_prompt(rewriter(), TEXTS, correct, output_dir=tmp_path, rounds=0)
    with pytest.raises(FileNotFoundError):
        search_prompt(rewriter(), TEXTS, tmp_path / "none.jsonl", output_dir=tmp_path)
    with pytest.raises(TypeError, match="corrections must be"):
        search_prompt(rewriter(), TEXTS, 3, output_dir=tmp_path)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "x", "male": "y"}\n{"male": "y"}\n')
    with pytest.raises(ValueError, match=r"bad\.jsonl, line 2"):
        search_prompt(rewriter(), TEXTS, bad, output_dir=tmp_path)
    with pytest.raises(ValueError, match="female variant reads male"):
        search_prompt(rewriter(), TEXTS, lambda text, row: dict.fromkeys(NAMES, text), output_dir=tmp_path / "s")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "prompt_search.json").write_text('{"key": "x", "hist')
    with pytest.raises(ValueError, match=r"prompt_search\.json is damaged .* remove it"):
        search_prompt(rewriter(), TEXTS, correct, output_dir=tmp_path / "damaged")
    with pytest.raises(ValueError, match="belongs to a search with another"):
        search_prompt(rewriter(), TEXTS[:2], correct, output_dir=tmp_path / "s")


def test_a_correction_file_of_windows_and_of_strange_lines(tmp_path):
    path = tmp_path / "right.jsonl"
    line = (
        '{"text": "She\u2028left.", "male": "He\u2028left.", "female": "She\u2028left.", "neutral": "They\u2028left."}'
    )
    path.write_bytes(f"\ufeff{line}\r\n".encode())
    assert CorrectionFile(path)("She\u2028left.", {})["male"] == "He\u2028left."
