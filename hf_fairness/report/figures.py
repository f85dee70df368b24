"""The pictures that only one method has, made from the data that a record holds for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hf_fairness.record import Record
from hf_fairness.report.data_diet_plots import choice_plot, curve_plot, stability_plot, trade_off_plot
from hf_fairness.report.gfst_plots import kept_plot
from hf_fairness.report.ibadr_plots import degrees_plot, fates_plot
from hf_fairness.report.plots import Plot, loss_plot, projection_plots

Figure = Callable[[Record], Plot | None]


def figures(record: Record) -> dict[str, Plot]:
    """Pictures by name, in the order of the page; those without data are left out.

    Raises:
        ImportError: matplotlib (the extra ``report``) is not installed.
    """
    found = dict(projection_plots(record))
    for name, make in FIGURES.get(record.command, {}).items():
        plot = make(record)
        if plot is not None:
            found[name] = plot
    return found


#: Command -> name -> what draws the picture.
FIGURES: Mapping[str, Mapping[str, Figure]] = {
    "ccd": {"loss": loss_plot},
    "gfst": {"kept": kept_plot},
    "ibadr": {"bias_degrees": degrees_plot, "samples": fates_plot},
    "data-diet": {
        "parity_curve": curve_plot,
        "auc_curve": lambda record: curve_plot(record, "auc"),
        "choices": choice_plot,
        "trade_off": trade_off_plot,
        "stability": stability_plot,
    },
}
