# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.cycle`: the estimator and simple methods on the same recordings, a table each arm.

With `--signals` the estimator alone on the same cycles, as drivers with other rates, noise and delays report them; with
`--random N` on N random scenarios, of arms, work and signals that nobody has chosen; with `--random N --logs` on N of
each public recording of a real arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import numpy as np

from benchmarks.common import Z95, console, parser, print_json, run_jobs, table
from benchmarks.cycle.random_work import HANDS
from benchmarks.cycle.real_logs import LOGS
from benchmarks.cycle.recordings import AT_REST, PATIENCE, ROBOTS
from benchmarks.cycle.signals import SIGNALS
from benchmarks.cycle.trial import ESTIMATOR, SIMULATED, TIMES, Job, Watched, Weighed, run, run_random, run_signals

QUICK, FULL, FIRST = 2, 8, 100  # arms; the first one's seed
QUICK_EMPTY, EMPTY = 100.0, 300.0  # s
LIGHT = 0.2  # kg


def median(weighed: Sequence[Weighed], method: str, after: float) -> float:
    """Of the mass error's size, kg."""
    return float(np.median([abs(w.errors[method]) for w in weighed if w.after == after]))


def show(robot: str, weighed: Sequence[Weighed], watched: Sequence[Watched]) -> None:
    """Two tables of one kind of arm."""
    out, picks = console(), [w for w in weighed if w.kind in ("pick", "handed over", "steadily")]
    one = [w for w in picks if w.mass == 1.0]

    def errors(part: Sequence[Weighed], method: str) -> str:
        return " / ".join(f"{1e3 * median(part, method, t):.0f}" for t in TIMES) if part else "none"

    title = f"{robot}: mass error after 1 and 2 s, median, g ({len(one) // 2} of 1 kg, {len(picks) // 2} in all)"
    rows = [[method, errors(one, method), errors(picks, method)] for method in picks[0].errors]
    out.print(table(title, ("method", "1 kg", "0.1 to 3 kg"), rows))
    rows = [
        [kind, errors(part, ESTIMATOR), *_held(part)]
        for kind in dict.fromkeys(w.kind for w in weighed)
        for part in [[w for w in weighed if w.kind == kind]]
    ]
    columns = ("happening", "mass error g, 1 / 2 s", "95 % holds mass", "flagged CoM", "worst, sigmas")
    out.print(table(f"{robot}: the estimator after each happening", columns, [*rows, ["all", "", *_held(weighed)]]))
    minutes = sum(w.duration for w in watched) / 60.0
    false, kinds = _false_events(watched)
    missed, changes = sum(len(w.unnoticed) for w in watched), sum(w.changes for w in watched)
    out.print(
        f"{robot}: {10.0 * false / minutes:.1f} false events in ten minutes ({kinds or 'none'} in {minutes:.0f}); "
        f"{missed} of {changes} picks and releases not noticed within {PATIENCE:g} s; "
        f"worst at any second {max(w.worst for w in watched):.1f} sigmas"
    )


def show_signals(robot: str, weighed: Sequence[Weighed], watched: Sequence[Watched]) -> None:
    """A table of one kind of arm."""
    rows = []
    for signal in SIGNALS:
        of = [w for w in weighed if w.robot == signal]
        seen = [w for w in watched if w.robot == signal]
        unnoticed = f"{sum(len(w.unnoticed) for w in seen)} of {sum(w.changes for w in seen)}"
        wrong, worst = sum(len(w.false_events) for w in seen), max(w.worst for w in seen)
        rows.append([signal, _rmse(of), *_held(of)[:2], f"{worst:.1f}", str(wrong), unnoticed])
    minutes = sum(w.duration for w in watched) / 60.0 / len(SIGNALS)
    columns = ("signal", "RMSE g, 1 / 2 s", "95 % holds mass", "flagged CoM", "worst, sigmas", "false events", "missed")
    console().print(table(f"{robot}: {minutes:.0f} minutes of each signal, 0.1 to 3 kg", columns, rows))


