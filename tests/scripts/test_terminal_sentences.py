"""The terminal's sentences on 300 and more states of all bundled recordings, against numbers computed otherwise (D34)."""

import json
import math
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from core.market.answers.ahead import WIDEST
from core.market.answers.one_answer import FEWEST, RIVALS
from core.market.answers.scoreboard import Scoreboard
from core.market.feeds.protocol import Status
from core.market.labels import Head, fit_alpha, moves_after
from core.market.predictor import Predictions, load_predictor
from core.market.reasons import UsualInputs, window_reasons
from core.market.store.index import FOLDER, bundled_recordings
from core.market.store.rows import read_market
from core.market.store.segments import TRADES, segment_path
from core.market.stream import SCORES, STATUSES, score_rows
from pages.markets import live_scores, terminal
from tests.core.market.answers.test_one_answer import leads_of
from tests.core.market.helpers import read_trades
from tests.scripts.test_scripts import NODE

HEADS: tuple[Head, ...] = (("forward", 10), ("forward", 50), ("smoothed", 20))
ROWS = 2_400
BEGINS = 900
LOOKED = range(120, ROWS, 70)
"""Rows at which the sentences are looked at: before the first outcome, before the tenth, and later."""


def answered(moves: list[NDArray[np.float64]], alphas: list[float], seed: int) -> NDArray[np.float32]:
    """(rows, heads, 3) probabilities that foretell some recordings well, some not at all, and some badly."""
    random = np.random.default_rng(seed)
    knowledge = (-1.0, 0.0, 0.6, 2.0, 4.0)[seed % 5]
    drift = np.stack([np.nan_to_num(move) / alpha for move, alpha in zip(moves, alphas, strict=True)], axis=1)
    logits = random.normal(0, 0.5, (len(drift), len(HEADS), 3))
    logits[..., 1] += 0.8
    logits[..., 0] -= knowledge * np.tanh(drift)
    logits[..., 2] += knowledge * np.tanh(drift)
    return np.asarray(np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True), dtype=np.float32)


def e_value(differences: NDArray[np.float64]) -> float:
    """The e-value of differences, from its definition: the mean of products."""
    stakes = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7)
    logs = [sum(s * d + (math.log(1 - s) + s) * d * d for d in (differences / WIDEST).tolist()) for s in stakes]
    return sum(math.exp(min(one, 700)) for one in logs) / len(stakes)


def stand(leads: NDArray[np.float64]) -> tuple[str, float, str, int]:
    """How answers stand: the state, the lead a call over the nearest rule, its name, and the outcomes compared."""
    each = [e_value(column) for column in leads.T]
    against = [e_value(-column) for column in leads.T]
    state = "ahead" if min(each) >= 20 else "behind" if np.mean(against) >= 20 else "undecided"
    nearest = int(leads.sum(axis=0).argmin())
    return state, float(leads[:, nearest].mean()) if len(leads) else math.nan, RIVALS[nearest], len(leads)


def plain(value: float) -> float | str:
    return "inf" if value == math.inf else "nan" if math.isnan(value) else float(value)


CLASSES = ["Down", "Stationary", "Up"]


def sentences(folder: Path, states: list[dict[str, Any]]) -> list[list[Any]]:
    """What the screen says of each state (terminal_sentences.mjs)."""
    rivals = [live_scores.rival_names()[rule] for rule in RIVALS]
    config = {"classes": CLASSES, "rivals": rivals, "labels": terminal._labels("1 s") | {"held": ""}}
    config |= {"statusNames": [one.value for one in STATUSES], "states": [one.name for one in STATUSES]}
    (folder / "states.json").write_text(json.dumps({"config": config, "states": states}), encoding="utf-8")
    command = [str(NODE), str(Path(__file__).parent / "terminal_sentences.mjs"), str(folder / "states.json")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in printed.splitlines()]


