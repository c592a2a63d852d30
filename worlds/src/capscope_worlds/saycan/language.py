"""Let a language model say how useful each skill is, by questions that one token answers.

The naive way is to score the text of every skill: the model reads the instruction, and one asks how
likely it would be to write each description. Few servers return probabilities of a text that they
did not write. All return those of the first token of an answer. So the skills are arranged in a
tree of questions (which block? where to?), an answer is a word, and the score of a skill is the
product of the probabilities on its path, each among the answers that were offered.

The robot does the best product of score and affordance. A path whose product so far cannot win is
not asked further. Scores depend on the prompt alone: the client caches them for all attempts.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from capscope.adapters.llm import Calls, LlmClient, Message, TokenScores
from capscope.logic import Intent
from capscope.problem import Allowance
from capscope_worlds.saycan.agent import DONE


@dataclass(frozen=True)
class SkillQuestion:
    """A question, and what each answer leads to: a skill, `DONE`, or the next question."""

    text: str
    answers: Mapping[str, SkillQuestion | str]

    @cached_property
    def paths(self) -> Mapping[str, tuple[str, ...]]:
        """The answers that lead to each skill."""
        paths: dict[str, tuple[str, ...]] = {}
        for answer, after in self.answers.items():
            below = {after: ()} if isinstance(after, str) else after.paths
            paths |= {skill: (answer, *path) for skill, path in below.items()}
        return paths


@dataclass(frozen=True)
class SkillExample:
    """An instruction and the skills that fulfil it."""

    instruction: str
    skills: tuple[str, ...]


@dataclass(frozen=True)
class SkillGuide:
    """How to ask a language model about the skills of a robot."""

    introduction: str
    first: str
    """The first question about the first skill; the instruction stands before it."""
    question: SkillQuestion
    """The first question about every later skill."""
    examples: tuple[SkillExample, ...]
    instruction: Callable[[Intent], str]
    wording: str
    """All text that `instruction` may use, for the fingerprint."""

    def prompt(
        self, instruction: str, done: Sequence[str], answers: Sequence[str]
    ) -> list[Message]:
        """Return the conversation that ends with the question after these answers.

        What was done is told as questions and answers too, so that every question looks like those
        in the examples: a small model goes on as the conversation went so far.
        """
        messages: list[Message] = [{"role": "system", "content": self.introduction}]
        for example in self.examples:
            asked = self._dialogue(example.instruction, (*example.skills, DONE), ())
            messages += asked[:-1]  # after "done" there is no question
        return messages + self._dialogue(instruction, done, answers)

    def _dialogue(
        self, instruction: str, done: Sequence[str], answers: Sequence[str]
    ) -> list[Message]:
        """Return the questions and answers about these skills, and the question that is open."""
        paths = [self.question.paths[skill] for skill in done]
        messages: list[Message] = []
        text = f"{instruction} {self.first}"
        for path in (*paths, answers):
            question: SkillQuestion | str = self.question
            for answer in path:
                assert isinstance(question, SkillQuestion)
                messages.append({"role": "user", "content": text})
                messages.append({"role": "assistant", "content": answer})
                question = question.answers[answer]
                text = self.question.text if isinstance(question, str) else question.text
        return [*messages, {"role": "user", "content": text}]


class LanguageChooser:
    """Asks a language model which skill is useful."""

    def __init__(self, client: LlmClient, guide: SkillGuide) -> None:
        self.client = client
        self.guide = guide

    @property
    def fingerprint(self) -> str:
        """Identifies the chooser: the model and all wording of its prompts."""
        guide = self.guide
        parts = (guide.introduction, guide.first, guide.question, guide.examples, guide.wording)
        digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
        return f"{self.client.settings.model}-{digest}"

    def begin(self, intent: Intent, seed: int) -> LanguageScoring:
        """Start an attempt at an intent."""
        return LanguageScoring(self, self.guide.instruction(intent), seed)


_OpenPath = tuple[float, int, float, tuple[str, ...], SkillQuestion]
"""Minus the best product that it may lead to, an order, its score, its answers, what to ask."""


class LanguageScoring:
    """Scores the skills for one instruction."""

    def __init__(self, chooser: LanguageChooser, instruction: str, seed: int) -> None:
        self._guide = chooser.guide
        self._instruction = instruction
        self._calls = Calls(chooser.client, seed)

    @property
    def llm_tokens(self) -> int:
        """Tokens of the prompts and answers so far."""
        return self._calls.llm_tokens

    def spend_from(self, allowance: Allowance) -> None:
        """Pay for every later call from an allowance."""
        self._calls.spend_from(allowance)

    def scores(self, done: Sequence[str], affordances: Mapping[str, float]) -> Mapping[str, float]:
        """Ask the questions that may lead to the winner, the most promising first."""
        found: dict[str, float] = {}
        order = itertools.count()  # of equal bounds, the first found is asked first
        open_paths: list[_OpenPath] = [(-1.0, next(order), 1.0, (), self._guide.question)]
        best = 0.0
        while open_paths and -open_paths[0][0] > best:
            _, _, share, path, question = heapq.heappop(open_paths)
            for answer, likely in self._shares(done, path, question):
                after, score = question.answers[answer], share * likely
                if isinstance(after, str):
                    found[after] = found.get(after, 0.0) + score
                    best = max(best, found[after] * affordances[after])
                else:
                    bound = score * max(affordances[skill] for skill in after.paths)
                    entry = -bound, next(order), score, (*path, answer), after
                    heapq.heappush(open_paths, entry)
        return found

    def _shares(
        self, done: Sequence[str], path: Sequence[str], question: SkillQuestion
    ) -> Iterator[tuple[str, float]]:
        prompt = self._guide.prompt(self._instruction, done, path)
        (scores,) = self._calls.scores([prompt])
        return zip(question.answers, answer_shares(scores, list(question.answers)), strict=True)


def answer_shares(scores: TokenScores, words: Sequence[str]) -> list[float]:
    """Return the probability of each word among these, by the first token of the answer.

    A token that begins a single one of the words counts for it. A word of which no token is listed
    is at most as likely as the least likely token that is.

    >>> listed = TokenScores((("Yel", math.log(0.6)), (" red", math.log(0.2))), 9, 1)
    >>> [round(share, 3) for share in answer_shares(listed, ["red", "yellow", "blue"])]
    [0.2, 0.6, 0.2]
    """
    if scores.least is None:  # the answer had no tokens
        return [1 / len(words)] * len(words)
    found = dict.fromkeys(words, 0.0)
    for token, logprob in scores.logprobs:
        part = token.strip().casefold()
        begun = [word for word in words if part and word.casefold().startswith(part)]
        if len(begun) == 1:
            found[begun[0]] += math.exp(logprob)
    shares = [found[word] or math.exp(scores.least) for word in words]
    return [share / sum(shares) for share in shares]
