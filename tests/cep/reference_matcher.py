"""A matcher written straight from the documented semantics, for a handful of events.

It tries every sequence of takes that the quantifiers allow on every choice of events, and asks of
each step whether every event passed over, and the one taken, are as the step wants them. Nothing is
processed event by event, there are no states: time goes as the power of the number of events.

The names: a *take* is an event in its place in the pattern; a *step* is what may come after a take
(or at the start): one more take or the end; a *start* is all that begins with the same event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from millrace.common.functions.pattern_conditions import Condition, IterativeCondition
from millrace.runtime.cep.after_match_skip_strategy import AfterMatchSkipStrategy, Skip
from millrace.runtime.cep.pattern_model import Contiguity, Event, EventPattern, Group, Part

NEVER = float("inf")
Path = tuple[int, ...]


# -- what a pattern allows: which steps may follow --------------------------------------------


@dataclass(frozen=True)
class Loop:
    """A repeated part with an until condition, in one run through what is around it."""

    identity: Path
    until: Condition
    of_group: bool
    """It ends the wait for the first event, too."""


@dataclass(frozen=True)
class Take:
    """One occurrence of an event of the pattern."""

    event: Event
    identity: Path
    """Where it is: index and number of the occurrence, from the outermost group inwards."""
    place: Path
    """The same, but all occurrences of an endless loop from its least on are one place."""
    loops: tuple[Loop, ...] = ()


@dataclass(frozen=True)
class Step:
    """What may come next, and what its way there is like."""

    take: Take | None
    """None: the end of the pattern."""
    contiguity: Contiguity
    window_time: int | None
    nots: tuple[Event, ...]
    """What is forbidden on the way."""
    rivals: tuple[Step, ...]
    """Once more into greedy parts that this step leaves or leaves out."""
    rest: Rest
    goes_on: bool = False
    """Once more into a greedy part: what fits is taken, "not_next" or not."""


@dataclass(frozen=True)
class Entry:
    """How a part is entered."""

    contiguity: Contiguity
    window_time: int | None


@dataclass(frozen=True)
class Todo:
    """A part that is still to be gone through, after ``done`` occurrences of it."""

    part: Part
    identity: Path
    place: Path
    done: int = 0
    loops: tuple[Loop, ...] = ()
    entry: Entry | None = None
    """How it is entered, if not as it says itself: it is the first of its group."""

    def allows_more(self) -> bool:
        most = self.part.quantifier.most
        return most is None or self.done < most

    def allows_leaving(self) -> bool:
        quantifier = self.part.quantifier
        return self.done >= quantifier.least or (self.done == 0 and quantifier.optional)

    def entered(self) -> Entry:
        own = self.part.window_time
        quantifier = self.part.quantifier
        if self.done:
            return Entry(quantifier.inner, least(own, quantifier.window_time))
        if self.entry is None:
            return Entry(self.part.contiguity, own)
        return Entry(self.entry.contiguity, least(own, self.entry.window_time))

    def part_is_group(self) -> bool:
        return isinstance(self.part, Group)

    def occurrence(self) -> tuple[Path, Path, tuple[Loop, ...]]:
        quantifier = self.part.quantifier
        number = self.done if quantifier.most is not None else min(self.done, quantifier.least - 1)
        loops = self.loops
        if quantifier.until is not None:
            loops += (Loop(self.identity, quantifier.until, self.part_is_group()),)
        return (*self.identity, self.done), (*self.place, number), loops

    def once_more(self) -> Todo:
        return Todo(self.part, self.identity, self.place, self.done + 1, self.loops, self.entry)


def least(*window_times: int | None) -> int | None:
    return min(
        (window_time for window_time in window_times if window_time is not None), default=None
    )


Rest = tuple[Todo, ...]


def all_of(parts: tuple[Part, ...], identity: Path = (), place: Path = ()) -> Rest:
    return tuple(Todo(p, (*identity, i), (*place, i)) for i, p in enumerate(parts))


def steps(
    rest: Rest, nots: tuple[Event, ...] = (), rivals: tuple[Step, ...] = ()
) -> Iterator[Step]:
    """What may come next if ``rest`` is still to be done."""
    if not rest:
        window_time = min((n.window_time for n in nots if n.window_time is not None), default=None)
        yield Step(None, Contiguity.RELAXED, window_time, nots, rivals, ())
        return
    todo, later = rest[0], rest[1:]
    if isinstance(todo.part, Event) and todo.part.negated:
        yield from steps(later, (*nots, todo.part), rivals)
        return
    if todo.allows_more():
        more_nots = (*nots, *forbidden_between(todo, later))
        yield from (inside := list(into(todo, later, more_nots, rivals)))
    if todo.allows_leaving():
        more = tuple(inside) if is_greedy(todo.part) and todo.allows_more() else ()
        yield from steps(later, nots, rivals + more)


def is_greedy(part: Part) -> bool:
    """Whether it may occur more or less often, and is to occur as often as it can."""
    least, most = part.quantifier.least, part.quantifier.most
    return part.quantifier.greedy and not (least == most and least > 1)


def forbidden_between(todo: Todo, later: Rest) -> list[Event]:
    """What is forbidden between occurrences of a loop: what is on every way out of it. (What is
    forbidden only for the next event counts where the loop may be left.)"""
    if not todo.done:
        return []
    ways_out = list(steps(later))
    return [
        n
        for n in ways_out[0].nots
        if all(n in way.nots for way in ways_out)
        and (n.contiguity is Contiguity.RELAXED or todo.allows_leaving())
    ]


def into(
    todo: Todo, later: Rest, nots: tuple[Event, ...], rivals: tuple[Step, ...]
) -> Iterator[Step]:
    """One more occurrence of the part."""
    identity, place, loops = todo.occurrence()
    after = (todo.once_more(), *later)
    if isinstance(todo.part, Event):
        take = Take(todo.part, identity, place, loops)
        entry = todo.entered()
        goes_on = is_greedy(todo.part) and todo.done > 0
        yield Step(take, entry.contiguity, entry.window_time, nots, rivals, after, goes_on)
        return
    body = all_of(todo.part.parts, identity, place)
    inner = tuple(
        Todo(t.part, t.identity, t.place, 0, loops, None if i else todo.entered())
        for i, t in enumerate(body)
    )
    yield from steps((*inner, *after), nots, rivals)


# -- what the events allow --------------------------------------------------------------------


@dataclass(frozen=True)
class Taken:
    """A partial match: what was taken, and what is left to do."""

    takes: tuple[tuple[int, Take], ...]
    """Number of the event, and the place that it was taken for."""
    rest: Rest

    @property
    def start(self) -> int:
        return self.takes[0][0]

    @property
    def last(self) -> int:
        return self.takes[-1][0]

    def order(self) -> tuple[tuple[float, Path], ...]:
        """In order of the takes; what waits comes after what it may become."""
        return (*((i, take.place) for i, take in self.takes), (NEVER, ()))

    def names(self) -> list[tuple[str, int]]:
        return [(take.event.name, i) for i, take in self.takes]


@dataclass
class Context(IterativeCondition.Context):
    """What iterative conditions see."""

    before: dict[str, list[Any]]
    time: int

    def get_events_for_pattern(self, name: str) -> list[Any]:
        return self.before.get(name, [])

    def timestamp(self) -> int:
        return self.time

    def current_processing_time(self) -> int:
        return 0


@dataclass(frozen=True)
class Outcome:
    """A match, or a partial match that time ended."""

    takes: tuple[tuple[str, int], ...]
    """Names, and numbers of the events."""
    time: int
    """When it was given out: of the event that decided, or when time decided; or ended it."""


@dataclass
class Reference:
    """The matches of a pattern among events in order of time.

    Args:
        pattern: the pattern.
        events: values and times.
        now: event time has come so far.
    """

    pattern: EventPattern
    events: list[tuple[Any, int]]
    now: float = NEVER

    def matches(self) -> list[Outcome]:
        """In the order in which they are found."""
        return self._outcomes[0]

    def timed_out(self) -> list[Outcome]:
        """In the order of time."""
        return self._outcomes[1]

    @cached_property
    def _outcomes(self) -> tuple[list[Outcome], list[Outcome]]:
        return Selection(self.pattern.skip, self._starts(), self.events).outcomes()

    def _starts(self) -> list[Start]:
        return [Start(i, list(self._lives(i))) for i in range(len(self.events))]

    def _lives(self, start: int) -> Iterator[Life]:
        """Everything that begins with one event, and how each of it fared."""
        rest = all_of(self.pattern.parts)
        known = set()
        todo = [
            Taken(((start, step.take),), step.rest)
            for step in steps(rest)
            if step.take
            and not self._blocked(step, None, start)
            and self._accepts(step, None, start)
        ]
        while todo:
            taken = todo.pop()
            if taken.order() in known:
                continue
            known.add(taken.order())
            yield self._life(taken)
            for step in steps(taken.rest):
                todo += [
                    Taken((*taken.takes, (i, step.take)), step.rest)
                    for i in range(taken.last + 1, len(self.events))
                    if step.take and self.can_take(step, taken, i)
                ]

    # -- one step of one partial match --------------------------------------------------------

    def can_take(self, step: Step, taken: Taken, i: int) -> bool:
        """Whether the step leads to event ``i``: it may pass over all before and take this one."""
        return (
            self._time(i) < self.over(step, taken)
            and all(self._passes(step, taken, k) for k in range(taken.last + 1, i))
            and not self._blocked(step, taken, i)
            and self._accepts(step, taken, i)
        )

    def over(self, step: Step, taken: Taken) -> float:
        """When time ends the step."""
        limits: list[float] = []
        if step.window_time is not None:
            limits.append(self._time(taken.last) + step.window_time)
        if self.pattern.within is not None:
            limits.append(self._time(taken.start) + self.pattern.within)
        return min(limits, default=NEVER)

    def _passes(self, step: Step, taken: Taken, i: int) -> bool:
        """Whether the step is still possible after an event that it did not take."""
        if self._blocked(step, taken, i):
            return False
        if step.take is None:
            return not waits_for_an_event(step)
        if step.contiguity is Contiguity.STRICT:
            return False
        if step.contiguity is Contiguity.ANY:
            return True
        return not self._holds(step.take.event.condition, taken, i)

    def _blocked(self, step: Step, taken: Taken | None, i: int) -> bool:
        """Whether the event forbids the step, whatever its contiguity."""
        if taken is None:
            return any(self._holds(n.condition, None, i) for n in step.nots) or any(
                self._accepts(rival, None, i) for rival in step.rivals
            )
        forbidden = [n for n in step.nots if n.contiguity is not Contiguity.STRICT]
        if i == taken.last + 1 and not (step.goes_on and self._accepts(step, taken, i)):
            forbidden = list(step.nots)
        return (
            any(self._holds(n.condition, taken, i) for n in forbidden)
            or any(self._holds(loop.until, taken, i) for loop in self._stays_in(step, taken))
            or any(self.can_take(rival, taken, i) for rival in step.rivals if rival.take)
        )

    def _stays_in(self, step: Step, taken: Taken) -> list[Loop]:
        loops = step.take.loops if step.take else ()
        return [loop for loop in loops if loop.of_group or loop in taken.takes[-1][1].loops]

    def _accepts(self, step: Step, taken: Taken | None, i: int) -> bool:
        assert step.take is not None
        return self._holds(step.take.event.condition, taken, i) and not any(
            self._holds(loop.until, taken, i) for loop in step.take.loops
        )

    def _holds(self, condition: Condition | None, taken: Taken | None, i: int) -> bool:
        if condition is None:
            return True
        before: dict[str, list[Any]] = {}
        for name, k in taken.names() if taken else []:
            before.setdefault(name, []).append(self.events[k][0])
        value, time = self.events[i]
        return bool(condition.with_context()(value, Context(before, time)))

    def _time(self, i: int) -> int:
        return self.events[i][1]

    # -- how long it lasted -------------------------------------------------------------------

    def _life(self, taken: Taken) -> Life:
        ends = [(step, self._end(step, taken)) for step in steps(taken.rest)]
        waiting = [(step, end) for step, end in ends if step.take or step.nots]
        born = Moment(self._time(taken.last), taken.last)
        life = Life(taken, born, max((end for _, end in waiting), default=born))
        if any(step.take is None and not step.nots for step, _ in ends):
            life.found.append(born)
        for step, end in waiting:
            if step.take is None and self._is_found(step, taken, end):
                life.found.append(end)
        return life

    def _end(self, step: Step, taken: Taken) -> Moment:
        """When the step came to an end, by an event or by time."""
        over = self.over(step, taken)
        for i in range(taken.last + 1, len(self.events)):
            if self._time(i) >= over:
                break
            if not self._passes(step, taken, i):
                return Moment(self._time(i), i)
        return Moment(over) if over <= self.now else ALIVE

    def _is_found(self, step: Step, taken: Taken, end: Moment) -> bool:
        if not waits_for_an_event(step):
            return end.by_time
        return end.event is not None and not self._blocked(step, taken, end.event)


def waits_for_an_event(step: Step) -> bool:
    """Whether the pattern's end waits for the next event, not for the time to be over."""
    return all(n.contiguity is Contiguity.STRICT for n in step.nots)


