# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.unfamiliar`: one table, a row for each kind of arm, without and with a coloured residual."""

from __future__ import annotations

from dataclasses import asdict

from benchmarks.common import console, parser, print_json, run_jobs, table
from benchmarks.unfamiliar.arms import KINDS
from benchmarks.unfamiliar.trial import run_seed, score

QUICK, FULL = 3, 12  # seeds


def main() -> None:
    """Run the benchmark."""
    options = parser("unfamiliar", "The payload estimator on arms that its model is not")
    options.add_argument("--seeds", type=int, help="how many")
    options.add_argument("--first", type=int, default=0, help="the first of them")
    options.add_argument("--kinds", default="", help="only those whose name contains this")
    options.add_argument("--plain", action="store_true", help="only without the coloured residual")
    args = options.parse_args()
    seeds = args.seeds or (QUICK if args.quick else FULL)
    kinds, both = [kind for kind in KINDS if args.kinds in kind], (False,) if args.plain else (False, True)
    jobs = [
        [(kind, seed, coloured) for kind in kinds for coloured in both]
        for seed in range(args.first, args.first + seeds)
    ]
    outcomes = run_jobs(run_seed, jobs, args.processes)
    scores = {
        (kind, coloured): score([o for o in outcomes if (o.kind, o.coloured) == (kind, coloured)])
        for coloured in both
        for kind in kinds
    }
    if args.json:
        print_json([{"kind": k, "coloured": c, **asdict(s)} for (k, c), s in scores.items()])
        return
    columns = ("arm or signal", "mass g, 2/5/8 s", "CoM mm, 2/5/8 s", "95 % holds mass", "CoM", "false / 10 min")
    for coloured in both:
        title = "with the real arm's coloured residual" if coloured else "without any other residual"
        rows = [
            [
                kind, " ".join(f"{1e3 * x:.0f}" for x in s.mass), " ".join(f"{1e3 * x:.1f}" for x in s.com),
                f"{s.mass_held:.2f}", f"{s.com_held:.2f}", f"{s.false_per_ten_minutes:.1f}", f"{s.unnoticed}",
            ]
            for kind in kinds
            for s in [scores[kind, coloured]]
        ]  # fmt: skip
        title = f"1 kg picked up on unfamiliar arms, {title}; {seeds} seeds"
        console().print(table(title, (*columns, "unnoticed"), rows))


if __name__ == "__main__":
    main()