def test_every_sentence_is_what_its_state_says(tmp_path: Path) -> None:
    """Each other recording has a journal: what is known begins anew on its way, and its leads go on."""
    states: list[dict[str, Any]] = []
    expected: list[tuple[Any, ...]] = []
    for seed, recording in enumerate(bundled_recordings()):
        rows = read_market([FOLDER / file for file in recording.files])[:ROWS]
        moves = [moves_after(rows, head) for head in HEADS]
        alphas = [fit_alpha([move]) for move in moves]
        p = answered(moves, alphas, seed)
        none = np.zeros(p.shape[:2], np.int8)
        predictions = Predictions(probabilities=p, calls=none)
        board, calls, begins = Scoreboard(HEADS, alphas), list[Any](), 0
        for i, (timestamp, mid) in enumerate(zip(rows.timestamps.tolist(), rows.mid.tolist(), strict=True)):
            if i == BEGINS and seed % 2:
                board.begin_anew(board.answers.here)
                begins = i
            board.step(timestamp, mid, predictions, i)
            calls.append([[board.rule_call(head, rule) for rule in RIVALS] for head in range(len(HEADS))])
            if i not in LOOKED:
                continue
            log, called = board.log.tail(), np.array(calls)
            for head, numbers in enumerate(score_rows(board)):
                shown = log["recalibrated"][-1, head]
                score = dict(zip(SCORES, map(plain, numbers.tolist()), strict=True))
                usual = [score[f"usual{name}"] for name in CLASSES]
                states.append({"p": shown.tolist(), "usual": usual, "score": score, "horizon": HEADS[head][1]})
                came = log["came"][begins:, head]
                shares = np.bincount(came[came >= 0], minlength=3) / max(1, (came >= 0).sum())
                parts = [
                    leads_of(log[part], called[part, head], head, HEADS[head][1]) for part in (slice(begins), slice(begins, None))
                ]
                here = (parts[0][1][0], stand(np.concatenate([leads for leads, _times in parts]))) if begins else None
                expected.append((shown, shares, stand(parts[1][0]), here))
    assert len(states) >= 300
    kinds = Counter[str]()
    printed = sentences(tmp_path, states)
    for (unusual, standing, since), one, (shown, shares, stands, here) in zip(printed, states, expected, strict=True):
        words = standing
        assert bool(since) == (here is not None)
        if here is not None:
            apart = re.fullmatch(r"Here since day ([\d.]+) \((\d+) minute\), (.*)", since)
            assert apart is not None and float(apart[1]) * 86_400_000 == pytest.approx(here[0], abs=1)
            assert int(apart[2]) == -(-here[1][3] * one["horizon"] // 240)  # four rows a second
            kinds[f"here {check_standing(apart[3][0].upper() + apart[3][1:], here[1])}"] += 1
            words = standing.removeprefix("In this session, ")
            assert words != standing and "Decided in" not in words
            words = words[0].upper() + words[1:]
        kinds[state := check_standing(words, stands)] += 1
        if state == "few":
            continue
        times = np.divide(shown, shares, where=shares > 0, out=np.full(3, np.inf))
        if (found := re.search(r"most: (\w+) ([\d.]+)%, ([\d.]+) times", unusual)) is not None:
            k = CLASSES.index(found[1])
            assert k == times.argmax() and times[k] > 1.1
            assert (float(found[2]), float(found[3])) == pytest.approx((100 * shown[k], times[k]), abs=0.051)
        else:
            assert not shares.all() or times.max() <= 1.1 + 1e-9
    assert min(kinds[one] for one in ("few", "ahead", "undecided", "here ahead", "here undecided")) > 0, kinds


def check_standing(standing: str, expected: tuple[str, float, str, int]) -> str:
    """Compares a sentence with how answers stand; returns that, "few" before the tenth outcome."""
    state, lead, rule, count = expected
    if count < FEWEST:
        assert standing.startswith(f"{count} of the {FEWEST} outcomes")
        return "few"
    assert f"{abs(lead):.3f} nats a call" in standing or abs(lead) < 1e-9
    assert live_scores.rival_names()[rule] in standing and f"{count} outcomes" in standing
    words = {"ahead": "Ahead of every", "behind": "Behind the", "undecided": "Undecided beside"}
    assert words[state] in standing and not any(words[other] in standing for other in words if other != state)
    if state == "undecided":
        assert ("better over" in standing) == (lead > 0) and ("worse over" in standing) == (lead < 0)
    return state


def test_a_lost_decision_and_the_time_to_the_next_are_said(tmp_path: Path) -> None:
    """States that recalibration keeps from coming up above."""
    score = {"independent": 400, "nearest": 1, "perCall": -0.05, "standing": 1, "decided": 1, "untilMs": 0}
    lost = score | {"perCall": 0.012, "standing": 2, "decided": 0, "untilMs": 5 * 3_600_000}
    here = {"hereSinceMs": 3 * 86_400_000, "hereOutcomes": 41 * 3600 * 4 // 50, "hereStanding": 1, "herePerCall": -0.004}
    here |= {"hereNearest": RIVALS.index("momentum"), "hereUntilMs": 0}
    states = [
        (score, "Behind the naive rules: Always stationary is 0.050 nats a call better, over 400 outcomes."),
        (
            lost,
            "No longer ahead. Undecided beside Always stationary, the nearest rule: 0.012 nats a call better over 400 outcomes. "
            "Decided in about 5 hour at this rate.",
        ),
        (
            lost | {"decided": 2, "untilMs": "inf"},
            "Undecided beside Always stationary, the nearest rule: 0.012 nats a call better over 400 outcomes.",
        ),
        (
            lost | {"decided": 1, "untilMs": 1e12, "perCall": -0.012},
            "No longer behind. Undecided beside Always stationary, the nearest rule: "
            "0.012 nats a call worse over 400 outcomes. Not decided within a month at this rate.",
        ),
        (
            lost | here,
            "In this session, no longer ahead. Undecided beside Always stationary, the nearest rule: 0.012 nats a call better "
            "over 400 outcomes.",
        ),
    ]
    given = [{"p": [0.2, 0.6, 0.2], "usual": [0.1, 0.6, 0.3], "score": one, "horizon": 50} for one, _words in states]
    printed = sentences(tmp_path, given)
    assert [standing for _unusual, standing, _here in printed] == [words for _state, words in states]
    behind = "behind the naive rules: Momentum rule is 0.004 nats a call better, over 11808 outcomes."
    assert [since for *_rest, since in printed] == [*[""] * 4, f"Here since day 3 (41 hour), {behind}"]
    assert printed[0][0] == "Above its usual share most: Down 20.0%, 2.0 times its share so far."


def test_every_reason_is_what_the_groups_give(tmp_path: Path) -> None:
    """On windows of all bundled recordings: who is named, with what number, for and against."""
    predictor = load_predictor("tlob")
    states: list[dict[str, Any]] = []
    for recording in bundled_recordings():
        rows = read_market([FOLDER / file for file in recording.files])[:1_300]
        entry = predictor.market(recording.name)
        usual = UsualInputs(predictor, entry)
        usual.follow(rows.timestamps, rows.levels)
        mean = usual.mean()
        assert mean is not None
        for end in range(200, 1_300, 180):
            for head in (4, 6):
                window = rows.levels[end - 128 : end]
                one = window_reasons(predictor, entry, window, mean, head=head, recalibrate=lambda p: p)
                states.append({"lean": one.lean, "usual": one.usual, "gives": one.gives.tolist(), "states": one.states})
    scaled = [state | {"gives": [0.1 * give for give in state["gives"]], "lean": 0.05 * state["lean"]} for state in states]
    labels = terminal.reasons_labels()
    kinds = Counter[str]()
    for state, (said,) in zip(states + scaled, sentences(tmp_path, states + scaled), strict=True):
        lean, gives = state["lean"], np.array(state["gives"])
        names = [labels["groupStates"][group][stands + 1] for group, stands in enumerate(state["states"])]
        found = [(names.index(name), float(value)) for name, value in re.findall(r"(?:: |, )([a-z0-9 ]+) \(([+-][\d.]+)\)", said)]
        assert all(value == pytest.approx(gives[group], abs=0.0051) for group, value in found)
        strong = np.abs(gives) >= 0.005
        if not strong.any():
            kinds["none"] += 1
            assert said == "No group gives 0.005 or more."
        elif abs(lean) < 0.005:
            kinds["even"] += 1
            assert said.startswith("Up and down are even.")
            assert {group for group, _value in found} == set(np.argsort(-np.abs(gives))[: min(2, strong.sum())].tolist())
        else:
            kinds["leans"] += 1
            assert said.startswith(f"Towards {'up' if lean > 0 else 'down'} by {lean:+.2f}")
            pushing = [group for group in np.argsort(-gives * np.sign(lean)).tolist() if gives[group] * np.sign(lean) >= 0.005]
            against = [group for group in np.argsort(gives * np.sign(lean)).tolist() if gives[group] * np.sign(lean) <= -0.005]
            assert [group for group, _value in found] == pushing[:2] + against[:1]
            assert ("Against it" in said) == bool(against)
            mostly_usual = 2 * state["usual"] / lean > 1
            kinds["mostly usual"] += mostly_usual
            assert ("the usual way" in said) == mostly_usual
            assert ("All as usual" in said) == (not mostly_usual and abs(state["usual"]) >= 0.02)
            stated = re.search(r"it would be ([+-]\d\.\d+)", said)
            assert stated is None or float(stated[1]) == pytest.approx(state["usual"], abs=0.0051)
    assert min(kinds[one] for one in ("none", "even", "leans", "mostly usual")) > 0 and len(states) >= 70, kinds


def test_what_an_order_counts_is_said_as_it_is(tmp_path: Path) -> None:
    given = {"price": 1.25, "size": 900, "left": 300, "rows": 40, "before": [0.2, 0.5, 0.3], "after": [0.26, 0.5, 0.24]}
    states = [
        (given, "300 in place of 900 at 1.25, as much as beside it: Down 26.0% instead of 20.0%."),
        (given | {"after": [0.1, 0.56, 0.34]}, "300 in place of 900 at 1.25, as much as beside it: Down 10.0% instead of 20.0%."),
        (given | {"after": [0.201, 0.498, 0.301]}, "300 in place of 900 at 1.25, as much as beside it: it hardly counts."),
        (
            given | {"size": 0, "left": 0, "after": [0.1, 0.7, 0.2]},
            "Without what stood at 1.25 above its neighbours: Stationary 70.0% instead of 50.0%.",
        ),
        (given | {"rows": 0}, "At 1.25 nothing is larger than its neighbours: there is nothing to take away."),
    ]
    assert [said for (said,) in sentences(tmp_path, [state for state, _words in states])] == [words for _state, words in states]


def test_silence_is_said_with_when_the_venue_was_asked(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    states: list[dict[str, Any]] = []
    expected: list[str] = []
    for _ in range(400):
        status = STATUSES[random.integers(len(STATUSES))]
        now, heard = 1_000_000, int(1_000_000 - random.choice([100, 4_000, 12_345, 90_000]))
        came = int(random.integers(heard, now)) if random.random() < 0.6 else heard  # by request, where it is later
        provisional = int(random.integers(0, 10))
        state = {"status": STATUSES.index(status), "warm": 7, "provisional": provisional, "receivedMs": came, "heardMs": heard}
        states.append(state | {"ageMs": now - came})
        words = status.name
        if status is Status.STALE:
            words = f"Silent since {heard}"
        elif now - heard > 5_000 and status is not Status.WARMING:
            words += f" · No message for {math.floor((now - heard) / 1e3 + 0.5)} second"
            words += f"; asked {math.floor((now - came) / 1e3 + 0.5)} second ago: the same book" if came > heard else ""
        elif provisional > 4 and status is not Status.WARMING:
            words += " · newest rows not yet confirmed"
        expected.append(words)
    assert [said for (said,) in sentences(tmp_path, states)] == expected
    assert any("asked" in one for one in expected) and any(one.endswith("second") for one in expected)


def test_after_a_gap_the_next_call_is_due_when_a_window_is_whole(tmp_path: Path) -> None:
    asked = [(STATUSES.index(status), warm) for status in (Status.WARMING, Status.RECONNECTING) for warm in range(129)]
    printed = sentences(tmp_path, [{"status": status, "warm": warm, "time": 7} for status, warm in asked])
    for (status, warm), (said,) in zip(asked, printed, strict=True):
        seconds = next(s for s in range(40) if warm + 4 * s >= 128)
        rest = "second more of this market, as no window has a hole. What stands here is of 7."
        expected = f"Back: the next call comes after {seconds} {rest}"
        if warm == 128:
            expected = "Nobody watched as this row came: the next call comes with the next row. What stands here is of 7."
        if STATUSES[status] is Status.RECONNECTING:
            expected = "No call while the book is not known. What stands here is of 7."
        assert said == expected


def test_light_of_another_moment_and_reasons_that_wait_are_said(tmp_path: Path) -> None:
    given = [(age, rows) for age in (None, 0, 2_000, 2_250, 30_000) for rows in (3, 128, 247, 248, 4_000)]
    states = [
        {
            "light": None if age is None else {"time": 50_000 - age},
            "row": {"time": 50_000, "predicted": rows >= 128},
            "rows": rows,
        }
        for age, rows in given
    ]
    for (heading, waiting), (age, rows) in zip(sentences(tmp_path, states), given, strict=True):
        old = age is not None and age > 2_000
        assert heading == (f"Light of {50_000 - (age or 0)}; computing newer" if old else "Why: what P(up) - P(down) rests on")
        soon = "Reasons come half a minute after the first call." if rows < 128 + 120 else "Light is being computed."
        assert waiting == ("" if age is not None or rows < 128 else soon)


def rings(rule: dict[str, Any], rows: list[dict[str, Any]], trades: list[dict[str, float]]) -> int:
    """How often a rule would have gone off, from its meaning: stretches of rows in which it holds, long enough."""
    times = [row["time"] for row in rows]
    mids = np.array([row["mid"] for row in rows])
    if rule["kind"] == "price":
        holds = np.append(False, (mids[1:] >= rule["price"]) != (mids[:-1] >= rule["price"]))
    elif rule["kind"] == "wall":
        holds = np.array([max(row["levels"][1::2]) >= rule["size"] for row in rows])
    elif rule["kind"] == "trade":
        large = [one["time"] for one in trades if one["size"] >= rule["size"]]
        holds = np.histogram(np.array(large), [-np.inf, *np.nextafter(times, np.inf)])[0] > 0
    else:
        wanted = [row["calls"][0] if rule["call"] == -1 else rule["call"] for row in rows]
        right = np.array([call == row["calls"][0] for call, row in zip(wanted, rows, strict=True)])
        holds = right & (np.array([row["probabilities"][call] for call, row in zip(wanted, rows, strict=True)]) >= rule["share"])
    ends = np.flatnonzero(np.diff(np.concatenate([[0], holds.astype(int), [0]])))
    return int((ends[1::2] - ends[::2] > 4 * rule.get("seconds", 0)).sum())


def test_an_alert_says_what_it_asks_and_how_often_it_would_have_gone_off(tmp_path: Path) -> None:
    """Rules drawn over all bundled recordings, and those that the form proposes there."""
    random = np.random.default_rng(5)
    states: list[dict[str, Any]] = []
    for recording in bundled_recordings():
        rows = read_market([FOLDER / file for file in recording.files])[:1_200]
        p = random.dirichlet([3, 4, 3], len(rows))[np.arange(len(rows)) // 9]  # a call that stands for a while
        columns = zip(rows.timestamps.tolist(), rows.mid.tolist(), rows.levels.tolist(), p.tolist(), strict=True)
        given = [
            {"time": t, "mid": mid, "levels": levels, "predicted": True, "probabilities": one, "calls": [int(np.argmax(one))]}
            for t, mid, levels, one in columns
        ]
        path = FOLDER / recording.files[0]
        traded = read_trades(path) if segment_path(path, TRADES).exists() else []
        trades = [{"time": one.exchange_ms, "size": one.size} for one in traded if one.exchange_ms <= given[-1]["time"]]
        sizes, some = rows.levels[:, 1::2].max(axis=1), random.uniform(0.3, 1.0, 4)
        rules = [{"kind": "call", "call": int(k), "share": s, "seconds": 2} for k, s in zip((-1, 0, 2, -1), some, strict=True)]
        rules += [{"kind": "price", "price": float(one)} for one in random.choice(rows.mid, 4)]
        rules += [{"kind": "wall", "size": float(one)} for one in random.choice(sizes, 4)]
        rules += [
            {"kind": "trade", "size": float(one)} for one in (random.choice([t["size"] for t in trades], 4) if trades else ())
        ]
        states.append({"rules": rules, "rows": given, "trades": trades})
    asked, often = 0, 0
    for one, answers in zip(states, sentences(tmp_path, states), strict=True):
        for i, (rule, words, past, said) in enumerate(answers):
            count = rings(rule, one["rows"], one["trades"])
            assert past == f"In the last 5 minute it would have gone off this often: {count}."
            asked, often = asked + 1, often + (count > 0)
            name = ["Any", *CLASSES][rule.get("call", -1) + 1]
            newest = CLASSES[one["rows"][-1]["calls"][0]]
            at_least = f", at least {100 * rule.get('share', 0):.1f}%, for {rule.get('seconds')} s"
            size = np.format_float_positional(float(f"{rule.get('size', 1):.3g}"), trim="-")
            expected = {
                "call": name + at_least,
                "price": f"the mid crosses {rule.get('price')}".removesuffix(".0"),
                "trade": f"a trade of {size} or more",
                "wall": f"{size} or more rest at a price",
            }[rule["kind"]]
            assert words == expected and said == f"X · V: {newest + at_least if rule['kind'] == 'call' else words}"
            if i >= len(one["rules"]) and rule["kind"] in ("call", "wall"):
                assert count > 0  # what is proposed has happened
    assert asked >= 70 and often >= 50
