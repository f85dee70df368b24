"""Run each speed subject beside its peer and its floor, and keep the numbers.

A subject is a module `benchmarks/<name>.py` that assigns one module-level constant:

    from benchmarks.runner import Benchmark

    BENCHMARK = Benchmark(
        name="ccd_step",                       # the file's name
        compares="CCDTrainer step against a bare PyTorch loop of the same forwards and backward",
        bar=0.87,                              # least accepted speed ratio
        setup=setup,                           # setup(quick: bool) -> state, not timed
        subject=subject,                       # subject(state) -> units of work done, or None for 1
        peer=peer,                             # peer(state)    -> units of work done, or None for 1
        floor=None,                            # optional floor(state): the least work that any answer needs
        repeats=7,                             # timed rounds; `--quick` runs at most 3
    )

One round times subject, peer and floor after each other (the order turns from round to round), so that a
noisy machine hits all alike. Seconds are divided by the units that the call returns: a peer may do fewer
draws than the subject. The speed ratio of a round is

    ratio = peer seconds per unit / subject seconds per unit

Above 1 the subject is faster; .87 means that it reaches 87 % of the peer's speed. The bar is held against the
median ratio of all rounds; least and greatest are shown beside it. One untimed round comes first. `setup`
raises `SkipSubject("reason")` when something optional is missing; a skipped subject is reported, not passed.
Modules without `BENCHMARK` (studies, helpers) are left alone. The exit code is 1 if a bar is missed.
"""
