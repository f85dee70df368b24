"""What every form of a report shows of a record, by the templates of this package, in which every value is escaped.

The name of a template says how: in ``*.html.jinja2`` a value is text of a page; in ``*.md.jinja2`` it is one line that
cannot become markup; in ``*.txt.jinja2`` it commands no terminal. Only ``| safe`` takes a value as it is. Markdown is
escaped value by value, which is safe as long as a blank or the end of the line stands behind each: what has to stand
closer is joined with ``~`` before.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

import hf_fairness
from hf_fairness.record import Record
from hf_fairness.report.markdown import bullets, escape_markdown, markdown_table
from hf_fairness.report.summary import Summary, summarize
from hf_fairness.report.tables import cells, shown_arms, tables
from hf_fairness.report.text import ABSENT, BRACKETS, DISCLAIMER, display_name, joined, setting_texts
from hf_fairness.results import columns, one_line

#: What is printed, and not "printable".
_BLANKS = "\n\N{NO-BREAK SPACE}"
#: Longest title in a table.
WIDEST = 72
#: Lists of findings in the order of the report: what got worse comes first, and is said even where nothing did.
_FINDINGS = (
    ("worse", "Got worse", "No measure here got clearly worse."),
    ("improved", "Improved", "No measure here clearly improved."),
    ("others", "Beside the others", ""),
    ("unclear", "No clear change", ""),
    ("undecided", "Cannot be decided", ""),
    ("measured", "Measured", ""),
    ("cautions", "Read with care", ""),
)
#: What intervals are over, in words.
_OVER = {
    "items": "the items at hand, not over other trainings",
    "seeds": "seeds of training, not over other texts",
    "both": "seeds and items",
}


def render(name: str, **values: Any) -> str:
    """A text by the template of a name, such as ``"report.html"``; it ends with a line end."""
    return _environment().get_template(f"{name}.jinja2").render(**values).strip() + "\n"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("hf_fairness.report"),
        autoescape=lambda name: _kind(name) == "html",
        finalize=_escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"bullets": _bullets, "table": _table, "wrap": _wrap, "display_name": display_name}
    return environment


def _kind(template: str | None) -> str:
    return (template or "").removesuffix(".jinja2").rpartition(".")[2]


@pass_context
def _escaped(context: Context, value: Any) -> Any:
    """A value as it is written: jinja2 itself escapes those of pages."""
    kind = _kind(context.name)
    if isinstance(value, Markup) or kind == "html":
        return value
    if kind == "txt":
        return "".join(letter for letter in str(value) if letter.isprintable() or letter in _BLANKS)
    return escape_markdown(value)


def _bullets(items: Iterable[object]) -> Markup:
    return Markup(bullets(items))


def _table(rows: Iterable[Sequence[Any]], *heading: str) -> Markup:
    return Markup(markdown_table([*([heading] if heading else []), *rows]))


def _wrap(text: str, width: int, mark: str = "") -> str:
    """Lines of a width, the first one behind a mark."""
    blank = " " * len(mark)
    return textwrap.fill(text, width, initial_indent=mark, subsequent_indent=blank, break_on_hyphens=False)


def view(record: Record) -> dict[str, Any]:
    """The values of the templates: the record, its findings in words, its tables, how it was made and is to be read."""
    summary = summarize(record)
    return {
        "record": record,
        "subject": [f"{key}: {joined(value)}" for key, value in record.subject.items()],
        "summary": summary,
        "findings": _findings(summary),
        "disclaimer": DISCLAIMER,
        "tables": tables(record),
        "facts": _facts(record),
        "conventions": _conventions(record),
        "version": hf_fairness.__version__,
    }


def _findings(summary: Summary) -> list[tuple[str, tuple[str, ...], str]]:
    """Title, sentences and what stands in their place of each list that is shown."""
    lists = [(title, getattr(summary, name), empty if summary.counts else "") for name, title, empty in _FINDINGS]
    return [(title, texts, empty) for title, texts, empty in lists if texts or empty]


def _facts(record: Record) -> list[tuple[str, list[tuple[str, str]]]]:
    """Blocks of names and values: how the models were trained, what was asked, and where it was run."""
    method = record.arm("method")
    trained = method.training if method else {}
    blocks = (("Training", trained), ("Settings", record.asked), ("Measurement", record.provenance))
    return [(title, found) for title, section in blocks if (found := setting_texts(section))]


def _conventions(record: Record) -> list[str]:
    """How each kind of measure is computed and read, each said once, and what brackets and verdicts mean."""
    over = {measure.interval_over for measure in record.measures if any(v.ci95 for v in measure.values.values())}
    said = (measure.convention for measure in record.measures if measure.convention)
    return [*dict.fromkeys(said), BRACKETS, *(f"Intervals are over {_OVER[each]}." for each in sorted(over))]


def text_report(record: Record, *, width: int | None = None) -> str:
    """What was found: headline, what got worse, the table of measures with intervals, cautions.

    Args:
        record: any.
        width: of the lines of text; None takes the terminal's. The table is as wide as it needs to be.

    Returns:
        Lines of text, without a last line end.
    """
    width = width or min(shutil.get_terminal_size((100, 24)).columns, 120)
    return render("report.txt", summary=summarize(record), table=_lines(record), width=width).rstrip("\n")


def _lines(record: Record) -> str:
    """One line a measure: values with intervals, the ideal, the verdict."""
    n, lines = 1 + len(shown_arms(record)), []
    for measure in record.measures:
        if row := cells(record, measure):
            title, *values = (text for _, text in row[:n])
            ideal = ABSENT if measure.ideal is None else f"{measure.ideal:g}"
            verdict = [text.split("\n")[0].replace("no comparison", "") for name, text in row[n:] if name == "Verdict"]
            lines.append(
                [one_line(title.split("\n")[0], WIDEST), *(text.replace("\n", " ") for text in values), ideal, *verdict]
            )
    head = ["measure", *(arm.title for arm in shown_arms(record)), "ideal", "verdict"]
    return "\n".join(columns([head[: len(lines[0])], *lines])) if lines else ""