def show_random(name: str, weighed: Sequence[Weighed], watched: Sequence[Watched]) -> None:
    """A table of random scenarios."""
    rows = []
    for kind in dict.fromkeys(w.kind for w in weighed):
        of = [w for w in weighed if w.kind == kind]
        rows.append([kind, _rmse(of), *_held(of)])
    minutes, lost = sum(w.duration for w in watched) / 60.0, [m for w in watched for m in w.unnoticed]
    columns = ("after a", "RMSE g, 1 / 2 s", "95 % holds mass", "flagged CoM", "worst, sigmas")
    console().print(table(f"{name}: {len(watched)} random scenarios, {minutes:.0f} minutes", columns, rows))
    (false, kinds), changes = _false_events(watched), sum(w.changes for w in watched)
    light = sum(m < LIGHT for m in lost)
    console().print(
        f"{10.0 * false / minutes:.1f} false events in ten minutes ({kinds or 'none'}); of {changes} picks and "
        f"releases, {light} of less than {LIGHT:g} kg and {len(lost) - light} others not noticed within {PATIENCE:g} "
        f"s; worst at any second {max(w.worst for w in watched):.1f} sigmas"
    )


def _rmse(weighed: Sequence[Weighed]) -> str:
    squares = [np.mean([w.errors[ESTIMATOR] ** 2 for w in weighed if w.after == t]) for t in TIMES]
    return " / ".join(f"{1e3 * np.sqrt(square):.0f}" for square in squares)


def _false_events(watched: Sequence[Watched]) -> tuple[int, str]:
    """How many, and how many of each kind."""
    kinds = [kind for w in watched for _, kind in w.false_events]
    return len(kinds), ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))


def _held(weighed: Sequence[Weighed]) -> tuple[str, str, str]:
    masses = np.array([w.mass_sigmas for w in weighed])
    coms = np.array([s for w in weighed for s in w.com_sigmas])
    com = f"{np.mean(coms <= Z95):.2f} of {len(coms)}" if len(coms) else "none flagged"
    return f"{np.mean(masses <= Z95):.2f} of {len(masses)}", com, f"{masses.max():.1f}"


def _parted(results: Sequence[Weighed | Watched]) -> tuple[list[Weighed], list[Watched]]:
    return [r for r in results if isinstance(r, Weighed)], [r for r in results if isinstance(r, Watched)]


def _as_dicts(weighed: Sequence[Weighed], watched: Sequence[Watched]) -> dict[str, list[dict[str, object]]]:
    return {"weighed": [asdict(w) for w in weighed], "watched": [asdict(w) for w in watched]}


def main() -> None:
    """Run the benchmark."""
    options = parser("cycle", "Payloads picked up at rest")
    options.add_argument("--arms", type=int, help="of each kind")
    options.add_argument("--first", type=int, default=FIRST, help="seed of the first arm")
    options.add_argument("--robots", nargs="+", default=ROBOTS, choices=ROBOTS)
    options.add_argument(
        "--at-rest", type=float, default=AT_REST, help="share of the residual that time changes, 0 to 1"
    )
    options.add_argument("--no-simple", action="store_true", help="the estimator only")
    options.add_argument("--signals", action="store_true", help="the same arms with other rates, noise and delays")
    options.add_argument("--random", type=int, metavar="N", help="so many random scenarios, and nothing else")
    options.add_argument("--logs", action="store_true", help="of --random: N on each public log of a real arm")
    options.add_argument("--hand", default="pushes", choices=HANDS, help="of these: what touches the arm")
    options.add_argument("--loaded", action="store_true", help="the arms hold something from the start")
    args = options.parse_args()
    if args.random:
        names, seeds = LOGS if args.logs else [SIMULATED], range(args.first, args.first + args.random)
        judged = partial(run_random, hand=args.hand, loaded=args.loaded)
        weighed, watched = _parted(run_jobs(judged, [(name, seed) for name in names for seed in seeds], args.processes))
        if args.json:
            print_json(_as_dicts(weighed, watched))
            return
        for name in names:
            show_random(name, [w for w in weighed if w.robot == name], [w for w in watched if w.robot == name])
        return
    arms, seconds = args.arms or (QUICK if args.quick else FULL), QUICK_EMPTY if args.quick else EMPTY
    jobs = [
        Job(robot, seed, seconds, args.at_rest, not args.no_simple)
        for robot in args.robots
        for seed in range(args.first, args.first + arms)
    ]
    if args.signals:
        found = {
            robot: _parted(run_jobs(run_signals, [job for job in jobs if job.robot == robot], args.processes))
            for robot in args.robots
        }
        if args.json:
            print_json({robot: _as_dicts(*parts) for robot, parts in found.items()})
        else:
            for robot, parts in found.items():
                show_signals(robot, *parts)
        return
    results = run_jobs(run, jobs, args.processes)
    weighed, watched = _parted(results)
    if args.json:
        print_json(_as_dicts(weighed, watched))
        return
    for robot in dict.fromkeys(w.robot for w in weighed):
        show(robot, [w for w in weighed if w.robot == robot], [w for w in watched if w.robot == robot])


if __name__ == "__main__":
    main()