# -- which matches are given out --------------------------------------------------------------


@dataclass(frozen=True)
class Moment:
    """When something happens: at an event, or by time before the events of that time."""

    time: float
    event: int | None = None

    @property
    def by_time(self) -> bool:
        return self.event is None and self.time < NEVER

    def key(self) -> tuple[float, int]:
        return self.time, -1 if self.event is None else self.event

    def __lt__(self, other: Moment) -> bool:
        return self.key() < other.key()

    def __gt__(self, other: Moment) -> bool:
        return self.key() > other.key()

    def __le__(self, other: Moment) -> bool:
        return self.key() <= other.key()


ALIVE = Moment(NEVER)


@dataclass
class Life:
    """A partial match: when it ended, and when it was a match."""

    taken: Taken
    born: Moment
    end: Moment
    """When the last step that it waited for came to its end."""
    found: list[Moment] = field(default_factory=list)

    @property
    def is_timed_out(self) -> bool:
        return self.end.by_time and self.end not in self.found


@dataclass
class Start:
    """All that begins with one event."""

    event: int
    lives: list[Life]

    def is_alive_after(self, moment: Moment) -> bool:
        """Whether any of it, begun by then, still waits."""
        return any(life.born <= moment < life.end for life in self.lives)


@dataclass
class Selection:
    """The skip strategy: which matches prune which others, moment by moment."""

    skip: AfterMatchSkipStrategy
    starts: list[Start]
    events: list[tuple[Any, int]]

    def outcomes(self) -> tuple[list[Outcome], list[Outcome]]:
        self.held: list[tuple[Moment, Life]] = []
        self.pruned: set[int] = set()
        matches: list[Outcome] = []
        timed_out: list[Outcome] = []
        for moment in sorted(set(self._moments()), key=Moment.key):
            lives = [life for s in self.starts for life in s.lives if s.event not in self.pruned]
            lives.sort(key=lambda life: life.taken.order())
            timed_out += [
                self._outcome(life, moment)
                for life in lives
                if life.end == moment and life.is_timed_out
            ]
            self.held += [(moment, life) for life in lives if moment in life.found]
            matches += self._given_out(moment)
        return matches, timed_out

    def _moments(self) -> Iterator[Moment]:
        for start in self.starts:
            for life in start.lives:
                yield from life.found
                if life.end < ALIVE:
                    yield life.end

    def _given_out(self, moment: Moment) -> Iterator[Outcome]:
        """The matches that nothing begun earlier can prune any more."""
        while self.held:
            first = self.held[0]
            if self.skip.kind is not Skip.NO_SKIP:
                first = min(self.held, key=lambda held: held[1].taken.start)
                if self._is_held_back(first[1], moment):
                    return
            self.held.remove(first)
            yield self._outcome(first[1], moment)
            self._prune(first[1].taken)

    def _is_held_back(self, life: Life, moment: Moment) -> bool:
        return any(
            start.event not in self.pruned and start.is_alive_after(moment)
            for start in self.starts
            if start.event < life.taken.start
        )

    def _prune(self, match: Taken) -> None:
        self.pruned |= {s.event for s in self.starts if self._loses(s.event, match)}
        self.held = [h for h in self.held if h[1].taken.start not in self.pruned]

    def _loses(self, start: int, match: Taken) -> bool:
        kind = self.skip.kind
        if kind is Skip.TO_NEXT:
            return start == match.start
        if kind is Skip.PAST_LAST_EVENT:
            return start <= match.last
        if kind is Skip.NO_SKIP:
            return False
        named = [i for name, i in match.names() if name == self.skip.pattern_name]
        target = named[0 if kind is Skip.TO_FIRST else -1] if named else -1
        return start < target

    def _outcome(self, life: Life, moment: Moment) -> Outcome:
        return Outcome(tuple(life.taken.names()), int(moment.time))
